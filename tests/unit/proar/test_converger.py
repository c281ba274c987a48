# SPDX-License-Identifier: Apache-2.0
"""The converger with real object-servers: swift_lightsync/proar/."""

import errno
import json
import os
import shutil
import time
import unittest
from dataclasses import replace
from unittest import mock

from swift.common.concurrency import listen
from swift.obj import server
from swift.obj.diskfile import read_metadata
from swift.obj.server import ObjectController

from swift_lightsync.common.options import OptionError
from swift_lightsync.proar.converger import daemon
from swift_lightsync.proar.converger.daemon import _be_alone
from swift_lightsync.proar.converger.followed_device import CARRIED_FROM
from swift_lightsync.proar.converger.pusher import Pusher
from swift_lightsync.proar.core.oplog import (
    CAPACITY,
    RECORD,
    State,
    eversion_of,
)
from swift_lightsync.proar.core.push_message import MAX_BODY
from swift_lightsync.proar.log.device_log import DeviceLog
from swift_lightsync.proar.log.segment import (
    Segment,
    numbers,
    open_segment,
    segment_path,
)
from tests.unit.proar.converging import (
    HERE,
    OWN_PORT,
    PEERS,
    ConvergerTestCase,
)
from tests.unit.proar.logs import entry
from tests.unit.sync.fixtures import (
    PARTITION,
    node,
    ring_of_parts,
    wait_for,
)


