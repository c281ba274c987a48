# SPDX-License-Identifier: Apache-2.0
"""Tests of stamps, clocks, vectors, names and rows: the core, no I/O."""

import unittest
from dataclasses import replace
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st
from swift.common.utils import Timestamp

from swift_lightsync.versioning.core import keys
from swift_lightsync.versioning.core.clock import ClockAhead, HybridClock
from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    Entry,
    Kind,
    Pointer,
    Row,
    entry_of,
    history_row,
    latest_row,
    listed_entry,
    null_of,
    parameters_of,
    pointer_of,
    row_of,
    with_parameters,
)
from swift_lightsync.versioning.core.stamp import (
    END_OF_TIME,
    MAX_SITES,
    OFFSETS,
    Stamp,
    offset_of,
)
from swift_lightsync.versioning.core.version import (
    Vector,
    Version,
    frontier,
    latest,
)
from swift_lightsync.versioning.rows import row_wire

T = 170000000000000
stamps = st.builds(Stamp, st.integers(0, END_OF_TIME - 1),
                   st.integers(0, OFFSETS - 1))
sites = st.sampled_from(['north', 'south', 'west', '0-x'])
vectors = st.dictionaries(sites, stamps).map(Vector)
versions = st.builds(Version, stamps, sites, vectors, st.booleans())
texts = st.text(st.characters(min_codepoint=1, exclude_categories=['Cs']),
                min_size=1, max_size=9)


class TestStamp(unittest.TestCase):

    @given(stamps)
    def test_its_text_is_swift_s_internal_timestamp(self, stamp):
        self.assertEqual(stamp, Stamp.parse(str(stamp)))
        self.assertEqual(str(stamp), Timestamp(str(stamp)).internal)

    @given(stamps, stamps)
    def test_texts_are_in_its_order_and_inverted_in_the_other(self, a, b):
        self.assertEqual(a < b, Timestamp(str(a)) < Timestamp(str(b)))
        self.assertEqual(a < b, str(a) < str(b))
        self.assertEqual(a < b, str(b.inverted) < str(a.inverted))
        self.assertEqual(a, a.inverted.inverted)

    def test_what_is_no_stamp_is_refused(self):
        for text in ('', '1', '1700000000.1', '1700000000.00000_1',
                     '1700000000.00000_000000000000000G',
                     '1700000000.00000\n', ' 1700000000.00000',
                     '\u0661700000000.00000'):
            with self.assertRaisesRegex(ValueError, 'a stamp is'):
                Stamp.parse(text)
        for ticks, offset in ((-1, 0), (END_OF_TIME, 0), (0, -1),
                              (0, OFFSETS)):
            with self.assertRaisesRegex(ValueError, 'must be 0 to'):
                Stamp(ticks, offset)

    def test_the_preferred_site_is_greater_at_equal_times(self):
        made = [Stamp(T, offset_of(rank, 7)) for rank in range(MAX_SITES)]
        self.assertEqual(made[::-1], sorted(made))
        self.assertEqual(list(range(MAX_SITES)),
                         [stamp.rank for stamp in made])
        with self.assertRaisesRegex(ValueError, 'rank of a site is 256'):
            offset_of(MAX_SITES, 0)

    @given(stamps, st.integers(0, 255), st.integers(0, 10 ** 12),
           st.integers(1, 10 ** 9))
    def test_changes_are_between_the_id_and_any_purge(self, nonce, rank,
                                                      later, more):
        made = Stamp(T, offset_of(rank, nonce.ticks))
        first, second = (made.changed(Stamp(T + ticks, nonce.offset))
                         for ticks in (later, later + more))
        self.assertLess(made, first)
        self.assertLess(first, second)
        self.assertLess(second, Stamp(T + 1))
        self.assertEqual(Stamp(T + later), made.change(first))

    def test_an_id_or_a_purge_is_no_change(self):
        made = Stamp(T, offset_of(0, 0xffffffff))
        self.assertIsNone(made.change(made))
        self.assertIsNone(made.change(Stamp(T + 1, 1 << 41)))


