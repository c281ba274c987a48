# SPDX-License-Identifier: Apache-2.0
"""The converger as a daemon: its reports, workers and options."""


import json
import os
import shutil
import time
import unittest
from tempfile import TemporaryDirectory
from unittest import mock

from swift_lightsync.common.options import OptionError
from swift_lightsync.proar.converger import daemon
from swift_lightsync.proar.converger.one_process import be_alone
from swift_lightsync.proar.log.segment import segment_path
from tests.unit.proar.converging import (
    HERE,
    OWN_PORT,
    PEERS,
    ConvergerTestCase,
)
from tests.unit.sync.fixtures import node, ring_of_parts


class TestReport(ConvergerTestCase):

    def test_the_lag_is_recorded(self):
        with self.dead_peer():
            self.change('PUT', 'o')
            self.run_once()
        state = self.recorded()
        device, = state['policies']
        self.assertLess(device.pop('oldest_seconds'), 60)
        self.assertEqual({'device': 'sda', 'policy': 0, 'entries': 1,
                          'exposed': 0, 'peers': {'1': 1}, 'damaged': 0,
                          'aside': 0}, device)
        self.assertAlmostEqual(time.time(), state['updated'], delta=60)

    def recorded(self):
        with open(os.path.join(self.root, 'proar.recon')) as recon:
            return json.load(recon)['object_convergence'][HERE]

    def test_a_segment_that_cannot_be_read_is_recorded_until_it_is_removed(
            self):
        self.change('PUT', 'o')
        self.overwrite(b'x')
        self.run_once()
        device, = self.recorded()['policies']
        self.assertEqual((1, 0), (device['damaged'], device['entries']))
        self.die()
        self.change('PUT', 'o')
        self.run_once()
        device, = self.recorded()['policies']
        self.assertEqual(1, device['damaged'])
        os.unlink(segment_path(self.log.directory, 1) + '.damaged')
        self.run_once()
        device, = self.recorded()['policies']
        self.assertEqual(0, device['damaged'])

    def test_statistics_are_kept(self):
        self.change('PUT', 'o')
        self.run_once()
        self.assertEqual(
            2, self.logger.counters['converger.push.applied.sda'])
        self.assertLessEqual({'converger.push.timing',
                              'converger.lag.timing'},
                             set(self.logger.timings))


class TestWorkers(ConvergerTestCase):

    def setUp(self):
        super().setUp()
        for name in 'sdx', 'sdy':
            os.mkdir(os.path.join(self.devices_dir, name))
        self.policy.object_ring = None
        ring_of_parts(self.root, [
            node(0, OWN_PORT, HERE), node(1, OWN_PORT, 'sdx'),
            node(2, OWN_PORT, 'sdy'), node(3, self.ports[0], PEERS[0])],
            [[0, 3]])

    def args(self, once=False, **options):
        converger = self.converger(**options)
        self.addCleanup(lambda: converger._alone.close())
        return converger, converger.get_worker_args(once=once)

    def test_devices_are_shared_out_among_workers(self):
        _, args = self.args(workers='2')
        self.assertEqual([['sda', 'sdy'], ['sdx']], [
            each['override_devices'] for each in args])

    def test_there_is_one_for_each_device_at_most(self):
        _, args = self.args(workers='100')
        self.assertEqual([['sda'], ['sdx'], ['sdy']], [
            each['override_devices'] for each in args])

    def test_one_process_is_enough_for_one_and_for_once(self):
        for options in ({'workers': '0'}, {'workers': '1'},
                        {'workers': '3', 'once': True}):
            converger, args = self.args(**options)
            self.assertEqual([], args)
            converger._alone.close()

    def test_a_worker_follows_its_devices_alone(self):
        converger = self.converger()
        converger._only = ['sdx']
        converger._begin()
        self.assertEqual(['sdx'], [each.name for each in converger.devices])
        converger.watch.close()

    def test_workers_begin_anew_when_the_devices_change(self):
        converger, _ = self.args(workers='2')
        self.assertTrue(converger.is_healthy())
        self.make_ring(*self.ports)
        self.load_ring(converger)
        self.assertFalse(converger.is_healthy())

    def test_it_gives_way_to_clients_unless_it_is_told_otherwise(self):
        for options, nice in (({}, '19'), ({'nice_priority': '3'}, '3')):
            converger = self.converger(**options)
            with mock.patch.object(daemon, 'modify_priority') as modify, \
                    mock.patch.object(converger, 'run_once'):
                converger.run(once=True)
            self.assertEqual(nice, modify.call_args[0][0]['nice_priority'])
            converger._alone.close()


class TestOneAtATime(unittest.TestCase):

    def test_a_second_one_ends_and_says_why(self):
        with TemporaryDirectory() as one, TemporaryDirectory() as other:
            first = be_alone('section', one, 6200)
            with self.assertRaisesRegex(SystemExit, one):
                be_alone('section', one, 6200)
            for distinct in ((other, 6200), (one, 6201), (one, None)):
                be_alone('section', *distinct).close()
            first.close()
            be_alone('section', one, 6200).close()

    def test_the_directory_counts_whatever_it_is_called(self):
        with TemporaryDirectory() as one, TemporaryDirectory() as moved:
            os.symlink(one, moved + '/also')
            with be_alone('section', one, 6200), \
                    self.assertRaisesRegex(SystemExit, 'one runs already'):
                be_alone('section', moved + '/also', 6200)
            # as of another node whose container mounts it at the same path
            with be_alone('section', one, 6200):
                os.rename(one, moved + '/node')
                os.mkdir(one)
                be_alone('section', one, 6200).close()
            shutil.rmtree(moved + '/node')

    def test_devices_that_are_not_there_are_named(self):
        with self.assertRaisesRegex(SystemExit, '/nowhere: no directory|'
                                    'no directory .*/nowhere'):
            be_alone('section', '/nowhere', 6200)


class TestOptions(ConvergerTestCase):

    def test_a_wrong_option_is_refused_by_its_name(self):
        for name, value in (('concurrency', '0'), ('conn_timeout', 'soon'),
                            ('max_bytes_per_second', '-1'),
                            ('max_log_entries', '1'),
                            ('rescan_interval', '0')):
            with self.assertRaisesRegex(OptionError, '%s = %s' % (
                    name, value)):
                self.converger(**{name: value})
