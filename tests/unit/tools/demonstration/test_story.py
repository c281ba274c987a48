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
"""The story ends well only if the disks say so."""

import io
from types import SimpleNamespace
import unittest
from unittest import mock

from tools.demonstration import replicas, story
from tools.demonstration.errors import DemoError
from tools.demonstration.passes import Cost
from tools.demonstration.show import Show

OLD = replicas.StoredFile(0, 7, 'f' * 32, '1.00000.data', 3, 'old', 'm1')
NEW = replicas.StoredFile(0, 7, 'f' * 32, '2.00000.data', 4, 'new', 'm2')
PLACEMENT = {(0, 7): frozenset('abc')}


def survey(*files):
    return dict(zip('abc', ({each} for each in files)))


EQUAL = survey(NEW, NEW, NEW)
UNEQUAL = survey(NEW, NEW, OLD)


def cluster(name):
    return SimpleNamespace(name=name, spec=SimpleNamespace(root='/' + name))


class TestStory(unittest.TestCase):
    def setUp(self):
        self.stage = SimpleNamespace(lightsync=cluster('lightsync'),
                                     stock=cluster('stock'))
        self.story = story.Story(self.stage, Show(io.StringIO()), 20)
        self.story.expected = {'gold/object': 'new'}
        for patch in (
                mock.patch.object(replicas, 'placement',
                                  return_value=PLACEMENT),
                mock.patch.object(replicas, 'survey',
                                  side_effect=self.survey),
                mock.patch.object(story, 'Meter')):
            self.addCleanup(patch.stop)
            made = patch.start()
        made.return_value.one_pass.side_effect = self.one_pass
        self.passes = 0
        self.equal_after = 2
        self.equal_until = 100

    def one_pass(self):
        self.passes += 1
        return Cost(1, (1, 2, 3), 10, 0.5, 1)

    def survey(self, _):
        equal = self.equal_after <= self.passes <= self.equal_until
        return EQUAL if equal else UNEQUAL

    def repair(self):
        return self.story.repair('Repair', self.stage.lightsync, UNEQUAL)

    def test_passes_are_run_until_the_disks_are_equal_and_once_more(self):
        repair = self.repair()
        self.assertEqual(3, self.passes)
        self.assertEqual(Cost(2, (2, 4, 6), 20, 1.0, 2), repair.until_equal)
        self.assertEqual(Cost(1, (1, 2, 3), 10, 0.5, 1), repair.stable)

    def test_disks_that_never_become_equal_are_an_error_with_examples(self):
        self.equal_after = 1000
        with self.assertRaisesRegex(
                DemoError, r'not identical after %d passes:\n.*on c: outdated'
                % story.MAX_PASSES):
            self.repair()

    def test_disks_that_do_not_stay_equal_are_an_error(self):
        self.equal_until = 2
        with self.assertRaisesRegex(DemoError, 'in the stable state'):
            self.repair()

    def test_a_lost_object_is_an_error_though_all_replicas_are_equal(self):
        self.story.expected['gold/other'] = 'x'
        with self.assertRaisesRegex(DemoError, '1 objects and 0 tombstones '
                                    'are on the disks, not 2 and 0'):
            self.repair()

    def test_a_delete_without_a_tombstone_is_an_error(self):
        self.story.expected['gold/deleted'] = None
        with self.assertRaisesRegex(DemoError, 'not 1 and 1'):
            self.repair()

    def test_a_repair_that_began_with_other_disks_is_no_comparison(self):
        self.equal_after = 0
        with self.assertRaisesRegex(DemoError, 'have changed before'):
            self.repair()
        self.assertEqual(0, self.passes)

    def test_each_replicator_must_have_used_its_own_messages(self):
        none, some = Cost(1, (0, 5, 0)), Cost(1, (5, 5, 0))

        def check(lightsync, stock):
            self.story.check_protocols({
                'lightsync': story.Repair(lightsync, lightsync),
                'stock': story.Repair(stock, stock)})

        check(some, none)
        with self.assertRaisesRegex(DemoError, 'lightsync .* sent 0'):
            check(none, none)
        with self.assertRaisesRegex(DemoError, 'stock .* sent 10'):
            check(some, some)

    def test_ends_that_differ_are_an_error(self):
        with mock.patch.object(replicas, 'survey',
                               side_effect=[EQUAL, UNEQUAL]), \
                self.assertRaisesRegex(DemoError, 'different files'):
            self.story.compare_ends()

    def test_an_object_that_fails_its_check_is_an_error(self):
        self.stage.lightsync.swift_init = mock.Mock()
        self.stage.lightsync.spec.policies = ()
        self.story.client = mock.Mock()
        self.story.client.each.return_value = [None, 'c/o is wrong']
        with self.assertRaisesRegex(DemoError, '1 objects are wrong:\n  c/o'):
            self.story.check_objects()