class TestClock(unittest.TestCase):

    @given(st.lists(st.one_of(st.floats(0, 2e9), st.integers(0, 2 * T))))
    def test_ticks_grow_and_are_after_all_that_was_seen(self, steps):
        clock, seen = HybridClock(5, 60), Stamp(0)
        for step in steps:
            if isinstance(step, int):
                clock.follow(Stamp(step, 9))
                seen = max(seen, Stamp(step, 9))
            else:
                tick = clock.tick(step)
                self.assertGreater(tick, seen)
                seen = tick

    def test_it_is_the_wall_clock_where_that_is_ahead(self):
        self.assertEqual(Stamp(150000, 5), HybridClock(5, 60).tick(1.5))

    def test_a_stamp_from_too_far_ahead_is_refused(self):
        clock = HybridClock(0, 60)
        clock.check(Stamp(160 * 100000), 100)
        with self.assertRaisesRegex(ClockAhead, '60.001.* at most 60 s'):
            clock.check(Stamp(160 * 100000 + 100), 100)


class TestVectors(unittest.TestCase):

    @given(vectors)
    def test_text_and_back(self, vector):
        self.assertEqual(vector, Vector.parse(str(vector)))
        self.assertIn(str(vector), repr(vector))

    def test_what_is_no_vector_is_refused(self):
        a, b = 'a:1700000000.00001', 'b:1700000000.00001'
        self.assertEqual(2, len(Vector.parse(a + ',' + b)))
        for text in (b + ',' + a, a + ',' + a, 'a', ',' + a, 'A' + a, a + ','):
            with self.assertRaises(ValueError):
                Vector.parse(text)

    @given(vectors, vectors, vectors)
    def test_joining_keeps_the_newest_of_each_site(self, a, b, c):
        self.assertEqual(a.joined(b, c), c.joined(a).joined(b))
        for vector in (a, b):
            for site, stamp in vector:
                self.assertTrue(a.joined(b).covers(site, stamp))


class TestFrontier(unittest.TestCase):

    @given(st.lists(versions, max_size=4,
                    unique_by=lambda version: version.id))
    def test_it_does_not_depend_on_the_order(self, made):
        self.assertEqual(1, len({
            tuple(frontier(order)) for order in permutations(made)}))
        self.assertEqual(1, len({
            latest(order) for order in permutations(made)}))

    @given(st.lists(versions, min_size=1, max_size=8))
    def test_there_is_one_of_each_site_at_most_and_one_at_least(self, made):
        members = [version.site for version in frontier(made)]
        self.assertGreaterEqual(len(members), 1)
        self.assertEqual(len(set(members)), len(members))

    def test_of_nothing_there_is_nothing(self):
        self.assertEqual(([], None), (frontier([]), latest([])))


class TestNames(unittest.TestCase):

    @given(texts, stamps, sites)
    def test_places_and_back(self, name, stamp, site):
        version = Version(stamp, site, Vector())
        self.assertEqual(keys.Place(name, stamp), keys.WriteRepairKeys.parse(
            keys.WriteRepairKeys.version(name, version)))
        self.assertEqual(
            keys.Place(name, stamp, site), keys.ReadRepairKeys.parse(
                keys.ReadRepairKeys.version(name, version)))

    def test_other_names_are_refused(self):
        for name in ('o', '\0v\0o', '\0V\0o', '\0V\0o\0x', '\0R\0o\0x\0y',
                     'V\0o\0' + str(Stamp(1))):
            with self.assertRaises(ValueError):
                keys.WriteRepairKeys.parse(name)
            with self.assertRaises(ValueError):
                keys.ReadRepairKeys.parse(name)

    def test_the_hidden_container(self):
        self.assertEqual('c/ü', keys.user_container(
            keys.hidden_container('c/ü')))
        with self.assertRaisesRegex(ValueError, 'name of a row'):
            keys.user_container('c')


def entry(ticks=0, deleted=False, **fields):
    version = Version.after(
        (), Stamp(T + ticks, offset_of(1, 7)), 'south', deleted)
    return Entry('o', version, **dict({
        'size': 0 if deleted else 9, 'etag': 'abc', 'content_type':
        DELETE_MARKER if deleted else 'text/plain'}, **fields))


