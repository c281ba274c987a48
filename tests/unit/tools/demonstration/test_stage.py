# SPDX-License-Identifier: Apache-2.0
"""The stage takes only a directory that is its own."""

import os
import tempfile
import unittest

from tools.cluster import ClusterError, layout
from tools.demonstration.errors import DemoError
from tools.demonstration.stage import MARKER, Stage


class TestStage(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.top = directory.name

    def stage(self, directory=None, **kwargs):
        values = dict(base_port=23900, sync_method='rsync')
        stage = Stage(directory or self.top, **dict(values, **kwargs))
        self.addCleanup(stage.lock.close)
        return stage

    def test_a_directory_is_made(self):
        directory = os.path.join(self.top, 'a', 'b')
        self.stage(directory)
        self.assertEqual([MARKER], os.listdir(directory))

    def test_an_empty_directory_is_taken(self):
        self.stage()
        self.assertEqual([MARKER], os.listdir(self.top))

    def test_a_directory_with_anything_else_in_it_is_refused(self):
        os.mkdir(os.path.join(self.top, 'lightsync'))
        with self.assertRaisesRegex(DemoError, 'choose another --dir'):
            self.stage()
        self.assertEqual(['lightsync'], os.listdir(self.top))

    def test_an_earlier_stage_is_taken_again(self):
        self.stage().lock.close()
        self.assertFalse(self.stage().set())

    def test_two_demonstrations_cannot_have_one_directory(self):
        self.stage()
        with self.assertRaisesRegex(DemoError, 'another demonstration'):
            self.stage()

    def test_a_file_is_no_directory(self):
        path = os.path.join(self.top, 'file')
        with open(path, 'w'):
            pass
        with self.assertRaisesRegex(DemoError, 'choose another --dir'):
            self.stage(path)

    def test_a_wrong_value_touches_nothing(self):
        with self.assertRaises(ClusterError):
            self.stage(base_port=80)
        self.assertEqual([], os.listdir(self.top))

    def test_only_the_cluster_of_volumes_has_them_and_pushes_by_ssync(self):
        stage = self.stage()
        self.assertEqual([False, True], [
            policy.kv for policy in stage.volumes.spec.policies])
        self.assertEqual(['rsync', 'rsync', 'ssync', 'rsync'], [
            cluster.spec.sync_method for cluster in (
                stage.lightsync, stage.stock, stage.volumes, stage.roles)])

    def test_only_the_last_cluster_has_primary_role_writes(self):
        stage = self.stage()
        self.assertEqual([False, False, False, True], [
            cluster.spec.has_proar() for cluster in (
                stage.lightsync, stage.stock, stage.volumes, stage.roles)])

    def test_no_two_clusters_share_a_directory_or_a_port(self):
        stage = self.stage()
        specs = [cluster.spec for cluster in (
            stage.lightsync, stage.stock, stage.volumes, stage.roles)]
        self.assertEqual(4, len({spec.root for spec in specs}))
        ports = [{spec.port(daemon, node) for daemon in (
            *layout.CLUSTER_PORTS, *layout.NODE_PORTS)
            for node in spec.node_numbers()} for spec in specs]
        self.assertEqual(sum(map(len, ports)), len(set().union(*ports)))

    def test_sites_are_made_once_the_earlier_ones_are_gone(self):
        stage = self.stage()
        sites = stage.make_sites()
        self.assertEqual(['read-repair', 'write-repair', 'write-repair'],
                         sorted(cluster.spec.versioning['mode']
                                for cluster in sites.clusters.values()))
        self.assertTrue(sites.root.startswith(stage.directory + '/'))
        self.assertTrue(stage.set())
        self.assertEqual([MARKER], os.listdir(self.top))

    def test_sites_of_which_only_some_were_made_are_removed(self):
        stage = self.stage()
        rome, *_ = stage.make_sites().clusters.values()
        os.makedirs(rome.layout.etc)
        with open(rome.layout.spec, 'w') as spec:
            spec.write(rome.spec.to_json())
        self.assertTrue(stage.set())
        self.assertFalse(os.path.exists(rome.spec.root))

    def test_stock_differs_in_directory_ports_replicator_and_services(self):
        stage = self.stage()
        self.assertEqual({'root', 'base_port', 'replicator', 'services'},
                         set(stage.lightsync.spec.differences(
                             stage.stock.spec)))
