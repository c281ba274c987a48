# SPDX-License-Identifier: Apache-2.0
"""Tests of stamps, clocks, vectors, names and rows: the core, no I/O."""

import unittest
from dataclasses import replace
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st
from swift.common.utils import Timestamp

from swift_lightsync.versioning.core.heads import (
    Held,
    is_listed_right,
    listing_after,
    lookups,
    planned,
    purge_rows,
)
from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    LIFE,
    VERSIONS,
    Entry,
    Kind,
    Row,
    VersionName,
    entry_of,
    hidden_container,
    listed_of,
    listing_name,
    listing_row,
    parameters_of,
    parse_purge,
    parse_version,
    purge_name,
    purge_record,
    row_of,
    user_container,
    version_name,
    versions_of,
    with_parameters,
)
from swift_lightsync.versioning.core.stamp import (
    END_OF_TIME,
    MAX_SITES,
    OFFSETS,
    ClockAhead,
    SiteClock,
    Stamp,
    offset_of,
)
from swift_lightsync.versioning.core.verb import (
    Answer,
    Page,
    Request,
    Shard,
    WireRow,
)
from swift_lightsync.versioning.core.version import Vector, Version, frontier
from swift_lightsync.versioning.rows import views
from swift_lightsync.versioning.rows.views import View
from swift_lightsync.versioning.sites.options import SiteOptions

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
        with self.assertRaisesRegex(ValueError, 'rank of a site is 32'):
            offset_of(MAX_SITES, 0)

    @given(stamps, st.integers(0, MAX_SITES - 1), st.integers(0, 10 ** 12),
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

    @given(st.floats(0, 2e9), st.integers(0, 2 * T))
    def test_ticks_are_after_what_they_have_to_exceed(self, now, ticks):
        after = Stamp(ticks, OFFSETS - 1)
        tick = SiteClock(0, 60, lambda: 5).tick(now, after)
        self.assertGreater(tick, after)
        self.assertEqual(max(int(now * 100000), ticks + 1), tick.ticks)

    def test_it_is_the_wall_clock_and_remembers_nothing(self):
        clock = SiteClock(3, 60, lambda: 5)
        self.assertEqual(Stamp(150000, offset_of(3, 5)), clock.tick(1.5))
        clock.tick(1.5, Stamp(10 ** 9))
        self.assertEqual(Stamp(150000, offset_of(3, 5)), clock.tick(1.5))

    def test_no_two_stamps_are_alike(self):
        clock = SiteOptions('rome', ('rome',), '').clock(60)
        self.assertEqual(100, len({clock.tick(1) for _ in range(100)}))

    def test_a_stamp_from_too_far_ahead_is_refused(self):
        clock = SiteClock(0, 60, lambda: 5)
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

    @given(st.lists(versions, min_size=1, max_size=8))
    def test_there_is_one_of_each_site_at_most_and_one_at_least(self, made):
        members = [version.site for version in frontier(made)]
        self.assertGreaterEqual(len(members), 1)
        self.assertEqual(len(set(members)), len(members))

    def test_of_nothing_there_is_nothing(self):
        self.assertEqual([], frontier([]))


class TestNames(unittest.TestCase):

    @given(texts, stamps)
    def test_names_and_back(self, name, stamp):
        found = VersionName(name, stamp)
        version = version_name(name, stamp)
        self.assertEqual(found, parse_version(version))
        self.assertTrue(version.startswith(versions_of(name)))
        self.assertTrue(version.startswith(VERSIONS))
        self.assertEqual(found, parse_purge(
            purge_name(name, stamp)))
        self.assertEqual('\0A\0' + name, listing_name(name))

    @given(st.lists(st.tuples(texts, stamps), unique=True))
    def test_they_are_by_object_and_the_newest_is_the_first(self, made):
        self.assertEqual(
            sorted(version_name(*each) for each in made),
            [version_name(*each) for each in sorted(
                made, key=lambda each: (each[0], each[1].inverted))])

    def test_other_names_are_refused(self):
        for name in ('o', '\0v\0o', '\0V\0o', '\0V\0o\0x', '\0V\0o\0x\0y',
                     'V\0o\0' + str(Stamp(1)), LIFE):
            for parse in (parse_version, parse_purge):
                with self.assertRaises(ValueError):
                    parse(name)

    def test_the_hidden_container(self):
        self.assertEqual('c/ü', user_container(
            hidden_container('c/ü')))
        with self.assertRaisesRegex(ValueError, 'name of a row'):
            user_container('c')


def entry(ticks=0, deleted=False, site=('south', 1), vector=None, **fields):
    name, rank = site
    stamp = Stamp(T + ticks, offset_of(rank, 7))
    if vector is None:
        vector = Vector({name: stamp})
    version = Version(stamp, name, vector or Vector(), deleted)
    return Entry('o', version, **dict({
        'size': 0 if deleted else 9, 'etag': 'abc', 'content_type':
        DELETE_MARKER if deleted else 'text/plain'}, **fields))


class TestRowsOfVersions(unittest.TestCase):

    def test_of_every_kind_there_and_back(self):
        for each, kind in (
                (entry(), Kind.DATA), (entry(null=True), Kind.DATA),
                (entry(changed=Stamp(T + 77)), Kind.DATA),
                (entry(deleted=True), Kind.DELETE)):
            row = row_of(each)
            self.assertEqual(each, entry_of(row))
            self.assertEqual(each, entry_of(WireRow.of(row).row))
            self.assertEqual(kind, each.kind)

    def test_a_purge_has_no_size_and_the_stamp_of_the_purge(self):
        gone = replace(entry(), purged=Stamp(T + 5))
        for row in (row_of(gone), purge_record(gone)):
            found = entry_of(row)
            self.assertEqual(
                (0, Stamp(T + 5), Kind.PURGE, gone.version), (
                    row.size, found.purged, found.kind, found.version))
        self.assertTrue(row_of(gone).deleted)
        self.assertFalse(purge_record(gone).deleted)

    def test_data_has_the_name_of_the_row(self):
        self.assertEqual(row_of(entry()).name, entry().data_name)

    def test_a_row_without_a_site_is_refused(self):
        with self.assertRaisesRegex(ValueError, 'name of a site'):
            entry_of(Row(version_name('o', Stamp(1)), Stamp(1),
                         etag='abc'))

    def test_parameters_beside_those_of_others(self):
        etag = with_parameters('abc; s3_etag=x', b='ü; =', a=1, c='')
        self.assertEqual('abc; s3_etag=x; sv_a=1; sv_b=%C3%BC%3B%20%3D', etag)
        self.assertEqual(('abc; s3_etag=x', {'a': '1', 'b': 'ü; ='}),
                         parameters_of(etag))


class TestListingRows(unittest.TestCase):

    def test_they_show_the_latest_and_count_its_bytes_elsewhere(self):
        for each in (entry(), entry(null=True)):
            row = listing_row(each, 'o', Stamp(T + 9))
            found = listed_of(row.etag)
            self.assertEqual((0, 9, each.version.id, each.null, 'abc'), (
                row.size, found.size, found.id, found.null, found.etag))
        self.assertTrue(listing_row(entry(deleted=True), 'o',
                                    Stamp(T)).deleted)
        self.assertIsNone(listed_of(listing_row(None, 'o', Stamp(T)).etag))

    def after(self, known, head):
        return listing_after(known, head and row_of(head), 'o',
                             Stamp(T + 50, 7))

    def test_it_has_the_id_of_a_head_that_is_newer(self):
        first = self.after(None, entry())
        for known in (None, first):
            self.assertEqual(entry(2).version.id,
                             self.after(known, entry(2)).stamp)

    def test_a_head_that_is_older_moves_it_less_than_a_write_under_way(self):
        known = self.after(None, entry(5))
        moved = self.after(known, entry(4))
        self.assertEqual(entry(4).version.id, listed_of(moved.etag).id)
        self.assertLess(known.stamp, moved.stamp)
        self.assertLess(moved.stamp, entry(6).version.id)
        gone = self.after(moved, None)
        self.assertTrue(gone.deleted)
        self.assertLess(moved.stamp, gone.stamp)
        self.assertLess(gone.stamp, entry(6).version.id)

    def test_one_that_is_right_is_left(self):
        known = self.after(None, entry(5))
        self.assertIsNone(self.after(known, entry(5)))
        self.assertTrue(is_listed_right(known, row_of(entry(5)), 'o'))
        self.assertFalse(is_listed_right(known, row_of(entry(6)), 'o'))
        self.assertIsNone(self.after(None, None))

    def test_revisions_of_one_row_differ(self):
        read = entry(5).version.id
        ticks = [Stamp(10 ** 14 + number, 1) for number in range(3)]
        self.assertEqual(3, len({read.revised(tick) for tick in ticks}))
        again = read.revised(ticks[0]).revised(ticks[0])
        self.assertLess(max(read.revised(tick) for tick in ticks), again)

    def test_a_stamp_that_has_no_more_revisions_gives_way_to_a_new_one(self):
        tick = Stamp(8)
        last = Stamp(7, OFFSETS - 1)
        self.assertEqual(tick, last.revised(tick))
        before = Stamp(7, last.offset - (1 << 40))
        self.assertEqual((7, last.offset >> 40), (
            before.revised(tick).ticks, before.revised(tick).offset >> 40))


class TestPlans(unittest.TestCase):

    def plan(self, held, *rows, listed=True):
        return planned(Held(
            [row for row in held if row.name.startswith(VERSIONS) and
             not row.deleted],
            {row.name: row for row in held
             if row.name in lookups('o', rows)}), 'o', rows, listed,
            Stamp(T + 90, 7))

    def test_what_is_known_is_not_taken_again(self):
        row = row_of(entry())
        first = self.plan([], row)
        again = self.plan(first.rows, row)
        self.assertEqual(((), first.head, first.head), (
            again.rows, again.before, again.head))

    def test_a_version_has_its_vector_whatever_its_replica_holds(self):
        seen = entry(site=('west', 1))
        made = entry(5, vector=False)
        head = entry_of(self.plan([row_of(seen)], row_of(made)).head)
        self.assertEqual(Vector({'west': seen.version.id,
                                 'south': made.version.id}),
                         head.version.vector)
        # One that has a vector has it already.
        given = entry(5)
        self.assertEqual(given, entry_of(self.plan(
            [row_of(seen)], row_of(given)).head))

    def test_a_purge_exceeds_its_version_whatever_the_clock_says(self):
        for stamp in None, Stamp(T - 80):
            row, = purge_rows(entry(), stamp, False)
            self.assertGreater(row.stamp, row_of(entry()).stamp)

    def test_a_purge_and_its_version_in_any_order(self):
        row = row_of(entry())
        gone = purge_rows(entry(), Stamp(T + 80, 7), True)
        self.assertEqual(2, len(gone))
        self.assertIsNone(self.plan(self.plan([], row).rows, *gone).head)
        self.assertIsNone(self.plan(self.plan([], *gone).rows, row).head)
        # The deleted row may be reclaimed long before the record.
        self.assertEqual((), self.plan(gone[1:], row).rows)


class TestViews(unittest.TestCase):
    """What replicas say together."""

    def view(self, names, truncated=False, ticks=0, deleted=False):
        return View(page=list(
            Row('\0X' + name, Stamp(T + ticks), deleted=deleted)
            for name in names), truncated=truncated)

    def names(self, page):
        return ''.join(row.name[2:] for row in page)

    def test_nothing_is_said_of_what_is_past_a_truncated_page(self):
        whole = views.united([self.view('abd', True),
                              self.view('cef', True)], Page(limit=3))
        self.assertEqual(('abcd', True), (self.names(whole.page),
                                          whole.truncated))
        whole = views.united([self.view('dba', True),
                              self.view('fec', True)],
                             Page(limit=3, reverse=True))
        self.assertEqual('fedc', self.names(whole.page))

    def test_what_one_lacks_or_has_older_is_disputed(self):
        old = self.view('ac', True)
        new = self.view('abcd', ticks=1)
        self.assertEqual(['\0Xa', '\0Xb', '\0Xc'],
                         views.disputed([old, new], Page(limit=2)))
        self.assertEqual([], views.disputed([new, new], Page()))

    def test_a_request_gives_the_newest_row_and_asks_of_its_purge(self):
        old, new = row_of(entry()), row_of(replace(
            entry(), changed=Stamp(T + 9)))
        request = views.mending(Request('o', listed=True, clock=5.0),
                                [View(head_row=old), View(head_row=new)])
        self.assertEqual(
            ((WireRow.of(new),), (new.name, purge_name(
                'o', entry().version.id)), True, None),
            (request.rows, request.names, request.listed, request.clock))
        self.assertIsNone(views.mending(Request('o'), [
            View(head_row=new), View(head_row=new)]))

    def test_rows_that_differ_in_their_vectors_alone_are_joined(self):
        rows = [row_of(entry(vector=Vector({'south': entry().version.id,
                                            site: Stamp(T)})))
                for site in ('north', 'west')]
        heads = [View(head_row=row) for row in rows]
        self.assertIsNone(views.mending(Request('o'), heads))
        for order in permutations(heads):
            head = views.united(order, None).head
            self.assertEqual(['north', 'south', 'west'], [
                site for site, _ in head.version.vector])

    def test_a_shard_has_the_names_after_one_up_to_another(self):
        shard = Shard('a/x', 'b', 'd')
        self.assertEqual([False, True, True, False], [
            views.covers(shard, name) for name in ('b', 'b\0', 'd', 'd\0')])
        self.assertTrue(views.covers(Shard('a/x', '', ''), 'z'))

    def test_a_container_is_no_shard_of_itself(self):
        answer = Answer(shards=(Shard('a/x', '', 'm'), Shard('a/y', '', 'c')))
        self.assertEqual(['a/y'], [shard.name for shard in views.shards_of(
            [answer, answer], ('a', 'x'))])
