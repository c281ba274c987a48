# SPDX-License-Identifier: Apache-2.0
"""object_server: the paste app, Swift's with one verb more."""

from unittest import mock

from swift.common.swob import Request
from swift.obj import server

from swift_lightsync import object_server
from swift_lightsync.sync.core.shared_set import SharedSet
from swift_lightsync.sync.wire.sync_message import encode_roots
from tests.unit.sync.fixtures import SwiftTestCase

MESSAGE = encode_roots(SharedSet([(0, 'sda', 0)]), ('ab' * 16,))


class TestObjectServer(SwiftTestCase):

    def setUp(self):
        super().setUp()
        patcher = mock.patch('swift.obj.server.get_logger',
                             return_value=self.logger)
        patcher.start()
        self.addCleanup(patcher.stop)

    def app(self, cls=object_server.ObjectController, **conf):
        return cls(dict(self.conf, **conf), logger=self.logger)

    def status(self, app, verb, path='/sda/roots'):
        request = Request.blank(
            path, {'REQUEST_METHOD': verb}, body=MESSAGE,
            headers={'X-Backend-Storage-Policy-Index': '0'})
        request.method = verb
        return request.get_response(app).status_int

    def test_it_has_every_stock_verb_and_two_more(self):
        for option in ({}, {'replication_server': 'true'},
                       {'replication_server': 'false'}):
            stock = self.app(server.ObjectController, **option)
            ours = self.app(**option)
            more = ({'LIGHTSYNC', 'PROAR'}
                    if 'REPLICATE' in stock.allowed_methods else set())
            self.assertEqual(set(stock.allowed_methods) | more,
                             set(ours.allowed_methods), option)

    def test_the_verb_is_where_replicate_is(self):
        for option, exposed in (({}, True),
                                ({'replication_server': 'true'}, True),
                                ({'replication_server': 'false'}, False)):
            app = self.app(**option)
            self.assertEqual(200 if exposed else 405,
                             self.status(app, 'LIGHTSYNC'), option)
            self.assertEqual(200 if exposed else 405,
                             self.status(app, 'REPLICATE', '/sda/0'), option)

    def test_a_stock_server_answers_405(self):
        self.assertEqual(405, self.status(
            self.app(server.ObjectController), 'LIGHTSYNC'))

    def test_stock_verbs_are_stock_code(self):
        for verb in 'REPLICATE', 'SSYNC', 'OPTIONS':
            self.assertIs(getattr(server.ObjectController, verb),
                          getattr(object_server.ObjectController, verb))

    def test_the_factory_makes_it_from_both_confs(self):
        app = object_server.app_factory(dict(self.conf, slow='1'),
                                        replication_server='false')
        self.assertIsInstance(app, object_server.ObjectController)
        self.assertEqual(1, app.slow)
        self.assertEqual(self.devices_dir,
                         app._diskfile_router[self.policy].devices)
        self.assertNotIn('LIGHTSYNC', app.allowed_methods)

    def test_the_local_conf_has_the_last_word(self):
        app = object_server.app_factory(dict(self.conf, slow='1'), slow='2')
        self.assertEqual(2, app.slow)

    def test_the_verb_is_timed(self):
        app = self.app()
        self.status(app, 'LIGHTSYNC')
        self.assertIn('LIGHTSYNC.timing', self.logger.timings)
