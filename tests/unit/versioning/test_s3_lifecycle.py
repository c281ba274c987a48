# SPDX-License-Identifier: Apache-2.0
"""?lifecycle of a bucket, through s3api, in front of a container in memory."""

import time
import unittest
from base64 import b64encode
from email.utils import formatdate
from hashlib import md5
from unittest import mock

from swift.common.header_key_dict import HeaderKeyDict
from swift.common.middleware.s3api.etree import fromstring
from swift.common.middleware.s3api.s3api import filter_factory
from swift.common.middleware.s3api.s3request import S3Request
from swift.common.middleware.s3api.subresource import (
    ACL,
    Grant,
    Owner,
    User,
    encode_acl,
)
from swift.common.swob import (
    HTTPBadRequest,
    HTTPForbidden,
    HTTPNoContent,
    HTTPNotFound,
    Request,
    str_to_wsgi,
)

from swift_lightsync.versioning.proxy import s3_lifecycle
from swift_lightsync.versioning.proxy.s3_lifecycle import LifecycleController

KEEP, DAYS = 'X-Versions-Keep', 'X-Versions-Expire-Noncurrent'
NAMESPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
ACTION = 'NoncurrentVersionExpiration'
WHOLE = '<Filter/>'


def tag(name, *parts):
    return '<%s>%s</%s>' % (name, ''.join(map(str, parts)), name)


def limits(days=None, keep=None):
    return tag(ACTION, *(
        tag(name, value) for name, value in (
            ('NoncurrentDays', days), ('NewerNoncurrentVersions', keep))
        if value is not None))


def rule(*parts, status='Enabled', scope=WHOLE):
    return tag('Rule', scope, tag('Status', status), *parts)


def document(*rules):
    return '<LifecycleConfiguration %s>%s</LifecycleConfiguration>' % (
        NAMESPACE, ''.join(rules))


class OneContainer:
    """Stands for Swift: the container 'bucket', and who may use it."""

    def __init__(self):
        self.headers = HeaderKeyDict({'X-Versions-Enabled': 'True'})
        self.allowed = True
        self.posted = []

    def __call__(self, env, start_response):
        details = env.get('s3api.auth_details')
        if details:
            # As an auth filter does.
            env['PATH_INFO'] = env['PATH_INFO'].replace(
                details['access_key'], 'AUTH_test', 1)
            env['REMOTE_USER'] = details['access_key']
        env['swift.authorize'] = lambda req: None
        return self._answer(Request(env))(env, start_response)

    def _answer(self, req):
        if req.method == 'TEST':
            req.environ['swift_owner'] = True
            return HTTPForbidden(request=req)
        if not self.allowed:
            return HTTPForbidden(request=req)
        if req.path != '/v1/AUTH_test/bucket':
            return HTTPNotFound(request=req)
        if req.method == 'POST':
            self.posted.append(req)
            if not self.headers.get('X-Versions-Enabled'):
                return HTTPBadRequest('%s: no versions' % KEEP, request=req)
            for name, value in req.headers.items():
                if name in (KEEP, DAYS) or 'Sysmeta' in name:
                    self.headers[name] = value
        return HTTPNoContent(request=req, headers={
            name: value for name, value in self.headers.items() if value})


class LifecycleCase(unittest.TestCase):

    conf = {}

    def setUp(self):
        self.swift = OneContainer()
        self.s3api = filter_factory({}, **self.conf)(self.swift)
        for patch in (
                mock.patch.object(
                    S3Request, 'controller', LifecycleController),
                mock.patch.object(s3_lifecycle, 'get_swift_info',
                                  return_value={'site_versioning': {}})):
            self.addCleanup(patch.stop)
            self.info = patch.start()

    def call(self, method, body=None, path='/bucket', user='test:tester',
             **headers):
        """Return the status, and the code of the error or the body."""
        req = Request.blank(
            path + '?lifecycle', method=method, body=body, headers=dict({
                'Authorization': str_to_wsgi('AWS %s:hmac' % user),
                'Date': formatdate(time.time())}, **headers))
        resp = req.get_response(self.s3api)
        code = fromstring(resp.body).findtext('Code') if \
            resp.body.startswith(b'<') else None
        return resp.status_int, code or resp.body

    def put(self, *rules):
        self.assertEqual((200, b''), self.call('PUT', document(*rules)))

    def rule(self):
        """Return the rule that is shown, as tag -> text."""
        status, body = self.call('GET')
        self.assertEqual(200, status, body)
        self.assertIn(NAMESPACE.encode(), body)
        root = fromstring(body)
        self.assertEqual(['Rule'], [each.tag for each in root])
        found = {each.tag: each.text for each in root[0].iter()
                 if not len(each)}
        self.assertIsNone(found.pop('Prefix'))
        return found

    def assert_refused(self, status, code, *rules):
        self.assertEqual((status, code), self.call('PUT', document(*rules)))
        self.assertEqual([], self.swift.posted)


