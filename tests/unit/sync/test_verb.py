# SPDX-License-Identifier: Apache-2.0
"""verb: LIGHTSYNC, asked of the real object-server."""

import os
import shutil
import struct
import time
from unittest import mock
from zlib import crc32

from swift.common import storage_policy
from swift.common.concurrency import sleep, spawn
from swift.common.exceptions import LockTimeout
from swift.common.storage_policy import StoragePolicy, StoragePolicyCollection
from swift.common.utils import lock_path
from swift.obj.diskfile import invalidate_hash

from swift_lightsync.sync import changed_file, fingerprints, verb
from swift_lightsync.sync.core.comparison import compare
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.wire import sync_message
from swift_lightsync.sync.wire.sync_message import Verdict, encode_roots
from tests.unit.sync import documented
from tests.unit.sync.fixtures import DEADLINE, wait_for
from tests.unit.sync.verbs import EMPTY, OTHER, VerbTestCase, message


class TestAnswer(VerbTestCase):

    def test_an_equal_root_is_not_named(self):
        self.put(self.disk, 'sda', 'o')
        self.assertEqual(set(), self.differing({0: self.root_of(0)}))

    def test_another_root_is_named(self):
        self.put(self.disk, 'sda', 'o')
        self.assertEqual({0}, self.differing({0: OTHER}))
        self.assertEqual({0}, self.differing({0: EMPTY}))

    def test_a_write_is_seen_at_once(self):
        self.put(self.disk, 'sda', 'o')
        root = self.root_of(0)
        self.assertEqual(set(), self.differing({0: root}))
        self.put(self.disk, 'sda', 'o', stamp=2)
        self.assertEqual({0}, self.differing({0: root}))
        self.assertEqual(set(), self.differing({0: self.root_of(0)}))

    def test_devices_are_told_apart(self):
        self.put(self.disk, 'sdb', 'o')
        root = self.root_of(0, 'sdb')
        self.assertEqual({0}, self.differing({0: root}))
        self.assertEqual(set(), self.differing({0: root},
                                               path='/sdb/roots'))

    def test_a_missing_partition_is_empty_and_stays_missing(self):
        self.assertEqual({8}, self.differing({7: EMPTY, 8: OTHER}))
        self.assertEqual([], os.listdir(
            os.path.join(self.devices_dir, 'sda')))

    def test_a_message_of_none_is_answered_with_none(self):
        self.assertEqual(set(), self.differing({}))

    def test_a_message_of_many_partitions(self):
        suffix = {}
        for partition in range(0, 200, 7):
            suffix[partition] = self.put(self.disk, 'sda', 'o',
                                         partition=partition)
        roots = {partition: self.root_of(partition) if partition % 2
                 else OTHER for partition in range(200)}
        roots.update({partition: EMPTY for partition in range(1, 200, 2)
                      if partition not in suffix})
        self.assertEqual(set(range(0, 200, 2)), self.differing(roots))

    def test_as_many_partitions_as_allowed(self):
        roots = dict.fromkeys(range(sync_message.MAX_PARTITIONS), EMPTY)
        roots[65536] = OTHER
        with mock.patch.object(verb, 'PATIENCE', 60):
            self.assertEqual((Verdict.COMPARED, [1]), self.reply(
                message(roots, slices=4), 4))

    def test_the_hub_runs_while_it_works(self):
        self.put(self.disk, 'sda', 'o')
        ticks = []

        def slow(prints, device, partitions, deadline):
            deadline = time.monotonic() + DEADLINE
            while not ticks and time.monotonic() < deadline:
                time.sleep(0.001)
            return genuine(prints, device, partitions, deadline)

        genuine = Fingerprints.get_many
        with mock.patch.object(Fingerprints, 'get_many', slow):
            spawn(lambda: ticks.append(1))
            self.assertEqual({0}, self.differing({0: OTHER}))
        self.assertEqual([1], ticks)

    def test_policies_are_told_apart(self):
        policies = StoragePolicyCollection([
            self.policy, StoragePolicy(1, 'one')])
        with mock.patch.object(storage_policy, '_POLICIES', policies):
            app = self.controller()
            self.put(self.disk, 'sda', 'o')
            root = self.root_of(0)
            self.assertEqual(set(), self.differing({0: root}, app=app))
            self.assertEqual({0}, self.differing(
                {0: root}, app=app, X_Backend_Storage_Policy_Index='1'))

    def test_a_partition_that_cannot_be_read_counts_as_differing(self):
        roots = {}
        for partition in range(3):
            self.put(self.disk, 'sda', 'o', partition=partition)
            roots[partition] = self.root_of(partition)
        genuine = changed_file.load
        for error in (OSError(5, 'EIO'), LockTimeout(None, 'lock')):
            def load(path):
                if path == self.part_path(partition=1):
                    raise error
                return genuine(path)

            with mock.patch.object(changed_file, 'load', load):
                self.assertEqual({1}, self.differing(
                    roots, app=self.controller()))
            self.assertIn('partition 1 on sda',
                          self.logger.at('ERROR')[-1])
        self.assertEqual(set(), self.differing(roots))

    def test_partition_after_partition_is_found_as_a_sender_does(self):
        ours = {}
        for partition in range(0, 400, 5):
            self.put(self.disk, 'sda', 'o', partition=partition)
            ours[partition] = self.root_of(partition)
        ours.update({5: OTHER, 200: OTHER, 3: OTHER})
        comparing, answer, asked = compare(ours), None, 0
        with self.assertRaises(StopIteration) as end:
            while True:
                ask = comparing.send(answer)
                answer = self.reply(encode_roots(ask.partitions, ask.roots),
                                    len(ask.roots))[1]
                asked += 1
        self.assertEqual(({5, 200, 3}, 3), (end.exception.value, asked))

    def test_a_damaged_fingerprint_is_logged_and_answered(self):
        self.put(self.disk, 'sda', 'o')
        with open(os.path.join(self.part_path(), 'changed.pkl'), 'w'):
            pass
        self.assertEqual(set(), self.differing({0: self.root_of(0)}))
        self.assertEqual(1, len(self.logger.at('WARNING')))

    def test_invalidation_alone_does_not_make_a_difference(self):
        suffix = self.put(self.disk, 'sda', 'o')
        root = self.root_of(0)
        invalidate_hash(os.path.join(self.part_path(), suffix))
        self.assertEqual(set(), self.differing({0: root}))


