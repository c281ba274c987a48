# SPDX-License-Identifier: Apache-2.0
"""
``?lifecycle`` of a bucket, for s3api: how long noncurrent versions are kept.

One rule for the whole bucket is served, with NoncurrentVersionExpiration
alone; any other valid document gets NotImplemented. The rule's limits are the
container headers ``X-Versions-Keep`` and ``X-Versions-Expire-Noncurrent``, so
what is set through Swift is seen through S3, and the other way round. What
these cannot say, the rule's id and the limits of a disabled rule, stands in
s3api's own metadata of the container.

s3api loads the controller where ``[filter:s3api]`` has
``subresource_controllers = egg:swift-lightsync#lifecycle`` (patches/0005).
"""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from swift.common.middleware.s3api import etree, s3response
from swift.common.middleware.s3api.acl_handlers import BaseAclHandler
from swift.common.middleware.s3api.controllers import Controller
from swift.common.middleware.s3api.controllers.base import bucket_operation
from swift.common.middleware.s3api.utils import sysmeta_header
from swift.common.registry import get_swift_info
from swift.common.utils import public

MAX_BODY, MAX_ID = 2 ** 18, 255
DEFAULT_ID = 'noncurrent-versions'
KEEP, EXPIRE = 'X-Versions-Keep', 'X-Versions-Expire-Noncurrent'
STORED = sysmeta_header('container', 'lifecycle')
ROOT, ACTION = 'LifecycleConfiguration', 'NoncurrentVersionExpiration'
#: limit -> the greatest value that is allowed: S3's, but for the number, of
#: which S3 allows 100: what Swift's clients set, S3's can set once more
LIMITS = {'NoncurrentDays': 2 ** 31 - 1, 'NewerNoncurrentVersions': 10 ** 6}
REPEATED = {'Rule', 'NoncurrentVersionTransition', 'Transition'}
#: What S3 has and this does not serve, actions and filters; nor is it read.
OTHERS = {'AbortIncompleteMultipartUpload', 'Expiration',
          'NoncurrentVersionTransition', 'Transition'}
FILTERS = {'And', 'ObjectSizeGreaterThan', 'ObjectSizeLessThan', 'Tag'}
#: element -> the elements that may be in it
GRAMMAR = {
    ROOT: {'Rule'}, ACTION: set(LIMITS), 'Filter': FILTERS | {'Prefix'},
    'Rule': OTHERS | {'ID', 'Filter', 'Prefix', 'Status', ACTION}}


@dataclass(frozen=True)
class Rule:
    """The rule of a bucket.

    :param id: its name
    :param enabled: whether versions are removed by it
    :param days: for how long noncurrent versions are kept; None: no limit
    :param keep: how many of them are kept; None: no limit
    """

    id: str
    enabled: bool
    days: int | None
    keep: int | None

    def headers(self):
        """Return the headers by which a container stores it."""
        limits = {EXPIRE: str(self.days or ''), KEEP: str(self.keep or '')}
        stored, none = {'id': self.id}, dict.fromkeys(limits, '')
        return {**limits, STORED: urlencode(stored)} if self.enabled else {
            **none, STORED: urlencode({**stored, **limits})}

    def document(self):
        """Return the XML that shows it."""
        root = etree.Element(ROOT)
        rule = etree.SubElement(root, 'Rule')
        etree.SubElement(rule, 'ID').text = self.id
        etree.SubElement(etree.SubElement(rule, 'Filter'), 'Prefix')
        etree.SubElement(rule, 'Status').text = \
            'Enabled' if self.enabled else 'Disabled'
        action = etree.SubElement(rule, ACTION)
        for name, value in zip(LIMITS, (self.days, self.keep)):
            if value is not None:
                etree.SubElement(action, name).text = str(value)
        return etree.tostring(root)


def stored_rule(resp):
    """Return the rule that a container's headers tell of, or None."""
    stored = dict(parse_qsl(resp.sysmeta_headers.get(STORED, '')))
    enabled = bool(resp.sw_headers.get(EXPIRE) or resp.sw_headers.get(KEEP))
    days, keep = (int(value) if value else None for value in (
        (resp.sw_headers if enabled else stored).get(name)
        for name in (EXPIRE, KEEP)))
    if enabled or days or keep:
        return Rule(stored.get('id', DEFAULT_ID), enabled, days, keep)


