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

import json
import unittest
from unittest import mock

from swift.common.memcached import MemcacheConnectionError

from swift_lightsync.versioning import middleware
from swift_lightsync.versioning.latest_cache import LatestCache
from swift_lightsync.versioning.rowdata import Entry
from swift_lightsync.versioning.rows import RowsUnavailable
from swift_lightsync.versioning.stamp import Stamp
from swift_lightsync.versioning.version import Vector, Version
from tests.unit.sync.fixtures import SwiftTestCase
from tests.unit.versioning.fakes import MemoryRows
from tests.unit.versioning.object_case import ObjectCase

T = 170000000000000
KEY = 'site-versions/a/c/o'


class MemoryCache:
    """What is used of a ``MemcacheRing``, in a dict; as text, as there."""

    def __init__(self):
        self.held = {}
        self.is_down = False

    def incr(self, key, delta=1, time=0):
        if self.is_down:
            raise MemcacheConnectionError('down')
        value = int(self.held.get(key, 0)) + delta
        self.held[key] = str(value)
        return value

    def set_multi(self, mapping, server_key, time=0):
        if not self.is_down:
            self.held.update((key, json.dumps(value))
                             for key, value in mapping.items())

    def get_multi(self, keys, server_key):
        if self.is_down:
            return None
        return [json.loads(self.held[key]) if key in self.held else None
                for key in keys]


def entry(ticks=0, obj='o', **fields):
    return Entry(obj, Version(Stamp(T + ticks, 7), 'north', Vector(),
                              fields.pop('deleted', False)), **fields)


class TestLatestCache(unittest.TestCase):

    def setUp(self):
        self.memcache = MemoryCache()
        self.cache = LatestCache(self.memcache, 'a', 'c', 10)
        self.rows = entry()
        self.reads = 0

    def read(self, obj):
        self.assertEqual('o', obj)
        self.reads += 1
        return self.rows

    def get(self):
        return self.cache.get('o', self.read)

    def test_rows_are_read_once(self):
        for each in (entry(), entry(deleted=True), entry(plain=True), None):
            with self.subTest(entry=each):
                self.rows, self.reads = each, 0
                self.cache.forget('o')
                self.assertEqual([each] * 3, [self.get() for _ in range(3)])
                self.assertEqual(1, self.reads)

    def test_after_a_write_they_are_read_again(self):
        self.get()
        self.rows = entry(1)
        self.cache.forget('o')
        self.assertEqual(entry(1), self.get())

    def test_what_was_read_while_another_wrote_is_not_kept(self):
        # The rows are read, then written, and what was read is kept last.
        def read_before_a_write(obj):
            found = self.read(obj)
            self.rows = entry(1)
            self.cache.forget('o')
            return found
        for held in (False, True):
            with self.subTest(generation_was_held=held):
                self.memcache.held.clear()
                if held:
                    self.cache.forget('o')
                self.rows = entry()
                self.assertEqual(entry(),
                                 self.cache.get('o', read_before_a_write))
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
        for memcache, seconds in ((self.memcache, 0), (None, 10)):
            cache = LatestCache(memcache, 'a', 'c', seconds)
            for _ in range(2):
                cache.get('o', self.read)
            cache.forget('o')
        self.assertEqual(4, self.reads)
        self.assertEqual({}, self.memcache.held)

    def test_each_object_has_its_own(self):
        self.get()
        other = LatestCache(self.memcache, 'a', 'c2', 10)
        self.assertIsNone(other.get('o', lambda obj: None))
        self.assertEqual(entry(obj='p'), self.cache.get(
            'p', lambda obj: entry(obj=obj)))
        self.assertEqual(entry(), self.get())


class LatestCase(ObjectCase):
    """The filter with such a cache."""

    options = {'latest_cache_time': '10'}

    def setUp(self):
        super().setUp()
        patcher = mock.patch.object(middleware, 'cache_from_env',
                                    lambda env, memcache=MemoryCache():
                                    memcache)
        patcher.start()
        self.addCleanup(patcher.stop)
        self.reads = 0
        self.ask.proxy.rows['c'].gate = self._count

    def _count(self):
        self.reads += 1

    def cached(self, method='GET', **headers):
        """:returns: (body, gates of the rows that it passed)"""
        before = self.reads
        resp = self.ask(method, 'c/o', headers)
        body = resp.body if resp.status_int == 200 else resp.status_int
        return body, self.reads - before

    def put(self, body):
        return self.ask.put('o', body)

    def test_the_latest_is_read_without_rows(self):
        self.put('one')
        self.assertEqual([(b'one', 1), (b'one', 0), (b'one', 0)],
                         [self.cached() for _ in range(3)])
        self.assertEqual((b'', 0), self.cached('HEAD'))

    def test_the_newest_is_asked_of_the_rows(self):
        self.put('one')
        self.cached()
        self.assertEqual((b'one', 1), self.cached(**{'X-Newest': 'true'}))

    def test_each_kind_of_write_is_seen_at_once(self):
        first = self.put('one')
        self.assertEqual(b'one', self.cached()[0])
        second = self.put('two')
        self.assertEqual(b'two', self.cached()[0])
        self.ask('PUT', 'c/o', query='version-id=' + first)
        self.assertEqual(b'one', self.cached()[0])
        self.ask('DELETE', 'c/o', query='version-id=' + second)
        self.assertEqual(b'one', self.cached()[0])
        self.ask('DELETE', 'c/o')
        self.assertEqual(404, self.cached()[0])
        self.put('three')
        self.assertEqual(b'three', self.cached()[0])
        self.suspend()
        self.ask('PUT', 'c/o', body='null')
        self.assertEqual(b'null', self.cached()[0])

    def test_it_says_which_version_as_without_a_cache(self):
        version = self.put('one')
        found = [self.ask('GET', 'c/o') for _ in range(2)]
        for resp in found:
            self.assertEqual(version, resp.headers['X-Object-Version-Id'])
            self.assertEqual('/v1/a/c/o?version-id=' + version,
                             resp.headers['Content-Location'])

    def test_a_write_that_failed_after_its_rows_is_seen(self):
        self.put('one')
        self.cached()
        rows = self.ask.proxy.rows['c']

        def write_and_fail(*args, **kwargs):
            MemoryRows.write(rows, *args, **kwargs)
            raise RowsUnavailable('/a/c', [201, 503, 503], 2)
        with mock.patch.object(rows, 'write', write_and_fail):
            self.assertEqual(503, self.status('PUT', body='two'))
        self.assertEqual(b'two', self.cached()[0])


class TestWriteRepair(LatestCase, SwiftTestCase):

    mode = 'write-repair'


class TestReadRepair(LatestCase, SwiftTestCase):

    mode = 'read-repair'


if __name__ == '__main__':
    unittest.main()