class TestSets(VerbTestCase):

    roots = dict.fromkeys(range(0, 300, 3), EMPTY)

    def ask(self, with_list, app=None, roots=None):
        return self.reply(message(roots or self.roots, 1, with_list), 1,
                          app=app)

    def test_a_set_is_named_once_its_list_was_sent(self):
        self.assertEqual((Verdict.UNKNOWN_SET, []), self.ask(False))
        self.assertEqual((Verdict.COMPARED, []), self.ask(True))
        for _ in range(3):
            self.assertEqual((Verdict.COMPARED, []), self.ask(False))
        self.assertEqual((Verdict.COMPARED, [0]), self.ask(
            False, roots={**self.roots, 3: OTHER}))

    def test_another_process_has_to_be_told_itself(self):
        self.ask(True)
        self.assertIs(Verdict.UNKNOWN_SET,
                      self.ask(False, self.controller())[0])

    def test_devices_and_policies_share_the_sets(self):
        policies = StoragePolicyCollection([
            self.policy, StoragePolicy(1, 'one')])
        with mock.patch.object(storage_policy, '_POLICIES', policies):
            app = self.controller()
            self.ask(True, app)
            for device in ('sda', 'sdb'):
                for policy in ('0', '1'):
                    self.assertIs(Verdict.COMPARED, self.reply(
                        message(self.roots, 1, False), 1, app=app,
                        path='/%s/roots' % device,
                        X_Backend_Storage_Policy_Index=policy)[0])

    def test_an_unknown_set_costs_no_look_at_the_disk(self):
        with mock.patch.object(Fingerprints, 'get_many') as get_many:
            self.ask(False)
        self.assertFalse(get_many.called)

    def test_a_name_with_another_count_is_a_400(self):
        self.ask(True)
        data = bytearray(message(self.roots, 1, False)[:-4])
        data[8] += 1
        self.refused(400, bytes(data) + struct.pack('<I', crc32(data)),
                     'for 101 partitions')


class TestPatience(VerbTestCase):

    def test_what_was_not_looked_at_differs_and_later_messages_go_on(self):
        count = 5 * fingerprints.PORTION
        roots = dict.fromkeys(range(count), EMPTY)
        genuine, seen = Fingerprints._get, set()

        def get(prints, dev_path, device, partition):
            seen.add(partition)
            return genuine(prints, dev_path, device, partition)

        def clock():
            # What is seen for the first time takes a tenth of a second.
            return len(seen) / 10

        with mock.patch.object(Fingerprints, '_get', get), \
                mock.patch.object(fingerprints.time, 'monotonic', clock):
            self.assertEqual([220, 120, 20, 0, 0], [
                len(self.differing(roots)) for _ in range(5)])

    def test_it_is_the_documented_one(self):
        self.assertEqual(verb.PATIENCE, int(documented.found(
            r'did not find within (\d+) seconds')))


class TestPartitionThatGoes(VerbTestCase):

    def test_a_partition_that_is_removed_meanwhile_is_empty(self):
        self.put(self.disk, 'sda', 'o')
        genuine = changed_file.load

        def removed(path):
            shutil.rmtree(path)
            return genuine(path)

        with mock.patch.object(changed_file, 'load', removed):
            self.assertEqual(set(), self.differing({0: EMPTY}))

    def test_the_server_answers_others_while_a_partition_is_locked(self):
        self.put(self.disk, 'sda', 'o')
        self.put(self.disk, 'sda', 'o', partition=1)
        answers = []
        with lock_path(self.part_path()):
            waiting = spawn(lambda: answers.append(
                self.differing({0: OTHER})))
            sleep()
            self.assertEqual({1}, self.differing({1: OTHER}))
            self.assertEqual([], answers)
        wait_for(lambda: answers, 'an answer once the lock was free')
        self.assertEqual([{0}], answers)
        waiting.wait()