def _check(elem):
    """Raise MalformedXML if an element has what S3 does not know in it."""
    tags = [child.tag for child in elem.iterchildren('*')]
    found = set(tags)
    if not found <= GRAMMAR.get(elem.tag, set()) or any(
            tags.count(tag) > 1 for tag in found - REPEATED):
        raise s3response.MalformedXML()
    for child in elem.iterchildren(*found - OTHERS - FILTERS or ['none']):
        _check(child)


def _limit(rule, name):
    """Return a limit of a rule, or None if it has none of that name."""
    text = rule.findtext('%s/%s' % (ACTION, name))
    if text is None:
        return None
    if not re.fullmatch(r'\s*[+-]?[0-9]{1,20}\s*', text):
        raise s3response.MalformedXML()
    if not 1 <= int(text) <= LIMITS[name]:
        raise s3response.InvalidArgument(name, text)
    return int(text)


def _parse_rule(rule):
    """Return a rule, or None if S3 would take it and it is not served."""
    status, name = rule.findtext('Status'), rule.findtext('ID') or DEFAULT_ID
    limits = [_limit(rule, limit) for limit in LIMITS]
    if (status not in ('Enabled', 'Disabled')
            or len(rule.xpath('Prefix | Filter')) != 1
            or len(rule.xpath('Filter/*')) > 1
            or rule.find(ACTION) is not None and not any(limits)):
        raise s3response.MalformedXML()
    if len(name) > MAX_ID:
        raise s3response.InvalidArgument('ID', name)
    others = any(child.tag in OTHERS for child in rule)
    if not any(limits) and not others:
        raise s3response.InvalidRequest('A rule needs an action')
    if others or rule.xpath('.//Prefix/text() | Filter/*[name() != "Prefix"]'):
        return None
    return Rule(name, status == 'Enabled', *limits)


def parse(xml):
    """Return the rule of a document.

    :raises ErrorResponse: what S3 answers if the document is wrong;
        S3NotImplemented if S3 would take it
    """
    try:
        root = etree.fromstring(xml)
    except etree.XMLSyntaxError:
        raise s3response.MalformedXML()
    _check(root)
    rules = [_parse_rule(elem) for elem in root.iterchildren('Rule')]
    if root.tag != ROOT or not rules:
        raise s3response.MalformedXML()
    if len(rules) > 1 or rules[0] is None:
        raise s3response.S3NotImplemented(
            'One rule with %s, for the whole bucket, is implemented' % ACTION)
    return rules[0]


class LifecycleAclHandler(BaseAclHandler):
    """Lets nobody but the owner of a bucket change its rule."""

    def POST(self, app):
        self._handle_acl(app, 'POST', permission='OWNER')


class LifecycleController(Controller):
    """Shows, replaces and removes the rule of a bucket."""

    acl_handler = LifecycleAclHandler
    resource_type = 'LIFECYCLE'
    _of_buckets = bucket_operation(err_resp=s3response.InvalidRequest)

    @public
    @_of_buckets
    def GET(self, req):
        rule = stored_rule(req.get_response(self.app, 'HEAD'))
        if rule is None:
            raise s3response.NoSuchLifecycleConfiguration()
        return s3response.HTTPOk(body=rule.document(), content_type=None)

    @public
    @_of_buckets
    def PUT(self, req):
        if 'site_versioning' not in get_swift_info():
            raise s3response.S3NotImplemented()
        xml = req.xml(MAX_BODY)
        if not xml:
            raise s3response.MissingRequestBodyError()
        req.check_md5(xml)
        # An empty body: the request's has been read.
        req.get_response(self.app, 'POST', headers=parse(xml).headers(),
                         body='')
        return s3response.HTTPOk()

    @public
    @_of_buckets
    def DELETE(self, req):
        if stored_rule(req.get_response(self.app, 'HEAD')) is not None:
            req.get_response(self.app, 'POST', headers=dict.fromkeys(
                (KEEP, EXPIRE, STORED), ''), body='')
        return s3response.HTTPNoContent()
