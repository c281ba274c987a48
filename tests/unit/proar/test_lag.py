# SPDX-License-Identifier: Apache-2.0
"""The lag, from the converger to who asks: lag.py, recon_filter."""

import json
import os
import unittest
from dataclasses import replace
from unittest import mock

from swift.common.swob import Request
from swift.common.utils import dump_recon_cache

from swift_lightsync.common.records import RecordError
from swift_lightsync.proar.lag import (
    KEY,
    DeviceLag,
    DeviceStanding,
    NodeLag,
    decode,
    forget,
    read,
    recorded,
)
from swift_lightsync.proar.troubles import FILE
from swift_lightsync.recon_filter import filter_factory
from tests.unit.sync.fixtures import SwiftTestCase

LAG = DeviceLag('sda', 0, 3, 1, 2.5, {1: 3}, 0, 0)
ROLE = DeviceStanding('sda', 0, 7, (), None, (), 0, {})


class TestLag(unittest.TestCase):

    def test_an_answer_is_read_as_it_was_written(self):
        answer = NodeLag(5, '/cache', 4, (LAG,), (ROLE,))
        self.assertEqual(answer, decode(answer.encode()))

    def test_an_answer_that_is_none_is_refused(self):
        good = json.loads(NodeLag(5, '/cache', 4, (LAG,)).encode())
        for change in ({'time': 'now'}, {'devices': 7}, {'updated': -1},
                       {'devices': [dict(
                           good['devices'][0], peers={'x': 1})]}):
            with self.assertRaises(RecordError):
                decode(json.dumps(dict(good, **change)).encode())


class TestRecon(SwiftTestCase):

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch(
            'swift.common.utils.logs.get_swift_logger'))

    def record(self, *devices):
        dump_recon_cache(recorded({
            name: [lag for lag in devices if lag.device == name]
            for name in {lag.device for lag in devices}}, 7),
            os.path.join(self.root, FILE), self.logger)

    def get(self):
        app = filter_factory({}, recon_cache_path=self.root)(None)
        return Request.blank('/recon/proar').get_response(app)

    def test_what_was_recorded_replaces_what_was_before(self):
        other = replace(LAG, device='sdb')
        self.record(replace(LAG, entries=9, peers={1: 1, 2: 2}))
        self.record(LAG)
        # Each worker records its own devices.
        self.record(other)
        self.assertEqual(NodeLag(9, self.root, 7, (LAG, other)),
                         read(self.root, 9))

    def test_a_device_that_is_gone_is_forgotten(self):
        self.record(LAG, replace(LAG, device='sdb'))
        path = os.path.join(self.root, FILE)
        forget(path, ['sda'], self.logger)
        self.assertEqual((LAG,), read(self.root, 9).devices)
        forget(path + '.none', ['sda'], self.logger)

    def test_a_worker_that_is_silent_is_told_by_the_node(self):
        self.record(LAG)
        dump_recon_cache(recorded({'sdb': []}, 1),
                         os.path.join(self.root, FILE), self.logger)
        self.assertEqual(1, read(self.root, 9).updated)

    def test_a_node_without_devices_has_reported(self):
        self.record()
        self.assertEqual((7, ()), (read(self.root, 9).updated,
                                   read(self.root, 9).devices))

    def test_a_node_without_a_converger_says_so(self):
        self.assertEqual(NodeLag(9, self.root, 0, ()), read(self.root, 9))

    def test_the_recon_filter_answers_it(self):
        self.record(LAG)
        response = self.get()
        self.assertEqual(200, response.status_int)
        self.assertEqual((LAG,), decode(response.body).devices)

    def test_a_file_of_another_kind_is_an_error_that_names_it(self):
        with open(os.path.join(self.root, FILE), 'w') as recon:
            recon.write('{"%s": {"sda": {"policies": 1}}}' % KEY)
        response = self.get()
        self.assertEqual(500, response.status_int)
        self.assertIn(b'updated', response.body)
