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
"""The plan gives every object one fate."""

import unittest

from hypothesis import given, settings, strategies

from tools.demonstration import plan
from tools.demonstration.catalogue import LocalFile


def make(count):
    files = [LocalFile('/local/%d' % number, '%d' % number)
             for number in range(plan.files_needed(count))]
    return plan.make_plan(files, count, ['gold', 'platinum'])


class TestPlan(unittest.TestCase):
    @settings(derandomize=True, database=None, deadline=None)
    @given(strategies.integers(plan.MIN_FILES, 2000))
    def test_every_change_happens_to_some_objects(self, count):
        made = make(count)
        self.assertEqual(count, len(made.uploads))
        for changes in (made.overwrites, made.deletes, made.additions):
            self.assertTrue(changes)

    @settings(derandomize=True, database=None, deadline=None)
    @given(strategies.integers(plan.MIN_FILES, 2000))
    def test_no_object_has_two_fates(self, count):
        made = make(count)
        uploaded = {where for where, _ in made.uploads}
        overwritten = {where for where, _ in made.overwrites}
        deleted = set(made.deletes)
        added = {where for where, _ in made.additions}
        self.assertLess(overwritten | deleted, uploaded)
        self.assertFalse(overwritten & deleted)
        self.assertFalse(added & uploaded)

    def test_an_object_is_overwritten_with_a_file_used_nowhere_else(self):
        made = make(300)
        new = {local for _, local in made.overwrites}
        self.assertEqual(len(made.overwrites), len(new))
        self.assertFalse(new & {local for _, local in
                                made.uploads + made.additions})

    def test_each_container_gets_half_of_the_uploads(self):
        containers = [where.container for where, _ in make(300).uploads]
        self.assertEqual(150, containers.count('gold'))
        self.assertEqual(150, containers.count('platinum'))

    def test_the_same_files_give_the_same_plan(self):
        self.assertEqual(make(100), make(100))