class TestRules(LifecycleCase):

    def test_an_enabled_rule_sets_the_limits_of_the_container(self):
        self.put(rule(limits(3, 5), tag('ID', 'older')))
        self.assertEqual(('3', '5'), (self.swift.headers[DAYS],
                                      self.swift.headers[KEEP]))
        self.assertEqual({
            'ID': 'older', 'Status': 'Enabled', 'NoncurrentDays': '3',
            'NewerNoncurrentVersions': '5'}, self.rule())

    def test_the_body_is_not_sent_to_swift(self):
        self.put(rule(limits(3)))
        self.assertEqual(b'', self.swift.posted[0].body)

    def test_a_limit_that_is_left_out_is_removed(self):
        self.put(rule(limits(3, 5)))
        self.put(rule(limits(keep=4)))
        self.assertEqual(('', '4'), (self.swift.headers[DAYS],
                                     self.swift.headers[KEEP]))
        self.assertNotIn('NoncurrentDays', self.rule())
        self.put(rule(limits(days=7)))
        self.assertEqual(('7', ''), (self.swift.headers[DAYS],
                                     self.swift.headers[KEEP]))

    def test_a_disabled_rule_is_shown_and_sets_nothing(self):
        self.put(rule(limits(3, 5)))
        self.put(rule(limits(4, 6), status='Disabled'))
        self.assertEqual(('', ''), (self.swift.headers[DAYS],
                                    self.swift.headers[KEEP]))
        shown = self.rule()
        self.assertEqual(('Disabled', '4', '6'), (
            shown['Status'], shown['NoncurrentDays'],
            shown['NewerNoncurrentVersions']))

    def test_limits_that_were_set_through_swift_are_a_rule(self):
        self.swift.headers.update({KEEP: '500'})
        shown = self.rule()
        self.assertTrue(shown.pop('ID'))
        self.assertEqual({'Status': 'Enabled',
                          'NewerNoncurrentVersions': '500'}, shown)

    def test_what_is_shown_can_be_put_again(self):
        for keep, days in ('1', ''), ('1000000', '36500'), ('', '1'):
            limits = {KEEP: keep, DAYS: days}
            self.swift.headers.update(limits)
            _, body = self.call('GET')
            self.swift.headers.update(dict.fromkeys(limits, 'else'))
            self.assertEqual((200, b''), self.call('PUT', body))
            self.assertEqual(limits, {name: self.swift.headers[name]
                                      for name in limits})

    def test_limits_that_were_removed_through_swift_are_no_rule(self):
        self.put(rule(limits(3, 5)))
        self.swift.headers.update({KEEP: '', DAYS: ''})
        self.assertEqual((404, 'NoSuchLifecycleConfiguration'),
                         self.call('GET'))

    def test_the_id_may_be_any_text(self):
        name = 'r\u00e8gle & <1>; x=y%20'
        self.put(rule(limits(3), tag('ID', 'r\u00e8gle &amp; &lt;1&gt;; '
                                           'x=y%20')))
        self.assertEqual(name, self.rule()['ID'])
        self.assertTrue(all(value.isascii() for value in
                            self.swift.headers.values()))

    def test_the_whole_bucket_is_said_in_three_ways(self):
        for scope in ('<Filter/>', '<Filter><Prefix/></Filter>', '<Prefix/>',
                      '<Filter><!-- all --><Prefix></Prefix></Filter>'):
            self.put(rule(limits(3), scope=scope))

    def test_a_document_without_the_namespace_is_read(self):
        self.assertEqual((200, b''), self.call('PUT', tag(
            'LifecycleConfiguration', rule(limits(3)))))

    def test_there_is_no_rule_at_first_and_after_delete(self):
        for count in range(2):
            self.assertEqual((404, 'NoSuchLifecycleConfiguration'),
                             self.call('GET'))
            self.assertEqual((204, b''), self.call('DELETE'))
            self.assertEqual(2 * count, len(self.swift.posted))
            self.put(rule(limits(3, 5)))
            self.assertEqual((204, b''), self.call('DELETE'))
            self.assertEqual(['', ''], [
                self.swift.headers[name] for name in (KEEP, DAYS)])

    def test_a_disabled_rule_is_deleted(self):
        self.put(rule(limits(3), status='Disabled'))
        self.assertEqual((204, b''), self.call('DELETE'))
        self.assertEqual((404, 'NoSuchLifecycleConfiguration'),
                         self.call('GET'))