class TestOnce(ConvergerTestCase):

    def test_all_peers_get_the_present_state(self):
        self.change_some()
        self.assertEqual([{}, {}], [self.files(each) for each in PEERS])
        self.run_once()
        self.assertTrue(self.are_same())
        self.assertTrue(self.is_converged())

    def test_a_dead_peer_holds_nobody_up(self):
        self.change_some()
        with self.dead_peer():
            self.run_once()
        self.assertTrue(self.are_same(PEERS[1:]))
        self.assertEqual({'HELD'}, set(self.states()))
        self.assertEqual([{2}] * len(self.states()), self.holders())
        self.make_ring(*self.ports)
        self.run_once()
        self.assertTrue(self.are_same())
        self.assertTrue(self.is_converged())

    def test_what_a_peer_is_known_to_hold_is_not_pushed(self):
        self.change('PUT', 'o', b'body')
        with open_segment(segment_path(self.log.directory, 1)).file as file:
            Segment(segment_path(self.log.directory, 1), file).note(
                1, State.HELD, {1})
        self.run_once()
        self.assertEqual({}, self.files(PEERS[0]))
        self.assertTrue(self.are_same(PEERS[1:]))

    def test_entries_beyond_the_bound_are_left_to_the_replicator(self):
        with self.dead_peer():
            self.change('PUT', 'o')
            self.fill_segment(1)
            self.change('PUT', 'o')
            self.run_once(max_log_entries='1000')
        self.assertEqual(CAPACITY, self.logger.counters['converger.cut.sda'])
        self.assertEqual(1, len(self.states()))
        self.assertTrue(self.are_same(PEERS[1:]))

    def fill_segment(self, number, state=State.COMMITTED):
        """Have a segment be full, as its writer has left it"""
        self.log.close()
        path = segment_path(self.log.directory, number)
        with open_segment(path).file as file:
            segment = Segment(path, file)
            first = segment.entry(1)
            segment.write([replace(first, state=state)] * (CAPACITY - 1), 2)
        self.die()

    def test_a_segment_that_all_peers_hold_is_removed(self):
        self.change('PUT', 'o')
        self.fill_segment(1)
        self.change('PUT', 'o')
        self.run_once()
        self.assertEqual([2], numbers(self.log.directory))
        self.assertTrue(self.are_same())

    def test_one_old_entry_does_not_hold_segments(self):
        self.change('PUT', 'o')
        for number in range(1, 6):
            self.fill_segment(number, State.CONVERGED)
            self.change('PUT', 'other')
        with self.dead_peer():
            self.run_once()
            self.run_once()
        self.assertLessEqual(
            len(numbers(self.log.directory)), CARRIED_FROM + 1)
        self.make_ring(*self.ports)
        self.run_once()
        self.assertTrue(self.are_same())

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

    def test_an_unreadable_object_holds_no_other_up_and_is_aside(self):
        self.change('PUT', 'bad', b'body')
        path, = (os.path.join(self.devices_dir, HERE, 'objects', each)
                 for each in self.files(HERE))
        self.change('PUT', 'good', b'body')
        with mock.patch('swift.obj.diskfile.read_metadata',
                        unreadable(path)):
            self.run_once()
        self.assertEqual([['ASIDE', 'CONVERGED'], 1], [
            self.states(), len(self.files(PEERS[0]))])
        self.assertEqual(0, DeviceLog(self.path).exposure().entries)
        self.run_once()
        self.assertTrue(self.are_same())
        self.assertTrue(self.is_converged())

    def test_a_body_that_decayed_is_quarantined_and_not_sent_again(self):
        self.change('PUT', 'o', b'body')
        path, = (os.path.join(self.devices_dir, HERE, 'objects', each)
                 for each in self.files(HERE))
        with open(path, 'r+b') as data:
            data.write(b'dead')
        self.run_once()
        self.assertEqual({}, self.files(PEERS[0]))
        self.assertFalse(os.path.exists(path))
        self.assertLess(0, self.logger.counters['converger.push.damaged.sda'])
        self.run_once()
        self.assertTrue(self.is_converged())

    def test_small_objects_go_with_one_request_and_large_ones_alone(self):
        for number in range(30):
            self.change('PUT', 'o%d' % number, b'x' * number)
        self.change('POST', 'o3', X_Object_Meta_Color='red')
        self.change('DELETE', 'o4')
        self.change('PUT', 'large', bytes(MAX_BODY + 1))
        with mock.patch.object(Pusher, '_request', autospec=True,
                               side_effect=Pusher._request) as asked:
            self.run_once()
        self.assertEqual(['PROAR', 'PROAR', 'PUT', 'PUT'], sorted(
            call.args[1] for call in asked.call_args_list))
        self.assertTrue(self.are_same())

    def test_a_stock_peer_is_sent_object_by_object(self):
        self.change_some()
        stock = server.ObjectController(self.conf, logger=self.logger)
        self.make_ring(self.enterContext(self.served(stock)), self.ports[1])
        self.run_once()
        self.assertTrue(self.are_same())
        self.assertTrue(self.is_converged())

    def test_an_entry_of_a_policy_that_is_gone_is_told_of(self):
        self.change('PUT', 'o')
        self.log.begin(replace(entry(), policy=9)).sync()
        self.run_once()
        self.assertTrue(self.are_same())
        self.assertIn('policy 9', ''.join(self.logger.at('WARNING')))


def unreadable(bad):
    """:returns: a read_metadata that cannot read one file"""
    def read(file, *args, **kwargs):
        name = file if isinstance(file, str) else os.readlink(
            '/proc/self/fd/%d' % (
                file if isinstance(file, int) else file.fileno()))
        if name == bad:
            raise OSError(errno.EIO, 'Input/output error')
        return read_metadata(file, *args, **kwargs)
    return read


