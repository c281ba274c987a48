# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""What is on the devices is seen as it is, and compared file by file."""

from dataclasses import replace
import os
import tempfile
import unittest

from swift.obj.diskfile import write_metadata

from tools.demonstration import replicas

HASH = 'd41d8cd98f00b204e9800998ecf8427e'
OLD = replicas.StoredFile(0, 7, HASH, '1.00000.data', 3, 'old', 'm1')
NEW = replicas.StoredFile(0, 7, HASH, '2.00000.data', 4, 'new', 'm2')
TOMBSTONE = replicas.StoredFile(0, 7, HASH, '3.00000.ts', 0, '', 'm3')
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


class TestFilesOnDevice(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.device = directory.name

    def write(self, *path, content=b'', metadata=None):
        path = os.path.join(self.device, *path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as new:
            new.write(content)
            if metadata:
                write_metadata(new, metadata)

    def object(self, name='1.00000.data', **kwargs):
        self.write('objects', '7', '27e', HASH, name, **kwargs)

    def found(self):
        return replicas.files_on_device(self.device)

    def test_a_file_is_found_with_all_that_counts(self):
        self.object(content=b'abc', metadata={'name': '/a/c/o'})
        stored, = self.found()
        self.assertEqual((0, 7, HASH, '1.00000.data', 3), (
            stored.policy, stored.partition, stored.object_hash,
            stored.name, stored.size))

    def test_other_content_or_metadata_is_another_file(self):
        seen = set()
        for content, name in ((b'abc', 'x'), (b'abd', 'x'), (b'abc', 'y')):
            self.object(content=content, metadata={'name': name})
            seen |= self.found()
        self.assertEqual(3, len(seen))

    def test_the_order_of_metadata_does_not_count(self):
        self.object(metadata={'a': '1', 'b': '2'})
        first = self.found()
        self.object(metadata={'b': '2', 'a': '1'})
        self.assertEqual(first, self.found())

    def test_missing_metadata_is_not_equal_to_any(self):
        self.object(metadata={'a': '1'})
        good = self.found()
        os.unlink(os.path.join(self.device, 'objects', '7', '27e', HASH,
                               '1.00000.data'))
        self.object()
        bad, = self.found()
        self.assertIn('unreadable', bad.metadata)
        self.assertNotIn(bad, good)

    def test_every_policy_counts(self):
        self.object(metadata={'a': '1'})
        self.write('objects-1', '8', '27e', HASH, '1.00000.ts',
                   metadata={'a': '1'})
        self.assertEqual({(0, 7), (1, 8)}, {
            (each.policy, each.partition) for each in self.found()})

    def test_a_left_over_temporary_file_counts(self):
        self.object(name='.1.00000.data.x7Gh2')
        self.assertEqual(1, len(self.found()))

    def test_what_each_node_keeps_for_itself_does_not_count(self):
        for name in ('hashes.pkl', 'hashes.invalid', 'changed.pkl', '.lock'):
            self.write('objects', '7', name, content=b'x')
        self.write('tmp', 'x')
        self.write('async_pending', 'abc', 'x')
        self.write('objects', 'auditor_status_ALL.json')
        self.assertEqual(frozenset(), self.found())
