# SPDX-License-Identifier: Apache-2.0
"""proxy_server: the paste app, Swift's with another object controller."""

import os
import unittest
from unittest import mock

from swift.common import registry
from swift.common.swob import Request
from swift.common.wsgi import loadapp
from swift.proxy import server
from swift.proxy.controllers.obj import (
    ECObjectController,
    ReplicatedObjectController,
)

from swift_lightsync import proxy_server
from swift_lightsync.common.options import OptionError
from swift_lightsync.common.rowless import ROWLESS, rowless
from swift_lightsync.proar.proxy.controller import PrimaryRoleController
from swift_lightsync.proar.proxy.policy_options import PolicyOptions
from swift_lightsync.proar.proxy.writes import QuorumWrite
from tests.unit.sync.fixtures import SwiftTestCase, node, ring_of

CONF = """
[DEFAULT]
swift_dir = %(root)s
[pipeline:main]
pipeline = %(pipeline)s
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
[app:proxy-server]
use = egg:swift-lightsync#proxy
%(app)s
[proxy-server:policy:0]
%(policy)s
"""


class TestRowless(unittest.TestCase):

    def test_its_controllers_answer_the_same_methods(self):
        for stock in ReplicatedObjectController, ECObjectController:
            one = stock(mock.Mock(), 'a', 'c', 'o')
            other = rowless(stock)(mock.Mock(), 'a', 'c', 'o')
            self.assertIn('PUT', other.allowed_methods)
            for name in 'allowed_methods', 'private_methods':
                self.assertEqual(getattr(one, name), getattr(other, name))


class TestProxyServer(SwiftTestCase):

    def setUp(self):
        super().setUp()
        ring_of(self.root, [node(number, 6200) for number in range(3)])
        ring = os.path.join(self.root, 'object.ring.gz')
        for name in ('account', 'container'):
            os.link(ring, os.path.join(self.root, name + '.ring.gz'))
        for patcher in (
                mock.patch.object(registry, '_swift_info', {}),
                mock.patch('swift.proxy.server.get_logger',
                           return_value=self.logger)):
            patcher.start()
            self.addCleanup(patcher.stop)

    def load(self, policy='', app='',
             pipeline='catch_errors cache proxy-server'):
        """:returns: the app at the end of the pipeline"""
        path = os.path.join(self.root, 'proxy-server.conf')
        with open(path, 'w') as conf:
            conf.write(CONF % {'root': self.root, 'policy': policy,
                               'app': app, 'pipeline': pipeline})
        app = loadapp(path)._pipeline_final_app
        self.addCleanup(app.watchdog.kill)
        return app

    def controller(self, app):
        return app.obj_controller_router[self.policy](
            app, version='v1', account_name='a', container_name='c',
            object_name='o%25')

    def test_a_policy_has_our_controller_if_it_says_so(self):
        app = self.load('primary_role_writes = true\nmin_sync_copies = 2')
        self.assertIsInstance(app, proxy_server.Application)
        self.assertEqual({self.policy: PolicyOptions(min_sync_copies=2)},
                         app.primary_role_policies)
        controller = self.controller(app)
        self.assertIsInstance(controller, PrimaryRoleController)
        self.assertEqual('o%', controller.object_name)

    def test_otherwise_it_has_swift_s(self):
        controller = self.controller(self.load())
        self.assertIsInstance(controller, ReplicatedObjectController)
        self.assertNotIsInstance(controller, PrimaryRoleController)

    def test_our_controller_has_every_verb_of_swift_s(self):
        ours = self.controller(self.load('primary_role_writes = true'))
        stock = ReplicatedObjectController(ours.app, 'a', 'c', 'o')
        self.assertEqual(stock.allowed_methods, ours.allowed_methods)
        for verb in stock.allowed_methods:
            self.assertEqual(
                getattr(getattr(stock, verb), 'delay_denial', None),
                getattr(getattr(ours, verb), 'delay_denial', None), verb)

    def updates(self, controller, rowless):
        """:returns: how many object-servers update containers"""
        req = Request.blank('/v1/a/c/o', method='PUT', headers={
            'X-Timestamp': '1', 'X-Backend-Storage-Policy-Index': '0',
            'X-Container-Meta-X': 'y'})
        req.environ[ROWLESS] = rowless
        requests = controller._backend_requests(req, 3, {
            'partition': 0, 'nodes': [node(number, 6201)
                                      for number in range(3)]})
        self.assertEqual(3, len(requests))
        return sum('X-Container-Host' in headers or
                   'X-Container-Partition' in headers
                   for headers in requests)

    def test_a_write_can_leave_no_rows(self):
        controller = self.controller(self.load())
        self.assertEqual([3, 0], [self.updates(controller, rowless)
                                  for rowless in (False, True)])

    def test_so_can_one_by_a_primary_role(self):
        controller = self.controller(self.load('primary_role_writes = true'))
        attempt = controller._attempt(
            QuorumWrite, controller.app, controller._roles,
            controller._rings)
        self.assertEqual([3, 0], [self.updates(attempt, rowless)
                                  for rowless in (False, True)])

    def test_info_names_the_policies(self):
        self.load('primary_role_writes = true')
        self.assertEqual({'policies': ['zero']},
                         registry.get_swift_info()['proar'])

    def test_info_is_silent_without_them(self):
        self.load()
        self.assertNotIn('proar', registry.get_swift_info())

    def test_a_wrong_option_is_an_error_that_names_file_and_section(self):
        with self.assertRaisesRegex(
                OptionError, r'proxy-server.conf: \[proxy-server:policy:0\]: '
                'min_sync_copies = 3: must be a whole number, 1 to 2'):
            self.load('primary_role_writes = true\nmin_sync_copies = 3')

    def test_an_inherited_affinity_is_an_error(self):
        for name in ('read_affinity = r1=100', 'write_affinity = r1'):
            with self.assertRaisesRegex(OptionError, name):
                self.load('primary_role_writes = true', app=name)
            self.load(app=name)

    def test_swift_s_own_checks_are_made(self):
        with mock.patch.object(server.Application, 'check_config') as check:
            self.load()
        check.assert_called_once_with()
