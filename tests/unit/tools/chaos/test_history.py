# SPDX-License-Identifier: Apache-2.0
"""What the clients of tools/chaos were told, held against what is there."""

import unittest
from unittest import mock

from tests.chaos.census import Census
from tests.chaos.history import History
from tests.chaos.world import World

V, P = ('c', 'o'), ('rome', 'c', 'o')


class TestHistory(unittest.TestCase):

    def setUp(self):
        self.history = History()

    def write(self, key, body, status, version=None):
        table = self.history.versions if key is V else self.history.plain
        self.history.began(table, key, body)
        self.history.ended(table, key, 'PUT' if body else 'DELETE', body,
                           status, version)
        return table[key]

    def wrong(self, known, seen):
        return [text.partition(':')[0] for text in known.wrong(seen)]

    def test_acknowledged_versions_have_to_be_there(self):
        self.write(V, 'a', 201, '1')
        known = self.write(V, None, 204, '2')
        self.assertEqual([], self.wrong(known, {'1': 'a', '2': None}))
        self.assertEqual(['lost'], self.wrong(known, {'1': 'a'}))
        self.assertEqual(['other data'],
                         self.wrong(known, {'1': 'b', '2': None}))

    def test_what_was_not_acknowledged_may_be_there(self):
        self.write(V, 'a', 201, '1')
        known = self.write(V, 'b', 503)
        self.assertEqual([], self.wrong(known, {'1': 'a'}))
        self.assertEqual([], self.wrong(known, {'1': 'a', '2': 'b'}))
        self.assertEqual(['nobody wrote version 2'],
                         self.wrong(known, {'1': 'a', '2': 'c'}))

    def test_an_object_is_the_last_acknowledged_or_what_was_begun_since(self):
        self.write(P, 'a', 201)
        known = self.write(P, 'b', 201)
        self.assertEqual(['lost'], self.wrong(known, 'a'))
        self.write(P, None, None)
        for seen, wrong in (('b', []), (None, []), ('a', ['lost'])):
            self.assertEqual(wrong, self.wrong(known, seen))

    def test_bodies_that_nobody_wrote_are_wrong_when_they_are_read(self):
        self.history.read(200, V, True)
        self.assertEqual([], self.history.wrong)
        self.history.read(200, V, False)
        self.assertEqual(1, len(self.history.wrong))


class TestCensus(unittest.TestCase):

    def test_more_processes_and_descriptors_are_leaks(self):
        before, after = Census(), Census()
        for census, number, descriptors in ((before, 1, 10),
                                            (after, 2, 1000)):
            census.processes['rome', 1, 'object-server'] = number
            census.descriptors['rome', 1, 'object-server'] = descriptors
        self.assertEqual(2, len(list(after.leaks(before))))
        self.assertEqual([], list(before.leaks(before)))


class TestSettled(unittest.TestCase):

    def settle(self, *, wrong, unreadable=()):
        world = World.__new__(World)
        world.clusters = {}
        with mock.patch.object(world, 'wrong', side_effect=wrong), \
                mock.patch.object(world, 'unreadable',
                                  return_value=unreadable):
            world.settle(History(), 0)

    def test_what_cannot_be_asked_is_not_settled(self):
        self.settle(wrong=[[]])
        for wrong, unreadable in (([OSError('no answer')] * 2, ()),
                                  ([['lost']] * 2, ()), ([[]] * 2, ['one'])):
            with self.assertRaises(AssertionError):
                self.settle(wrong=wrong, unreadable=unreadable)
