# SPDX-License-Identifier: Apache-2.0
"""The converger with real object-servers: swift_lightsync/proar/."""

import json
import os
import shutil
import time
import unittest
from unittest import mock

from swift.common.concurrency import listen
from swift.common.utils import Timestamp
from swift.obj.server import ObjectController

from swift_lightsync.common.options import OptionError
from swift_lightsync.proar.converger import followed_log
from swift_lightsync.proar.converger.daemon import _be_alone
from swift_lightsync.proar.core.oplog import Op, place_of
from swift_lightsync.proar.log.cursor_file import read_cursors, write_cursors
from swift_lightsync.proar.log.oplog_file import Oplog
from swift_lightsync.proar.vouching.rounds import Rounds
from tests.unit.proar.converging import HERE, PEERS, ConvergerTestCase, hash_of
from tests.unit.sync.fixtures import PARTITION, wait_for


class TestOnce(ConvergerTestCase):

    def test_all_peers_get_the_present_state_and_the_log_is_removed(self):
        self.change_some()
        self.assertEqual([{}, {}], [self.files(each) for each in PEERS])
        self.run_once()
        self.assertTrue(self.are_same())
        self.assertFalse(self.has_log())
        self.assertEqual({}, self.cursors())

    def test_a_log_whose_write_did_not_come_is_removed(self):
        self.oplog.reserve()
        self.assertTrue(self.has_log())
        self.run_once()
        self.assertFalse(self.has_log())

    def test_while_rings_differ_the_log_is_kept_though_all_peers_hold_all(
            self):
        with mock.patch.object(Rounds, 'rings_agree', return_value=False):
            self.change_some()
            self.run_once()
        self.assertTrue(self.are_same())
        self.assertTrue(self.has_log())
        self.run_once()
        self.assertFalse(self.has_log())

    def test_a_dead_peer_keeps_the_log_and_holds_nobody_up(self):
        self.change_some()
        with self.dead_peer():
            self.run_once()
        self.assertTrue(self.are_same(PEERS[1:]))
        last = self.oplog.read().last_update
        self.assertEqual({1: 0, 2: last}, self.cursors())
        self.make_ring(*self.ports)
        self.run_once()
        self.assertTrue(self.are_same())
        self.assertFalse(self.has_log())

    def test_what_a_cursor_covers_is_not_pushed(self):
        self.change('PUT', 'o', b'body')
        write_cursors(self.oplog.cursors_path, {1: 1, 2: 0})
        self.run_once()
        self.assertEqual({}, self.files(PEERS[0]))
        self.assertTrue(self.are_same(PEERS[1:]))

    def test_a_cursor_of_eversions_that_are_given_anew_covers_nothing(self):
        for name in ('o1', 'o2'):
            self.change('PUT', name, b'body')
        # As after a power cut that took the entries 3 to 5.
        write_cursors(self.oplog.cursors_path, {1: 5, 2: 5})
        writer = Oplog(self.oplog.path, self.oplog.cursors_path)

        def read_before_the_writer(*args):
            cursors = read_cursors(*args)
            for _ in range(3):
                writer.append(Op.MODIFY, 0, hash_of('o3'), Timestamp(1),
                              1).aborted()
            return cursors
        with mock.patch.object(followed_log, 'read_cursors',
                               read_before_the_writer):
            self.run_once()
        self.assertTrue(self.are_same())

    def test_entries_beyond_the_bound_are_left_to_the_replicator(self):
        with self.dead_peer():
            self.change('PUT', 'o')
            for _ in range(1001):
                self.intend('o').committed()
            self.run_once(max_log_entries='1000')
        view = self.oplog.read()
        self.assertEqual(750, view.last_update - view.base + 1)
        self.assertEqual(252, self.logger.counters['converger.cut.sda'])
        self.assertTrue(self.are_same(PEERS[1:]))

    def test_a_long_log_loses_what_all_peers_hold(self):
        for _ in range(3):
            self.change('PUT', 'o')
        write_cursors(self.oplog.cursors_path, {1: 2, 2: 3})
        shutil.rmtree(os.path.join(self.devices_dir, PEERS[0]))
        self.run_once(log_size='64')
        view = self.oplog.read()
        self.assertEqual((3, 3), (view.base, view.last_update))
        self.assertEqual({1: 2, 2: 3}, self.cursors())

    def test_bodies_are_sent_no_faster_than_allowed(self):
        self.change('PUT', 'o', bytes(150000))
        began = time.monotonic()
        self.run_once(max_bytes_per_second='200000')
        self.assertGreater(time.monotonic() - began, 1)
        self.assertTrue(self.are_same())

    def test_a_device_without_its_disk_is_left_alone(self):
        self.change('PUT', 'o')
        shutil.rmtree(os.path.join(self.devices_dir, HERE))
        self.run_once()
        self.assertFalse(os.path.exists(os.path.join(
            self.devices_dir, HERE)))

    def test_suffixes_of_what_is_logged_are_hashed_anew(self):
        self.change('PUT', 'o')
        manager = self.manager()
        before = manager.get_hashes(HERE, PARTITION, [], self.policy)
        suffix, = before
        path = os.path.join(self.part_path(HERE), 'hashes.invalid')
        self.assertEqual(0, os.path.getsize(path))
        self.run_once()
        with open(path) as invalid:
            self.assertEqual([suffix], invalid.read().split())