class TestIntents(ConvergerTestCase):

    def test_an_intent_whose_writer_died_after_the_commit_is_pushed(self):
        for method, headers in (
                ('PUT', {}), ('POST', {'X_Object_Meta_Color': 'red'})):
            self.intend('o')
            self.ask(method, 'o', self.stamp, b'body', **headers)
            self.die()
            self.run_once()
            self.assertTrue(self.are_same())
            self.assertTrue(self.is_converged())
        self.assertEqual(2, len(self.files(PEERS[0])))

    def test_one_whose_writer_died_before_the_commit_changes_nothing(self):
        self.change('PUT', 'o', b'before')
        self.intend('o')
        self.intend('other')
        self.die()
        self.run_once()
        self.assertTrue(self.are_same())
        self.assertEqual(['CONVERGED', 'ABORTED', 'ABORTED'], self.states())

    def test_one_whose_writer_lives_is_waited_for(self):
        converger = self.running()
        intent = self.intend('o')
        self.change('PUT', 'other')
        wait_for(self.are_same, 'the other one is pushed')
        device, = converger.devices
        self.assertEqual(1, len(device.policies[0].follower.intents()))
        self.ask('PUT', 'o', self.stamp - 1, b'body')
        intent.commit()
        wait_for(lambda: len(self.files(PEERS[0])) == 2 and self.are_same(),
                 'it is pushed')

    def test_what_a_writer_leaves_to_the_disk_is_found_there(self):
        self.running()
        intent = self.intend('o')
        self.ask('PUT', 'o', self.stamp, b'body')
        intent.abandon(is_open=True)
        wait_for(self.are_same, 'it is pushed')

    def test_what_the_disk_tells_is_noted(self):
        with self.dead_peer():
            self.intend('o')
            self.ask('PUT', 'o', self.stamp, b'body')
            self.die()
            self.make_ring(1, 1)
            self.run_once()
        self.assertEqual(['COMMITTED'], self.states())


class TestForever(ConvergerTestCase):

    def test_a_write_is_pushed_long_before_the_next_look(self):
        self.running(rescan_interval='1000')
        for body in b'first', b'second':
            self.change('PUT', 'o', body)
            wait_for(self.are_same, 'it is pushed')
        wait_for(self.is_converged, 'that is on record')

    def test_a_log_in_the_place_of_one_that_was_removed_is_seen(self):
        self.running(rescan_interval='1000')
        self.change('PUT', 'o', b'first')
        wait_for(self.are_same, 'all hold it')
        os.unlink(segment_path(self.log.directory, 1))
        wait_for(lambda: any('is lost' in line for line
                             in self.logger.at('WARNING')), 'it is noticed')
        self.change('PUT', 'o', b'second')
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
        device, = self.running().devices
        self.change('PUT', 'o', b'before')
        wait_for(self.are_same, 'it is pushed')
        mount, away = (os.path.join(self.devices_dir, name)
                       for name in (HERE, 'away'))
        os.rename(mount, away)
        wait_for(lambda: not device.log.read_numbers(), 'it is forgotten')
        os.rename(away, mount)
        self.change('PUT', 'o', b'after')
        wait_for(self.are_same, 'it is pushed')
        self.assertEqual([], self.logger.at('ERROR'))

    def test_a_change_of_the_ring_is_followed(self):
        converger = self.running(rescan_interval='1000')
        self.change('PUT', 'o')
        os.mkdir(os.path.join(self.devices_dir, 'sdd'))
        self.make_ring(*self.ports, self.ports[0], devices=(*PEERS, 'sdd'))
        self.load_ring(converger)
        self.change('PUT', 'o')
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
        self.change('PUT', 'first')
        intent = self.intend('lost')
        self.overwrite(b'damage', 2 * RECORD + 20)
        intent.commit()
        self.change('PUT', 'third')
        self.running()
        wait_for(self.are_same, 'the others are pushed')
        wait_for(self.is_converged, 'all is held')
        said, = (line for line in self.logger.at('ERROR') if 'Entry' in line)
        self.assertIn('Entry %d of %s' % (
            eversion_of(1, 2), segment_path(self.log.directory, 1)), said)

    def test_a_damaged_log_is_told_of_and_holds_no_other_up(self):
        self.change('PUT', 'o')
        self.overwrite(b'x')
        self.running()
        wait_for(lambda: self.logger.at('ERROR'), 'it is told of')
        self.assertIn(segment_path(self.log.directory, 1),
                      self.logger.at('ERROR')[0])
        self.die()
        self.change('PUT', 'o')
        wait_for(self.are_same, 'the next is pushed')


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
                            ('max_log_entries', '1'),
                            ('rescan_interval', '0')):
            with self.assertRaisesRegex(OptionError, '%s = %s' % (
                    name, value)):
                self.converger(**{name: value})
