# SPDX-License-Identifier: Apache-2.0

import json
import unittest
from unittest import mock

from swift_lightsync.versioning.core.row_data import Entry
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.proxy.latest_cache import LatestCache
from tests.unit.versioning.memory import MemoryCache

T = 170000000000000
KEY, VALUE_KEY = 'site-versions/a/c/o', 'site-versions-latest/a/c/o'


def entry(ticks=0, obj='o', **fields):
    return Entry(obj, Version(Stamp(T + ticks, 7), 'north', Vector(),
                              fields.pop('deleted', False)), **fields)


class TestLatestCache(unittest.TestCase):

    def setUp(self):
        self.memcache = MemoryCache()
        self.cache = self.made('c')
        self.rows = entry()
        self.reads = 0

    def made(self, container, hint_seconds=3600, sure_seconds=10):
        return LatestCache(self.memcache, 'a', container, hint_seconds,
                           sure_seconds)

    def read(self):
        self.reads += 1
        return self.rows

    def get(self, cache=None, read=None, obj='o'):
        cache = cache or self.cache
        hint = cache.hint(obj)
        if hint.is_sure:
            return hint.entry
        found = (read or self.read)()
        cache.keep(obj, found, hint)
        return found

    def test_rows_are_read_once(self):
        for each in (entry(), entry(deleted=True), entry(null=True)):
            with self.subTest(entry=each):
                self.rows, self.reads = each, 0
                self.cache.forget('o')
                self.assertEqual([each] * 3, [self.get() for _ in range(3)])
                self.assertEqual(1, self.reads)

    def test_they_are_read_again_where_an_object_has_no_version(self):
        # It may be older than versioning, and adopted by a daemon meanwhile.
        self.rows = None
        self.assertEqual([None] * 3, [self.get() for _ in range(3)])
        self.assertEqual(3, self.reads)

    def test_after_a_write_they_are_read_again(self):
        self.get()
        self.rows = entry(1)
        self.cache.forget('o')
        self.assertEqual(entry(1), self.get())

    def test_what_was_read_while_another_wrote_is_not_kept(self):
        # The rows are read, then written, and what was read is kept last.
        def read_before_a_write():
            found = self.read()
            self.rows = entry(1)
            self.cache.forget('o')
            return found
        for held in (False, True):
            with self.subTest(generation_was_held=held):
                self.memcache.held.clear()
                if held:
                    self.cache.forget('o')
                self.rows = entry()
                self.assertEqual(entry(), self.get(read=read_before_a_write))
                self.assertEqual(entry(1), self.get())

    def test_what_memcache_loses_makes_nothing_old_good_again(self):
        self.get()
        old = dict(self.memcache.held)
        self.rows = entry(1)
        # It loses the generation, which the write makes anew.
        del self.memcache.held[KEY]
        self.cache.forget('o')
        self.assertNotEqual(old[KEY], self.memcache.held[KEY])
        self.assertEqual(entry(1), self.get())
        # And it is lost before a reader makes it anew.
        self.rows = entry(2)
        self.cache.forget('o')
        del self.memcache.held[KEY]
        self.assertEqual(entry(2), self.get())

    def test_without_memcache_rows_are_read(self):
        self.get()
        self.memcache.is_down = True
        self.rows = entry(1)
        self.cache.forget('o')
        self.assertEqual([entry(1)] * 2, [self.get(), self.get()])

    def test_where_it_is_off_memcache_is_not_asked(self):
        for cache in (self.made('c', 0, 0), LatestCache(None, 'a', 'c', 9, 9)):
            for _ in range(2):
                self.get(cache)
            cache.forget('o')
        self.assertEqual(4, self.reads)
        self.assertEqual({}, self.memcache.held)

    def test_each_object_has_its_own(self):
        self.get()
        self.assertIsNone(self.get(self.made('c2'), lambda: None))
        self.assertEqual(entry(obj='p'), self.get(
            obj='p', read=lambda: entry(obj='p')))
        self.assertEqual(entry(), self.get())

    def test_what_was_written_is_a_hint_only(self):
        for seconds in (0, 10):
            with self.subTest(sure_seconds=seconds):
                cache = self.made('c', sure_seconds=seconds)
                cache.keep('o', entry(2))
                cache.forget('o')
                hint = cache.hint('o')
                self.assertTrue(hint.is_right(entry(2)))
                self.assertFalse(hint.is_right(entry(1)))
                self.assertFalse(hint.is_sure)

    def test_a_hint_is_kept_anew_only_if_it_was_wrong(self):
        cache = self.made('c', sure_seconds=0)
        self.assertFalse(cache.hint('o').known)
        for each in (entry(), entry(1), entry(1, deleted=True),
                     entry(1, null=True), None):
            with self.subTest(entry=each):
                hint = cache.hint('o')
                self.assertFalse(hint.is_right(each))
                cache.keep('o', each, hint)
                hint = cache.hint('o')
                self.assertTrue(hint.is_right(each))
                with mock.patch.object(self.memcache, 'set_multi') as kept:
                    cache.keep('o', each, hint)
                self.assertEqual([], kept.mock_calls)
        cache.forget('o')
        self.assertEqual([VALUE_KEY], list(self.memcache.held))

    def test_no_name_is_taken_for_another(self):
        names = ('o', 'o/latest', 'latest/o')
        for name in names:
            self.cache.keep(name, entry(obj=name))
            self.cache.forget(name)
        for name in names:
            self.assertTrue(self.cache.hint(name).is_right(entry(obj=name)))
        self.assertEqual(2 * len(names), len(self.memcache.held))

    def test_what_is_no_hint_is_none(self):
        for held in (1, 'x', [], [None], [1, 2], [None, ['x'] * 5],
                     [None, ['1', 'a', False]], {'a': 1}):
            for seconds in (0, 10):
                with self.subTest(held=held, sure_seconds=seconds):
                    self.memcache.held[VALUE_KEY] = json.dumps(held)
                    cache = self.made('c', sure_seconds=seconds)
                    self.assertFalse(cache.hint('o').known)

    def test_without_hints_there_is_the_truth_or_nothing(self):
        cache = self.made('c', 0, 10)
        cache.keep('o', entry())
        self.assertEqual({}, self.memcache.held)
        self.get(cache)
        self.assertTrue(cache.hint('o').is_sure)
        cache.forget('o')
        self.assertFalse(cache.hint('o').known)