class TestRefusals(LifecycleCase):

    def test_what_s3_would_take_is_not_implemented(self):
        expiration = tag('Expiration', tag('Days', 3))
        for each in (
                rule(expiration), rule(limits(3), expiration),
                rule(tag('Transition', tag('Days', 3)),
                     tag('Transition', tag('Days', 9))),
                rule(tag('NoncurrentVersionTransition')),
                rule(tag('AbortIncompleteMultipartUpload')),
                rule(limits(3), scope=tag('Prefix', 'a/')),
                rule(limits(3), scope=tag('Filter', tag('Prefix', 'a/'))),
                rule(limits(3), scope=tag('Filter', tag(
                    'And', tag('Prefix', 'a/'), tag('Tag')))),
                rule(limits(3), scope=tag('Filter', tag('Tag'))),
                rule(limits(3), scope=tag('Filter', tag(
                    'ObjectSizeGreaterThan', 1))),
                rule(limits(3)) + rule(limits(4)),
                rule(limits(3)) + rule(expiration)):
            with self.subTest(each):
                self.assert_refused(501, 'NotImplemented', each)

    def test_what_s3_does_not_know_is_malformed(self):
        for each in (
                '', tag('Else'), rule(limits(3)) + tag('Else'),
                rule(limits(3), status='enabled'),
                rule(limits(3), status=''),
                tag('Rule', WHOLE, limits(3)),
                rule(limits(3), scope=''),
                rule(limits(3), scope=WHOLE + '<Prefix/>'),
                rule(limits(3), scope=WHOLE + WHOLE),
                rule(limits(3), scope=tag('Filter', tag('Else'))),
                rule(limits(3), scope=tag('Filter', '<Prefix/><Tag/>')),
                rule(limits(3), scope=tag('Filter', tag(
                    'Prefix', tag('Else')))),
                rule(limits(3), tag('Else')), rule(limits(3), limits(3)),
                rule(limits()), rule(limits('three')), rule(limits('')),
                rule(limits('1.5')), rule(limits(3, '1e2')),
                rule(tag(ACTION, tag('Days', 3))),
                rule(tag(ACTION, tag('NoncurrentDays', tag('Else')))),
                # It is wrong besides not being implemented.
                rule(tag('Transition')) + rule(limits('x'))):
            with self.subTest(each):
                self.assert_refused(400, 'MalformedXML', each)

    def test_limits_out_of_range_are_invalid_arguments(self):
        for each in (limits(0), limits(-1), limits(2 ** 31), limits(3, 0),
                     limits(3, 10 ** 6 + 1), tag('ID', 'x' * 256) + limits(3)):
            with self.subTest(each):
                self.assert_refused(400, 'InvalidArgument', rule(each))

    def test_a_rule_needs_an_action(self):
        self.assert_refused(400, 'InvalidRequest', rule())

    def test_a_body_that_is_no_document_is_refused(self):
        for body, code in (
                ('', 'MissingRequestBodyError'), ('<', 'MalformedXML'),
                (rule(limits(3)), 'MalformedXML'),
                (document(rule(limits(3), tag('ID', 'x' * 2 ** 18))),
                 'MalformedXML'),
                ('<!DOCTYPE x [<!ENTITY e "3">]>' + document(
                    rule(limits('&e;'))), 'MalformedXML')):
            with self.subTest(body[:40]):
                self.assertEqual((400, code), self.call('PUT', body))
        self.assertEqual([], self.swift.posted)

    def test_a_digest_is_compared(self):
        body = document(rule(limits(3)))
        right, wrong = (b64encode(md5(text.encode()).digest()).decode()
                        for text in (body, 'else'))
        self.assertEqual((400, 'BadDigest'), self.call(
            'PUT', body, **{'Content-MD5': wrong}))
        self.assertEqual((200, b''), self.call(
            'PUT', body, **{'Content-MD5': right}))

    def test_a_bucket_without_versions_has_no_rule(self):
        self.swift.headers.clear()
        self.assertEqual((400, 'InvalidRequest'), self.call(
            'PUT', document(rule(limits(3)))))
        self.assertEqual((204, b''), self.call('DELETE'))

    def test_without_the_filter_it_is_not_implemented(self):
        self.info.return_value = {'object_versioning': {}}
        self.assert_refused(501, 'NotImplemented', rule(limits(3)))

    def test_objects_and_other_methods_have_no_rules(self):
        for method in ('GET', 'PUT', 'DELETE'):
            self.assertEqual((400, 'InvalidRequest'), self.call(
                method, path='/bucket/o'))
        self.assertEqual((405, 'MethodNotAllowed'), self.call('POST'))

    def test_there_is_no_rule_where_there_is_no_bucket(self):
        for method, body in (('GET', None), ('DELETE', None),
                             ('PUT', document(rule(limits(3))))):
            self.assertEqual((404, 'NoSuchBucket'), self.call(
                method, body, path='/other'))

    def test_swift_says_who_may(self):
        self.swift.allowed = False
        for method, body in (('GET', None), ('DELETE', None),
                             ('PUT', document(rule(limits(3))))):
            self.assertEqual((403, 'AccessDenied'), self.call(method, body))


class TestBucketAcls(LifecycleCase):

    conf = {'s3_acl': 'true'}

    def test_nobody_but_the_owner_may(self):
        self.swift.headers.update(encode_acl('container', ACL(
            Owner('test:tester', 'test:tester'),
            [Grant(User('test:writer'), 'WRITE'),
             Grant(User('test:writer'), 'READ')])))
        self.put(rule(limits(3)))
        for method, body in (('GET', None), ('DELETE', None),
                             ('PUT', document(rule(limits(4))))):
            self.assertEqual((403, 'AccessDenied'), self.call(
                method, body, user='test:writer'))
        self.assertEqual('3', self.rule()['NoncurrentDays'])
        self.assertEqual((204, b''), self.call('DELETE'))


if __name__ == '__main__':
    unittest.main()
