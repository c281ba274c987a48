# SPDX-License-Identifier: Apache-2.0
"""recon_filter: in a real paste pipeline, before a real object-server."""

import json
import os
import time
from unittest import mock

from swift.common.swob import Request
from swift.common.wsgi import loadapp

from swift_lightsync.recon_filter import filter_factory
from swift_lightsync.report.answer import State, decode
from swift_lightsync.sync.failure_store import FailureStore
from tests.unit.report.fixtures import PAIR, PASS
from tests.unit.sync.fixtures import SwiftTestCase

CONF = '''\
[DEFAULT]
devices = {devices}
mount_check = false
disable_fallocate = true
swift_dir = {root}
recon_cache_path = {root}
{more}

[pipeline:main]
pipeline = healthcheck {filters} object-server

[app:object-server]
use = egg:swift-lightsync#object

[filter:healthcheck]
use = egg:swift#healthcheck

[filter:lightsync-recon]
use = egg:swift-lightsync#recon

[filter:recon]
use = egg:swift#recon
'''
NODE = ('10.0.0.1', 6200)


class TestPipeline(SwiftTestCase):

    def setUp(self):
        super().setUp()
        patcher = mock.patch('swift.common.utils.logs.get_swift_logger')
        patcher.start()
        self.addCleanup(patcher.stop)

    def app(self, filters='lightsync-recon recon', more=''):
        path = os.path.join(self.root, 'object-server.conf')
        with open(path, 'w') as conf:
            conf.write(CONF.format(devices=self.devices_dir, root=self.root,
                                   filters=filters, more=more))
        return loadapp(path)

    def get(self, path='/recon/lightsync', method='GET', app=None):
        request = Request.blank(path, {'REQUEST_METHOD': method})
        return request.get_response(app or self.app())

    def write(self, name, text):
        with open(os.path.join(self.root, name), 'w') as recon:
            recon.write(text)

    def write_records(self):
        self.write('lightsync.recon', json.dumps({
            'version': 1, 'pairs': {PAIR.name: PAIR.to_json()},
            'devices': {PASS.name: PASS.to_json()}}) + '\n')

    def test_it_tells_what_was_recorded_and_who_does_not_answer(self):
        self.write_records()
        begin = time.time()
        FailureStore(self.conf, self.logger).record(NODE, 10)
        response = self.get()
        self.assertEqual((200, 'application/json'),
                         (response.status_int, response.content_type))
        answer = decode(response.body)
        self.assertEqual(((PAIR,), (PASS,)), (answer.pairs, answer.devices))
        self.assertEqual([(NODE, State.FAILED)], [
            (each.key, each.state) for each in answer.suspects])
        self.assertEqual(self.root, answer.source)
        self.assertLessEqual(begin, answer.time)
        self.assertLessEqual(answer.time, time.time())

    def test_what_changes_between_two_requests_is_told(self):
        app = self.app()
        self.assertEqual((), decode(self.get(app=app).body).suspects)
        FailureStore(self.conf, self.logger).record(NODE, 10)
        self.write_records()
        answer = decode(self.get(app=app).body)
        self.assertEqual((1, 1), (len(answer.suspects), len(answer.pairs)))

    def test_before_the_first_pass_there_is_nothing_to_tell(self):
        response = self.get()
        answer = decode(response.body)
        self.assertEqual((200, (), (), ()), (
            response.status_int, answer.pairs, answer.devices,
            answer.suspects))

    def test_the_options_of_the_failure_table_are_those_of_the_conf(self):
        FailureStore(self.conf, self.logger).record(NODE, 3)
        for limit, state in ((3, State.FAILED), (4, State.COUNTING)):
            app = self.app(more='error_suppression_limit = %d' % limit)
            suspect, = decode(self.get(app=app).body).suspects
            self.assertEqual(state, suspect.state)

    def test_a_bad_option_is_refused_at_the_start(self):
        with self.assertRaisesRegex(ValueError,
                                    'error_suppression_limit = 0: '):
            self.app(more='error_suppression_limit = 0')

    def test_a_head_has_the_headers_of_a_get(self):
        self.write_records()
        app = self.app()
        head, get = (self.get(method=method, app=app)
                     for method in ('HEAD', 'GET'))
        self.assertEqual((200, b''), (head.status_int, head.body))
        self.assertEqual(get.content_type, head.content_type)

    def test_other_methods_are_not_allowed(self):
        for method in ('PUT', 'POST', 'DELETE', 'REPLICATE', 'LIGHTSYNC'):
            response = self.get(method=method)
            self.assertEqual((405, 'GET, HEAD'), (
                response.status_int, response.headers['Allow']))

    def test_a_damaged_file_is_named_and_nothing_crashes(self):
        for name in ('lightsync.recon', 'lightsync-failures.json'):
            for text in ('garbage', '{', '[]', '[' * 100000, '{}', '1',
                         '{"version": 9}', '{"version": 1, "pairs": [1], '
                         '"rows": 7}'):
                with self.subTest(name=name, text=text[:40]):
                    self.write(name, text)
                    response = self.get()
                    self.assertEqual((500, 'application/json'), (
                        response.status_int, response.content_type))
                    self.assertIn(os.path.join(self.root, name),
                                  json.loads(response.body)['error'])
            os.unlink(os.path.join(self.root, name))
        self.assertEqual(200, self.get().status_int)

    def test_a_file_that_cannot_be_read_is_named(self):
        for name in ('lightsync.recon', 'lightsync-failures.json'):
            path = os.path.join(self.root, name)
            os.mkdir(path)
            response = self.get()
            self.assertEqual(500, response.status_int)
            self.assertIn(path, json.loads(response.body)['error'])
            os.rmdir(path)

    def test_everything_else_is_passed_on(self):
        app, stock = self.app(), self.app('recon')
        for path in ('/healthcheck', '/recon/version', '/recon/lightsync/',
                     '/recon/lightsyn', '/recon/nothing', '/sda/0/a/c/o',
                     '/sda/0', '/', '/lightsync'):
            for method in ('GET', 'HEAD', 'PUT', 'REPLICATE'):
                ours = self.get(path, method, app)
                theirs = self.get(path, method, stock)
                self.assertEqual((theirs.status, theirs.body),
                                 (ours.status, ours.body), (method, path))

    def test_without_it_the_request_has_a_status_that_says_so(self):
        self.assertEqual([404, 400], [
            self.get(app=self.app(filters)).status_int
            for filters in ('recon', '')])

    def test_the_factory_prefers_the_options_of_its_section(self):
        self.write_records()
        made = filter_factory({'recon_cache_path': '/x'},
                              recon_cache_path=self.root)('app')
        answer = decode(self.get(app=made).body)
        self.assertEqual((self.root, 'app'), (answer.source, made.app))

    def test_an_error_is_logged_once_a_minute(self):
        self.write('lightsync.recon', 'garbage')
        made = filter_factory({'recon_cache_path': self.root})('app')
        made.logger = mock.Mock()
        for _ in range(5):
            self.assertEqual(500, self.get(app=made).status_int)
        self.assertEqual(1, made.logger.error.call_count)

    def test_each_system_answers_at_its_paths(self):
        app = self.app()
        for path in ('lightsync', 'proar', 'losf', 'versions',
                     'swift-lightsync'):
            response = self.get('/recon/' + path, app=app)
            self.assertEqual(200, response.status_int, path)
            json.loads(response.body)