class TestRowsOfVersions(unittest.TestCase):

    def test_of_every_kind_there_and_back(self):
        for each, kind in (
                (entry(), Kind.DATA), (entry(plain=True), Kind.DATA),
                (entry(changed=Stamp(T + 77)), Kind.DATA),
                (entry(deleted=True), Kind.DELETE)):
            row = row_of(each, 'name')
            place = keys.Place('o', each.version.id)
            self.assertEqual(each, entry_of(row, place))
            self.assertEqual(kind, each.kind)

    def test_a_purge_has_no_size_and_the_stamp_of_the_purge(self):
        gone = replace(entry(), purged=Stamp(T + 5))
        row = row_of(gone, 'name')
        found = entry_of(row, keys.Place('o', gone.version.id))
        self.assertEqual((0, Stamp(T + 5), Kind.PURGE, gone.version), (
            row.size, found.purged, found.kind, found.version))

    def test_a_row_without_a_site_is_refused(self):
        with self.assertRaisesRegex(ValueError, 'name of a site'):
            entry_of(Row('x', Stamp(1), etag='abc'), keys.Place('o',
                                                                Stamp(1)))

    def test_parameters_beside_those_of_others(self):
        etag = with_parameters('abc; s3_etag=x', b='ü; =', a=1, c='')
        self.assertEqual('abc; s3_etag=x; sv_a=1; sv_b=%C3%BC%3B%20%3D', etag)
        self.assertEqual(('abc; s3_etag=x', {'a': '1', 'b': 'ü; ='}),
                         parameters_of(etag))


class TestPointers(unittest.TestCase):

    def test_there_and_back(self):
        for each in (entry(), entry(plain=True), entry(deleted=True)):
            other = Version.after((), Stamp(T - 5), 'north')
            pointer = Pointer(Stamp(T + 9), each, (each.version, other))
            self.assertEqual(pointer, pointer_of(
                history_row('name', pointer), 'o'))

    def test_of_nothing_left(self):
        pointer = Pointer(Stamp(T + 9))
        self.assertEqual(pointer, pointer_of(
            history_row('name', pointer), 'o'))
        self.assertTrue(latest_row(pointer, 'o').deleted)

    def test_a_frontier_that_is_damaged_is_refused(self):
        good = history_row('name', Pointer(
            Stamp(T), entry(), (entry().version,)))
        for old, new in (('sv_frontier', 'sv_x'), ('%2Fp', '%2Fq'),
                         ('sv_id=17', 'sv_id=18')):
            self.assertIn(old, good.etag)
            with self.assertRaises(ValueError):
                pointer_of(replace(good, etag=good.etag.replace(old, new)),
                           'o')

    def test_listings_show_the_latest_and_count_its_bytes_elsewhere(self):
        for each in (entry(), entry(plain=True)):
            row = latest_row(Pointer(Stamp(T + 9), each), 'o')
            found = listed_entry(row)
            self.assertEqual((0, 9, each.version.id, each.plain, 'abc'), (
                row.size, found.size, found.version.id, found.plain,
                found.etag))
            self.assertIsNone(null_of(row, 'north'))
        self.assertTrue(latest_row(
            Pointer(Stamp(T + 9), entry(deleted=True)), 'o').deleted)

    def test_rows_of_others_are_null_versions(self):
        row = Row('o', Stamp(T), 3, 'text/plain', 'abc')
        null = null_of(row, 'north')
        self.assertEqual((True, Stamp(T), 'north', 3),
                         (null.plain, null.version.id, null.version.site,
                          null.size))
        self.assertIsNone(listed_entry(row))


class TestUniting(unittest.TestCase):

    def page(self, names, truncated=False, ticks=0):
        return row_wire.Page(tuple(
            Row(name, Stamp(T + ticks)) for name in names), truncated)

    def names(self, page):
        return ''.join(row.name for row in page.rows)

    def test_nothing_is_said_of_what_is_past_a_truncated_page(self):
        whole = row_wire.united(
            [self.page('abd', True), self.page('cef', True)], 9, False)
        self.assertEqual(('abcd', True), (self.names(whole),
                                          whole.truncated))
        whole = row_wire.united(
            [self.page('dba', True), self.page('fec', True)], 9, True)
        self.assertEqual('fedc', self.names(whole))

    def test_what_a_replica_missed_is_what_it_should_have(self):
        old, new = self.page('ac', True), self.page('abcd', ticks=1)
        whole = row_wire.united([old, new], 9, False)
        self.assertEqual('abc', self.names(whole))
        self.assertEqual(list(new.rows[:3]),
                         row_wire.missed(old, whole, False))
        self.assertEqual([], row_wire.missed(new, whole, False))

    def test_equal_stamps_are_decided_alike_in_any_order(self):
        rows = [Row('a', Stamp(T), etag=etag) for etag in 'xyz']
        self.assertEqual({'z'}, {
            row_wire.newest(order)['a'].etag for order in permutations(rows)})
