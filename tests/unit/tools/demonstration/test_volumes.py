# SPDX-License-Identifier: Apache-2.0
"""The second act kills what runs, and notices what goes wrong."""

import os
from types import SimpleNamespace
from unittest import mock

from tests.unit.tools.demonstration.test_act import ActCase
from tools.cluster import ClusterError, Policy
from tools.demonstration import footprint, volumes
from tools.demonstration.errors import DemoError
from tools.demonstration.footprint import Cost, Footprint
from tools.demonstration.plan import SmallPlan

FILES, VOLUMES = Policy('files', 0, 3), Policy('volumes', 1, 3, kv=True)


class TestVolumes(ActCase):
    act_class = volumes.Volumes

    def setUp(self):
        super().setUp()
        self.stage.volumes = self.cluster = mock.Mock()
        self.cluster.spec.policies = FILES, VOLUMES
        self.cluster.spec.node_numbers.return_value = range(1, 3)
        self.cluster.devices = lambda node: ['n%dd1' % node]
        self.cluster.device_path = '/srv/{}/{}'.format
        self.act.plan = SmallPlan({'files': (1, 2), 'volumes': (1, 2)}, (),
                                  ())

    def compare(self, in_files, in_volumes):
        with mock.patch.object(footprint, 'of_cluster', side_effect=[
                Footprint(Cost(in_files, 7000)),
                Footprint(Cost(in_volumes, 5000), Cost(3, 100))]):
            self.act.compare_footprints()
        return self.act.show.stream.getvalue()

    def test_the_table_has_what_was_counted(self):
        lines = [' '.join(line.split())
                 for line in self.compare(18, 4).splitlines()]
        for line in ('objects 2 2', 'replicas 6 6',
                     'files and directories of the objects 18 4',
                     'others, whatever the number of objects 0 3',
                     'space of the objects, without inodes 7 kB 5 kB',
                     'other, whatever the number of objects 0 B 100 B'):
            self.assertIn(line, lines)

    def test_volumes_that_take_more_files_than_files_are_an_error(self):
        with self.assertRaisesRegex(DemoError, '2 objects in volumes .* 18 '
                                    'files and directories, in files 18'):
            self.compare(18, 18)

    def test_fsck_looks_at_every_device_while_no_index_is_served(self):
        events = self.cluster.mock_calls
        self.cluster.run.return_value = SimpleNamespace(
            stdout='records: 5\nfound: nothing\n')
        with mock.patch.object(volumes, '_serves'):
            self.act.check_indexes()
        done = [call.args[:2] for call in events
                if call[0] in ('swift_init', 'run')]
        self.assertEqual([('object-losf', 'stop')], done[:1])
        self.assertEqual([('object-losf', 'start')], done[-1:])
        self.assertEqual(['/srv/1/n1d1', '/srv/2/n2d1'],
                         [argv[2] for argv, in done[1:-1]])
        self.assertIn('n2d1: found: nothing',
                      self.act.show.stream.getvalue())

    def test_what_fsck_finds_is_an_error(self):
        self.cluster.run.side_effect = ClusterError('exit status 1')
        with self.assertRaisesRegex(ClusterError, 'exit status 1'):
            self.act.check_indexes()

    def test_an_index_that_nobody_serves_is_known(self):
        layout = SimpleNamespace(socket=os.path.join('/', 'nowhere'))
        self.assertFalse(volumes._serves(layout))
