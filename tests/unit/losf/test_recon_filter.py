# SPDX-License-Identifier: Apache-2.0
"""What swift-recon -q is told of files in quarantine."""

import json
import os

from swift.common.swob import Request

from swift_losf.daemon.recon_filter import filter_factory
from tests.unit.losf.manager_world import DirectoryTestCase


class TestQuarantined(DirectoryTestCase):

    def setUp(self):
        super().setUp()
        devices = self.make('d')
        self.app = filter_factory({
            'devices': devices, 'recon_cache_path': self.root})(None)

    def report(self, **recon):
        with open(os.path.join(self.root, 'object.recon'), 'w',
                  encoding='utf8') as text:
            json.dump(recon, text)

    def count(self):
        response = Request.blank('/recon/quarantined').get_response(self.app)
        return json.loads(response.body)

    def test_those_in_volumes_come_on_top_of_those_in_directories(self):
        for name in ('objects/a', 'objects-2/b', 'objects-2/c'):
            self.make('d', 'sda', 'quarantined', *name.split('/'))
        self.report(object_losf={'index_servers': [
            {'device': 'sda', 'policy': 2, 'quarantined': 3},
            {'device': 'sdb', 'policy': 2, 'quarantined': 4},
            {'device': 'sda', 'policy': 5, 'quarantined': 0},
            {'device': 'sdb', 'policy': 5, 'error': 'no answer'}]})
        self.assertEqual(
            {'objects': 10, 'containers': 0, 'accounts': 0, 'policies': {
                '0': {'objects': 1}, '2': {'objects': 9},
                '5': {'objects': 0}}}, self.count())

    def test_without_a_report_it_is_swifts_count(self):
        self.make('d', 'sda', 'quarantined', 'objects', 'a')
        expected = {'objects': 1, 'containers': 0, 'accounts': 0,
                    'policies': {'0': {'objects': 1}}}
        self.assertEqual(expected, self.count())
        self.report(other=1)
        self.assertEqual(expected, self.count())
