# SPDX-License-Identifier: Apache-2.0
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
        made = make(900)
        new = {local for _, local in made.overwrites}
        self.assertEqual(len(made.overwrites), len(new))
        self.assertFalse(new & {local for _, local in
                                made.uploads + made.additions})

    def test_each_container_gets_half_of_the_uploads(self):
        containers = [where.container for where, _ in make(900).uploads]
        self.assertEqual(450, containers.count('gold'))
        self.assertEqual(450, containers.count('platinum'))

    def test_the_same_files_give_the_same_plan(self):
        self.assertEqual(make(700), make(700))


class TestSmallPlan(unittest.TestCase):
    def setUp(self):
        files = [LocalFile('/local/%d' % number, '%d' % number)
                 for number in range(plan.small_files_needed(plan.MIN_FILES))]
        self.made = plan.make_small_plan(files, plan.MIN_FILES,
                                         ['files', 'volumes'])

    def test_both_containers_get_the_same_files_under_the_same_names(self):
        in_files, in_volumes = ([
            (where.name, local) for where, local in self.made.uploads[name]]
            for name in ('files', 'volumes'))
        self.assertEqual(in_files, in_volumes)
        self.assertEqual(plan.MIN_FILES // 3, len(in_files))

    def test_additions_are_new_objects_of_the_last_container(self):
        uploaded = {where for where, _ in self.made.uploads['volumes']}
        added = {where for where, _ in self.made.additions}
        self.assertEqual({'volumes'}, {each.container for each in added})
        self.assertFalse(added & uploaded)
        self.assertEqual(plan.MIN_FILES // 6, len(added))

    def test_what_is_deleted_was_uploaded_and_is_not_all(self):
        uploaded = {where for where, _ in self.made.uploads['volumes']}
        self.assertTrue(self.made.deletes)
        self.assertLess(set(self.made.deletes), uploaded)


class TestRolePlan(unittest.TestCase):
    def setUp(self):
        small = [LocalFile('/local/%d' % number, '%d' % number)
                 for number in range(plan.ROLE_FILES)]
        self.large = [LocalFile('/large/%d' % number, 'large/%d' % number)
                      for number in range(plan.LARGE)]
        self.made = plan.make_role_plan(small, self.large,
                                        ['stock', 'proar'])

    def test_both_containers_get_the_same_files_under_the_same_names(self):
        for uploads in (self.made.small, self.made.large, self.made.held_up):
            self.assertEqual(*([(where.name, local) for where, local in
                                uploads[name]] for name in uploads))

    def test_no_file_has_two_fates_and_none_is_left(self):
        names = [where.name for items in (
            self.made.small['proar'], self.made.held_up['proar'],
            self.made.last, self.made.later) for where, _ in items]
        self.assertEqual(plan.ROLE_FILES, len(names))
        self.assertEqual(len(names), len(set(names)))

    def test_there_are_enough_new_files_to_overwrite_a_third(self):
        self.assertLessEqual(len(self.made.last) // 3, len(self.made.later))
