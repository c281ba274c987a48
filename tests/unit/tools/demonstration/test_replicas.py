# SPDX-License-Identifier: Apache-2.0
"""Replicas are compared file by file."""

import os
import tempfile
import unittest
from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

from swift.common import utils

from tools.cluster import ClusterSpec
from tools.demonstration import replicas
from tools.demonstration.client import ObjectName
from tools.demonstration.stored import StoredFile

HASH = 'd41d8cd98f00b204e9800998ecf8427e'
OLD = StoredFile(0, 7, HASH, '1.00000.data', 3, 'old', 'm1')
NEW = StoredFile(0, 7, HASH, '2.00000.data', 4, 'new', 'm2')
TOMBSTONE = StoredFile(0, 7, HASH, '3.00000.ts', 0, '', 'm3')
PLACEMENT = {(0, 7): frozenset('abc')}


def judge(**devices):
    return replicas.judge({device: frozenset(files) for device, files
                           in devices.items()}, PLACEMENT)


class TestJudge(unittest.TestCase):
    def test_the_same_files_on_every_primary_are_equal(self):
        verdict = judge(a=[NEW], b=[NEW], c=[NEW], d=[])
        self.assertTrue(verdict.equal)
        self.assertEqual((1, 0), (verdict.live, verdict.deleted))

    def test_a_tombstone_everywhere_is_equal_and_a_deleted_object(self):
        verdict = judge(a=[TOMBSTONE], b=[TOMBSTONE], c=[TOMBSTONE])
        self.assertTrue(verdict.equal)
        self.assertEqual((0, 1), (verdict.live, verdict.deleted))

    def test_the_contents_are_those_of_the_newest_files(self):
        self.assertEqual({(0, HASH): 'new'},
                         judge(a=[OLD], b=[OLD], c=[NEW]).contents)
        self.assertEqual({(0, HASH): None},
                         judge(a=[OLD], b=[TOMBSTONE]).contents)

    def test_of_two_contents_of_one_file_the_commoner_counts(self):
        rotten = replace(NEW, content='a')
        self.assertEqual({(0, HASH): 'new'},
                         judge(a=[rotten], b=[NEW], c=[NEW]).contents)

    def test_a_missing_replica_is_outdated(self):
        verdict = judge(a=[NEW], b=[], c=[NEW])
        self.assertFalse(verdict.equal)
        self.assertEqual((1, 0), (verdict.outdated, verdict.unclean))
        self.assertIn('on b: outdated', verdict.examples[0])

    def test_a_device_without_a_survey_is_outdated(self):
        self.assertEqual(1, judge(a=[NEW], b=[NEW]).outdated)

    def test_old_replicas_are_outdated_even_if_they_are_the_most(self):
        verdict = judge(a=[OLD], b=[OLD], c=[NEW])
        self.assertEqual(2, verdict.outdated)
        self.assertEqual(1, verdict.differing)

    def test_a_replica_that_a_delete_did_not_reach_is_outdated(self):
        verdict = judge(a=[TOMBSTONE], b=[NEW], c=[TOMBSTONE])
        self.assertEqual((1, 0, 1), (
            verdict.outdated, verdict.live, verdict.deleted))

    def test_a_superseded_file_beside_the_newest_is_unclean(self):
        verdict = judge(a=[OLD, NEW], b=[NEW], c=[OLD, NEW])
        self.assertFalse(verdict.equal)
        self.assertEqual((0, 2), (verdict.outdated, verdict.unclean))

    def test_each_of_content_size_and_metadata_makes_a_difference(self):
        for other in (replace(NEW, content='rot'), replace(NEW, size=9),
                      replace(NEW, metadata='rot')):
            with self.subTest(other=other):
                verdict = judge(a=[NEW], b=[other], c=[NEW])
                self.assertFalse(verdict.equal)
                self.assertEqual(1, verdict.unclean)

    def test_a_copy_on_another_device_is_a_hand_off(self):
        verdict = judge(a=[NEW], b=[NEW], c=[NEW], d=[NEW])
        self.assertFalse(verdict.equal)
        self.assertEqual((1, 0), (verdict.handoffs, verdict.differing))

    def test_a_partition_that_no_ring_has_is_a_hand_off(self):
        stray = replace(NEW, policy=9)
        self.assertEqual(3, judge(a=[stray], b=[stray], c=[stray]).handoffs)


class TestObjectKeys(unittest.TestCase):
    def test_a_key_has_the_policy_and_the_hash_that_swift_goes_by(self):
        with tempfile.TemporaryDirectory() as etc:
            with open(os.path.join(etc, 'swift.conf'), 'w') as conf:
                conf.write('[swift-hash]\nswift_hash_path_suffix = x\n')
            for name in ('SWIFT_CONF_FILE', 'HASH_PATH_PREFIX',
                         'HASH_PATH_SUFFIX'):   # are as before at the end
                patch = mock.patch.object(utils, name, getattr(utils, name))
                patch.start()
                self.addCleanup(patch.stop)
            cluster = SimpleNamespace(
                spec=ClusterSpec(root=etc), layout=SimpleNamespace(etc=etc))
            name = ObjectName('platinum', 'o')
            keys = replicas.object_keys(cluster, 'a', [name])
            self.assertEqual({(1, utils.hash_path('a', 'platinum', 'o')):
                              name}, keys)
            self.assertEqual(b'x', utils.HASH_PATH_SUFFIX)