class TestIntents(ConvergerTestCase):

    def test_an_intent_whose_writer_died_after_the_commit_is_pushed(self):
        for method, headers in (
                ('PUT', {}), ('POST', {'X_Object_Meta_Color': 'red'})):
            intent = self.intend('o')
            self.ask(method, 'o', self.stamp, b'body', **headers)
            intent.undecided()
            self.run_once()
            self.assertTrue(self.are_same())
            self.assertFalse(self.has_log())
        self.assertEqual(2, len(self.files(PEERS[0])))

    def test_one_whose_writer_died_before_the_commit_changes_nothing(self):
        self.change('PUT', 'o', b'before')
        self.intend('o').undecided()
        self.intend('other').undecided()
        self.run_once()
        self.assertTrue(self.are_same())
        self.assertEqual(1, len(self.files(PEERS[0])))
        self.assertFalse(self.has_log())

    def test_one_whose_writer_lives_is_waited_for(self):
        converger = self.running()
        intent = self.intend('o')
        self.change('PUT', 'other')
        wait_for(self.are_same, 'the other one is pushed')
        device, = converger.devices
        self.assertEqual(1, len(device.logs[PARTITION].follower.intents()))
        self.ask('PUT', 'o', self.stamp - 1, b'body')
        intent.committed()
        wait_for(lambda: len(self.files(PEERS[0])) == 2 and self.are_same(),
                 'it is pushed')

    def test_what_an_ended_writer_leaves_undecided_is_found_by_itself(self):
        self.running(log_idle='1000')
        intent = self.intend('o')
        wait_for(self.has_log, 'it is logged')
        self.ask('PUT', 'o', self.stamp, b'body')
        intent.undecided()
        wait_for(self.are_same, 'it is pushed')


class TestForever(ConvergerTestCase):

    def test_a_write_is_pushed_long_before_the_next_look(self):
        self.running(rescan_interval='1000', log_idle='1000')
        self.change('PUT', 'o', b'first')
        wait_for(self.are_same, 'it is pushed')
        self.change('PUT', 'o', b'second')
        wait_for(self.are_same, 'it is pushed')
        wait_for(lambda: self.cursors() == {1: 2, 2: 2}, 'that is on record')

    def test_a_log_is_begun_anew_after_it_was_removed(self):
        self.running(rescan_interval='1000')
        for body in b'first', b'second':
            self.change('PUT', 'o', body)
            wait_for(self.are_same, 'it is pushed')
            wait_for(lambda: not self.has_log(), 'the log is removed')

    def test_a_log_in_the_place_of_one_that_another_removed_is_seen(self):
        self.running(rescan_interval='1000', log_idle='1000')
        self.change('PUT', 'o', b'first')
        wait_for(lambda: self.cursors() == {1: 1, 2: 1}, 'all hold it')
        self.run_once()
        self.assertFalse(self.has_log())
        self.change('PUT', 'o', b'second')
        self.assertEqual(1, self.oplog.read().last_update)
        wait_for(self.are_same, 'it is pushed')

    def test_a_log_in_the_place_of_a_damaged_one_is_seen(self):
        ports, self.ports = self.ports, [1, 1]
        self.make_ring(*self.ports)
        converger = self.running(rescan_interval='1000', log_idle='1000')
        self.change('PUT', 'o', b'first')
        wait_for(lambda: self.cursors() == {1: 0, 2: 0}, 'it is followed')
        self.overwrite(b'x')
        self.change('PUT', 'o', b'second')
        self.assertEqual(1, self.oplog.read().last_update)
        wait_for(lambda: any('was lost' in line for line
                             in self.logger.at('WARNING')), 'it is noticed')
        self.make_ring(*ports)
        self.load_ring(converger)
        wait_for(self.are_same, 'it is pushed')

    def test_a_peer_that_comes_back_gets_what_it_missed(self):
        listener = listen(('127.0.0.1', 0))
        port = listener.getsockname()[1]
        listener.close()
        self.make_ring(port, self.ports[1])
        self.running(rescan_interval='1000')
        self.change_some()
        wait_for(lambda: self.are_same(PEERS[1:]), 'the other peer has it')
        self.assertEqual({}, self.files(PEERS[0]))
        with self.served(port=port):
            wait_for(self.are_same, 'it has all')
        self.assertEqual(1, len([line for line in self.logger.at('WARNING')
                                 if 'Unable to push to' in line]))

    def test_a_device_that_is_mounted_again_is_followed_again(self):
        device, = self.running(log_idle='1000').devices
        self.change('PUT', 'o', b'before')
        wait_for(self.are_same, 'it is pushed')
        mount, away = (os.path.join(self.devices_dir, name)
                       for name in (HERE, 'away'))
        os.rename(mount, away)
        wait_for(lambda: not device.logs, 'its logs are forgotten')
        os.rename(away, mount)
        self.change('PUT', 'o', b'after')
        wait_for(self.are_same, 'it is pushed')
        self.assertEqual([], self.logger.at('ERROR'))

    def test_a_change_of_the_ring_is_followed(self):
        converger = self.running(rescan_interval='1000', log_idle='1000')
        self.change('PUT', 'o')
        wait_for(self.are_same, 'it is pushed')
        os.mkdir(os.path.join(self.devices_dir, 'sdd'))
        self.make_ring(*self.ports, self.ports[0], devices=(*PEERS, 'sdd'))
        self.load_ring(converger)
        wait_for(lambda: self.are_same((*PEERS, 'sdd')),
                 'the new device has it')

    def test_an_object_that_a_peer_refuses_holds_no_other_up(self):
        self.change('PUT', 'bad', b'body', X_Object_Meta_Color='x' * 200)
        self.change('PUT', 'good', b'body')
        refusing = ObjectController(self.conf, logger=self.logger)

        def app(env, start_response):
            if env['PATH_INFO'].endswith('bad') and not self.repaired:
                start_response('422 Unprocessable', [('Content-Length', '0')])
                return []
            return refusing(env, start_response)
        self.repaired = False
        self.make_ring(self.enterContext(self.served(app)), self.ports[1])
        self.running()
        wait_for(lambda: len(self.files(PEERS[0])) == 1, 'one is pushed')
        self.assertEqual(2, len(self.files(HERE)))
        self.repaired = True
        wait_for(self.are_same, 'the other is pushed later')

    def test_a_damaged_entry_is_told_of_and_holds_no_other_up(self):
        self.running(log_idle='1000')
        self.change('PUT', 'first')
        wait_for(self.are_same, 'it is pushed')
        intent = self.intend('lost')
        self.overwrite(b'damage', place_of(2, 1) + 20)
        intent.committed()
        self.change('PUT', 'third')
        wait_for(self.are_same, 'it is pushed')
        wait_for(lambda: self.cursors() == {1: 3, 2: 3}, 'all is held')
        self.assertEqual(
            ['Entry 2 of partition 0 of policy 0 on sda is damaged; what it '
             'named is left to the object-replicator'],
            [line for line in self.logger.at('ERROR') if 'Entry' in line])

    def test_a_damaged_log_is_told_of_and_holds_no_other_up(self):
        self.change('PUT', 'o')
        self.overwrite(b'x')
        self.running()
        wait_for(lambda: self.logger.at('ERROR'), 'it is told of')
        self.assertIn('partition 0 of policy 0 on sda',
                      self.logger.at('ERROR')[0])


