# SPDX-License-Identifier: Apache-2.0
"""LIGHTSYNC of what two nodes share: one message, many devices."""

import shutil
import threading
from unittest import mock

from swift.common.concurrency import sleep

from swift_lightsync.sync import patient_reads, shared_reads, verb
from swift_lightsync.sync.core.conversation import UNREAD, Condition
from swift_lightsync.sync.core.shared_set import SharedSet
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.shared_reads import SharedReads
from swift_lightsync.sync.wire.sync_message import (
    Verdict,
    decode_reply,
    encode_roots,
)
from tests.unit.sync import documented
from tests.unit.sync.fixtures import DEADLINE, wait_for
from tests.unit.sync.verbs import EMPTY, OTHER, VerbTestCase, slice_roots


class TestShared(VerbTestCase):

    def setUp(self):
        super().setUp()
        self.roots = {(0, device, number): EMPTY
                      for device in self.devices for number in range(3)}

    def ask(self, roots=None, with_list=True, app=None, slices=None):
        roots = roots or self.roots
        items = SharedSet(roots)
        response = self.request(encode_roots(
            items, slice_roots(items, slices or len(roots), roots),
            with_list), path='/sda/roots', app=app)
        self.assertEqual(200, response.status_int, response.body)
        return decode_reply(response.body, slices or len(roots),
                            len(items.devices))

    def conditions(self, **kwargs):
        return [state.condition for state in self.ask(**kwargs)[1].states]

    def test_all_devices_are_compared_at_once(self):
        self.put(self.disk, 'sdb', 'o', partition=2)
        self.roots[0, 'sdb', 2] = self.root_of(2, 'sdb')
        self.assertEqual((Verdict.COMPARED, []), self.compared(slices=1))
        self.roots[0, 'sdb', 1] = OTHER
        self.assertEqual((Verdict.COMPARED, [4]), self.compared())
        self.assertEqual([0, 0], self.conditions())

    def compared(self, **kwargs):
        verdict, reply = self.ask(**kwargs)
        return verdict, reply.differing

    def test_a_set_is_known_by_its_digest_once_it_was_listed(self):
        self.assertIs(Verdict.UNKNOWN_SET, self.ask(with_list=False)[0])
        self.ask()
        self.assertIs(Verdict.COMPARED, self.ask(with_list=False)[0])

    def test_a_disk_that_is_not_mounted_is_told_apart(self):
        with mock.patch.object(self.app._shared, '_mounted',
                               lambda device: device == 'sda'):
            verdict, reply = self.ask()
        self.assertIs(Verdict.NOT_YET, verdict)
        self.assertEqual([Condition.READY, Condition.UNMOUNTED],
                         [state.condition for state in reply.states])

    def test_a_device_that_nobody_knows_is_not_mounted(self):
        self.roots[0, 'sdz', 1] = EMPTY
        shutil.rmtree(self.devices_dir + '/sdz', ignore_errors=True)
        app = self.controller(mount_check='true')
        with mock.patch('swift.common.utils.ismount',
                        side_effect=lambda path: not path.endswith('sdz')):
            self.assertEqual([Condition.READY, Condition.READY,
                              Condition.UNMOUNTED],
                             self.conditions(app=app))

    def test_of_a_policy_that_is_unknown_nothing_can_be_read(self):
        self.roots[9, 'sda', 1] = EMPTY
        self.assertEqual((Verdict.COMPARED, [6 | UNREAD]), self.compared())

    def test_a_disk_that_is_slow_is_told_apart_and_read_on(self):
        count = 200
        roots = {(0, 'sda', number): EMPTY for number in range(count)}
        roots[0, 'sdb', 1] = EMPTY
        genuine, seen = Fingerprints._get, set()

        def get(prints, dev_path, device, partition):
            if device == 'sda':
                seen.add(partition)
            return genuine(prints, dev_path, device, partition)

        with mock.patch.object(Fingerprints, '_get', get), \
                mock.patch('swift_lightsync.sync.fingerprints.time.monotonic',
                           lambda: len(seen) / 10):
            verdict, reply = self.ask(roots)
            self.assertIs(Verdict.NOT_YET, verdict)
            slow, other = reply.states
            self.assertEqual((Condition.NOT_YET, 10, Condition.READY),
                             (slow.condition, slow.seconds, other.condition))
            wait_for(lambda: len(seen) == count, 'the rest')
            wait_for(lambda: not self.app._reads._reading_on, 'its end')
            self.assertEqual((Verdict.COMPARED, []),
                             self.compared(roots=roots, slices=1))

    def test_a_disk_that_hangs_holds_up_neither_the_others_nor_threads(self):
        go, entered = threading.Event(), []
        self.addCleanup(go.set)
        genuine = Fingerprints._get

        def get(prints, dev_path, device, partition):
            if device == 'sda':
                entered.append(partition)
                go.wait(DEADLINE)
            return genuine(prints, dev_path, device, partition)

        with mock.patch.object(Fingerprints, '_get', get):
            with mock.patch.object(verb, '_patience', return_value=1):
                for _ in range(3):
                    self.assertEqual([Condition.NOT_YET, Condition.READY],
                                     self.conditions())
            self.assertEqual(1, len(entered))
            go.set()
            wait_for(lambda: not self.app._shared._hanging, 'the disk')
            self.assertEqual((Verdict.COMPARED, []), self.compared())

    def test_a_read_that_fails_just_as_its_time_ends_leaves_no_disk_hanging(
            self):
        genuine = shared_reads.spawn

        def heard_of_late(*args):
            thread = genuine(*args)
            thread.wait = lambda: sleep(DEADLINE)
            return thread
        with mock.patch.object(verb, '_patience', return_value=1), \
                mock.patch.object(shared_reads, 'spawn', heard_of_late), \
                mock.patch.object(SharedReads, '_device',
                                  side_effect=OSError(5, 'bad')):
            self.assertEqual([Condition.NOT_YET] * 2, self.conditions())
        self.assertEqual((Verdict.COMPARED, []), self.compared())

    def test_what_is_no_question_is_a_400(self):
        self.refused(400, b'x' * 99, 'magic', path='/sda/roots')

    def test_the_documented_times(self):
        self.assertEqual(
            (1 + shared_reads.GRACE) * patient_reads.PATIENCE,
            int(documented.found(r'hangs for (\d+) seconds')))
