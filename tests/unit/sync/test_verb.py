# SPDX-License-Identifier: Apache-2.0
"""verb: LIGHTSYNC, asked of the real object-server."""

import os
import struct
from unittest import mock
from zlib import crc32

from swift_lightsync.sync import patient_reads
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.wire.sync_message import Verdict
from tests.unit.sync import documented
from tests.unit.sync.verbs import EMPTY, OTHER, VerbTestCase, message


class TestAnswer(VerbTestCase):

    def test_another_root_is_named_and_an_equal_one_is_not(self):
        self.put(self.disk, 'sda', 'o')
        root = self.root_of(0)
        for asked, named in ((root, set()), (OTHER, {0}), (EMPTY, {0})):
            self.assertEqual(named, self.differing({0: asked}))
        self.put(self.disk, 'sda', 'o', stamp=2)
        self.assertEqual({0}, self.differing({0: root}))

    def test_devices_are_told_apart(self):
        self.put(self.disk, 'sdb', 'o')
        root = self.root_of(0, 'sdb')
        self.assertEqual({0}, self.differing({0: root}))
        self.assertEqual(set(), self.differing({0: root}, device='sdb'))

    def test_a_missing_partition_is_empty_and_stays_missing(self):
        self.assertEqual({8}, self.differing({7: EMPTY, 8: OTHER}))
        self.assertEqual([], os.listdir(
            os.path.join(self.devices_dir, 'sda')))

    def test_a_message_of_none_is_answered_with_none(self):
        self.assertEqual(set(), self.differing({}))

    def test_policies_are_told_apart(self):
        app = self.of_two_policies()
        self.put(self.disk, 'sda', 'o')
        root = self.root_of(0)
        self.assertEqual(set(), self.differing({0: root}, app=app))
        self.assertEqual({0}, self.differing({0: root}, app=app, policy=1))


class TestSets(VerbTestCase):

    roots = dict.fromkeys(range(0, 300, 3), EMPTY)

    def ask(self, with_list, app=None, roots=None):
        verdict, found = self.reply(message(
            roots or self.roots, 1, with_list), 1, app=app)
        return verdict, found.differing

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

    def test_an_unknown_set_costs_no_look_at_the_disk(self):
        with mock.patch.object(Fingerprints, 'get_many') as get_many:
            self.ask(False)
        self.assertFalse(get_many.called)

    def test_a_name_with_another_count_is_a_400(self):
        self.ask(True)
        data = bytearray(message(self.roots, 1, False)[:-4])
        data[8] += 1
        self.refused(400, bytes(data) + struct.pack('<I', crc32(data)),
                     'said to be 101')


class TestPatience(VerbTestCase):

    def test_it_is_the_documented_one(self):
        self.assertEqual(patient_reads.PATIENCE, int(documented.found(
            r'found all roots within (\d+) seconds')))