class TestReport(ConvergerTestCase):

    def test_the_lag_is_recorded(self):
        with self.dead_peer():
            self.change('PUT', 'o')
            self.run_once()
        state = self.recorded()
        device, = state['devices']
        self.assertLess(device.pop('oldest_seconds'), 60)
        self.assertEqual({'device': 'sda', 'policy': 0, 'entries': 1,
                          'exposed': 0, 'peers': {'1': 1},
                          'unreadable': 0}, device)
        self.assertAlmostEqual(time.time(), state['updated'], delta=60)

    def recorded(self):
        with open(os.path.join(self.root, 'proar.recon')) as recon:
            return json.load(recon)['object_convergence']

    def test_a_log_that_cannot_be_read_is_recorded_until_it_can(self):
        self.change('PUT', 'o')
        self.overwrite(b'x')
        converger = self.converger()
        converger.run_once()
        device, = self.recorded()['devices']
        self.assertEqual((1, 0), (device['unreadable'], device['entries']))
        self.change('PUT', 'o')
        converger.run_once()
        self.assertEqual([], self.recorded()['devices'])

    def test_statistics_are_kept(self):
        self.change('PUT', 'o')
        self.run_once()
        self.assertEqual(
            2, self.logger.counters['converger.push.applied.sda'])
        self.assertLessEqual({'converger.push.timing',
                              'converger.lag.timing'},
                             set(self.logger.timings))


class TestOneAtATime(unittest.TestCase):

    def test_a_second_one_ends_and_says_why(self):
        name = '/srv/of-%d 6200' % os.getpid()
        first = _be_alone(name)
        with self.assertRaisesRegex(SystemExit, name):
            _be_alone(name)
        _be_alone(name + '1').close()
        first.close()
        _be_alone(name).close()


class TestOptions(ConvergerTestCase):

    def test_a_wrong_option_is_refused_by_its_name(self):
        for name, value in (('concurrency', '0'), ('conn_timeout', 'soon'),
                            ('max_bytes_per_second', '-1'),
                            ('log_size', '1'), ('rescan_interval', '0')):
            with self.assertRaisesRegex(OptionError, '%s = %s' % (
                    name, value)):
                self.converger(**{name: value})
