# SPDX-License-Identifier: Apache-2.0
"""GETs through the filter, with a memcache that says what is the latest."""

from contextlib import contextmanager
from unittest import mock

from swift.common.concurrency import sleep
from swift.common.exceptions import ChunkReadTimeout, ShortReadError

from swift_lightsync.versioning.proxy import middleware, object_context
from swift_lightsync.versioning.rows.rows import RowsUnavailable
from tests.unit.versioning.memory import MemoryCache, MemoryRows
from tests.unit.versioning.object_case import ObjectCase
from tests.unit.versioning.strategy_case import of_both_modes


class CacheCase(ObjectCase):
    """The filter with a memcache."""

    def setUp(self):
        super().setUp()
        self.memcache = MemoryCache()
        patcher = mock.patch.object(middleware, 'cache_from_env',
                                    lambda env, _: self.memcache)
        patcher.start()
        self.addCleanup(patcher.stop)


@of_both_modes
class TestSure(CacheCase):
    """What memcache says is taken for the truth."""

    options = {'latest_cache_time': '10'}

    def setUp(self):
        super().setUp()
        self.reads = 0
        self.ask.proxy.rows['c'].gate = self._count

    def _count(self):
        self.reads += 1

    def cached(self, method='GET', **headers):
        """Return (body, gates of the rows that it passed)."""
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


@of_both_modes
class TestHint(CacheCase):
    """What memcache says is a hint."""

    def setUp(self):
        super().setUp()
        # Rows take their time.
        self.ask.proxy.rows['c'].gate = sleep

    def gets(self, method='GET', **headers):
        """Return (what was answered, how often data were asked for)."""
        before = len(self.ask.proxy.writes(method))
        resp = self.ask(method, 'c/o', headers)
        body = resp.body if resp.status_int == 200 else resp.status_int
        sleep()
        return body, len(self.ask.proxy.writes(method)) - before

    def put(self, body):
        return self.ask.put('o', body)

    def told(self, hints):
        """Let memcache say what it said once."""
        self.memcache.held = dict(hints)
        self.ask.filter.near.clear()

    def test_what_was_written_is_asked_for_beside_the_rows(self):
        self.put('one')
        rows = self.ask.proxy.rows['c']
        data = []

        def late():
            sleep()
            data.extend(self.ask.proxy.writes('GET'))
        rows.gate = late
        self.assertEqual((b'one', 1), self.gets())
        self.assertEqual(1, len(data))

    def test_a_hint_that_is_wrong_changes_no_answer(self):
        version = self.put('one')
        hints = {'one': dict(self.memcache.held), 'none': {}}
        self.put('two')
        hints['two'] = dict(self.memcache.held)
        self.ask('DELETE', 'c/o')
        hints['deleted'] = dict(self.memcache.held)
        steps = (
            (404, lambda: None), (b'three', lambda: self.put('three')),
            (b'one', lambda: self.ask('PUT', 'c/o',
                                      query='version-id=' + version)),
            (404, lambda: self.ask('DELETE', 'c/o')))
        for expected, step in steps:
            step()
            for name, held in hints.items():
                for method in ('GET', 'HEAD'):
                    with self.subTest(step=expected, hint=name,
                                      method=method):
                        self.told(held)
                        right = b'' if method == 'HEAD' and \
                            expected != 404 else expected
                        self.assertEqual(right, self.gets(method)[0])
                        # And it is right from now on.
                        self.assertEqual(
                            (right, int(expected != 404)),
                            self.gets(method))

    def test_a_hint_of_what_is_purged_changes_no_answer(self):
        self.put('one')
        version = self.put('two')
        held = dict(self.memcache.held)
        self.ask('DELETE', 'c/o', query='version-id=' + version)
        self.told(held)
        self.assertEqual((b'one', 2), self.gets())
        self.assertEqual((b'one', 1), self.gets())

    def test_a_hint_of_an_object_without_versions(self):
        self.assertEqual((404, 1), self.gets())
        hint = dict(self.memcache.held)
        self.put('one')
        self.told(hint)
        self.assertEqual((b'one', 2), self.gets())

    def test_what_is_asked_with_conditions_is_answered_as_without(self):
        self.put('one')
        held = dict(self.memcache.held)
        version = self.put('two')
        etag = self.ask('GET', 'c/o').headers['Etag']
        for hint in (held, dict(self.memcache.held)):
            self.told(hint)
            resp = self.ask('GET', 'c/o', {'If-None-Match': etag})
            self.assertEqual((304, version), (
                resp.status_int, resp.headers['X-Object-Version-Id']))

    def test_without_rows_there_is_no_answer(self):
        self.put('one')

        def unavailable():
            raise RowsUnavailable('/a/c', [503, 503, 0], 2)
        self.ask.proxy.rows['c'].gate = unavailable
        with self.dropped() as dropped:
            self.assertEqual(503, self.status('GET'))
        self.assertEqual([b'one'], dropped)

    def test_what_is_not_used_is_closed_and_harms_nobody(self):
        self.put('one')
        held = dict(self.memcache.held)
        self.put('two')
        for error in (None, ChunkReadTimeout(None), ShortReadError()):
            with self.subTest(error=error):
                self.told(held)
                with self.dropped(error) as dropped:
                    self.assertEqual(b'two', self.gets()[0])
                self.assertEqual([b'one'], dropped)

    @contextmanager
    def dropped(self, error=None):
        """:param error: what closing ends with
        :yields: a list of the bodies that are closed, complete at the end
        """
        bodies = []

        def close(resp):
            bodies.append(resp.body)
            if error:
                raise error
        with mock.patch.object(object_context, 'friendly_close', close):
            yield bodies
            sleep()

    def test_a_process_does_not_ask_memcache_of_what_it_has_just_seen(self):
        self.put('one')
        self.memcache.held.clear()
        self.assertEqual((b'one', 1), self.gets())
        # Another process writes.
        near = dict(self.ask.filter.near)
        self.put('two')
        self.ask.filter.near.update(near)
        self.assertEqual((b'two', 2), self.gets())
        self.assertEqual((b'two', 1), self.gets())

    def test_a_purge_leaves_a_hint_of_what_is_the_latest_then(self):
        self.put('one')
        version = self.put('two')
        self.ask('DELETE', 'c/o', query='version-id=' + version)
        self.assertEqual((b'one', 1), self.gets())
