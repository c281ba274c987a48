# SPDX-License-Identifier: Apache-2.0
"""The converger with real object-servers: swift_lightsync/proar/."""

import errno
import os
import shutil
import time
from dataclasses import replace
from unittest import mock

from swift.obj import server
from swift.obj.diskfile import read_metadata

from swift_lightsync.proar.converger.followed_device import CARRIED_FROM
from swift_lightsync.proar.converger.pusher import Pusher
from swift_lightsync.proar.core.oplog import CAPACITY, State
from swift_lightsync.proar.core.push_message import MAX_BODY
from swift_lightsync.proar.log.device_log import DeviceLog
from swift_lightsync.proar.log.holdings import tells_all
from swift_lightsync.proar.log.segment import (
    Segment,
    numbers,
    open_segment,
    segment_path,
)
from swift_lightsync.proar.vouching.rounds import Rounds
from tests.unit.proar.converging import HERE, PEERS, ConvergerTestCase
from tests.unit.proar.logs import entry
from tests.unit.sync.fixtures import PARTITION


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
        # Until others have them the device must not vouch.
        self.assertFalse(tells_all(self.path, lambda since: False))

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

    def test_while_rings_differ_a_segment_is_kept_though_all_hold_it(self):
        self.change('PUT', 'o')
        self.fill_segment(1)
        self.change('PUT', 'o')
        with mock.patch.object(Rounds, 'rings_agree', return_value=False):
            self.run_once()
            self.assertTrue(self.are_same())
            self.assertEqual([1, 2], numbers(self.log.directory))
            self.run_once(max_log_entries='1000')
        self.assertEqual([2], numbers(self.log.directory))

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
