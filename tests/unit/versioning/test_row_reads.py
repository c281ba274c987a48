# SPDX-License-Identifier: Apache-2.0
"""Rows are read from a majority, whose replicas are made to agree."""

from dataclasses import replace
from unittest import mock

from swift.common.swob import Response

from swift_lightsync.versioning.core.row_data import (
    Row,
    listing_name,
    row_of,
    version_name,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.verb import Page, Request
from swift_lightsync.versioning.rows import replicas, views
from swift_lightsync.versioning.rows.rows import RowsUnavailable
from tests.unit.sync.fixtures import wait_for
from tests.unit.versioning.rows_case import (
    RowsCase,
    T,
    entry,
    named,
    paged,
    row,
    writes,
)


class TestRead(RowsCase):

    def test_a_row_of_one_replica_of_the_majority_is_seen(self):
        # Two replicas have it; whichever two answer, one of them has.
        self.put_on(self.servers[:2], row('a'))
        for _down in self.each_majority():
            self.assertEqual([row('a')], self.rows.read(paged()).page)

    def test_a_stale_row_loses_and_is_repaired(self):
        self.put_on(self.servers, row('a'))
        new = row('a', 1, etag='new')
        self.put_on(self.servers[:2], new)
        self.servers[0].refuse()
        for request in (paged(), named(new)):
            told = self.rows.read(request)
            self.assertIn([new], (told.page, list(told.rows.values())))
        self.assertEqual(self.held_by(self.servers[1]),
                         self.held_by(self.servers[2]))

    def test_a_replica_that_lacks_a_row_is_given_it(self):
        self.put_on(self.servers[:1], row('a'))
        # It is asked last.
        self.north.app.error_limiter.limit(
            self.north.app.container_ring.nodes[1])
        with self.north.network.counted() as count:
            self.assertEqual([row('a')], self.rows.read(paged()).page)
        self.assertEqual(2, count.rounds)
        self.assertEqual(['\0X\0a'], self.names_on(self.servers[2]))

    def test_a_replica_that_missed_a_deletion_is_told_of_it(self):
        """What one has deleted is not what another has and it lacks."""
        old, lacking = row('a'), row('b')
        self.put_on(self.servers, old)
        self.put_on(self.servers[:1], row('a', 1, deleted=True), lacking)
        self.servers[2].refuse()
        self.assertEqual([lacking], self.rows.read(paged()).page)
        self.assertEqual(self.held_by(self.servers[0]),
                         self.held_by(self.servers[1]))

    def test_a_head_that_was_purged_is_none_whoever_missed_it(self):
        versions = [entry(ticks) for ticks in (0, 1)]
        for each in versions:
            self.put_on(self.servers, row_of(each), obj='o', listed=True)
        purge = Stamp(T + 9, 1)
        name = version_name('o', versions[1].version.id)
        for missed in self.servers:
            with self.subTest(self.servers.index(missed)):
                others = [each for each in self.servers
                          if each is not missed]
                self.put_on(others, Row(name, purge, etag='x; sv_site=a',
                                        deleted=True), obj='o', listed=True)
                for down in others:
                    down.refuse()
                    told = self.rows.read(Request('o', listed=True))
                    self.assertEqual(versions[0].version.id,
                                     told.head.version.id)
                    down.recover()
                self.assertTrue(self.held_by(missed)[name][1])

    def test_the_listing_row_follows_where_a_head_is_repaired(self):
        made = row_of(entry())
        self.put_on(self.servers[:1], made, obj='o', listed=True)
        self.servers[2].refuse()
        self.rows.read(Request('o', listed=True))
        self.assertIn(listing_name('o'), self.names_on(self.servers[1]))

    def test_a_purge_record_alone_deletes_a_version(self):
        """The deleted row is reclaimed, and then an old replica comes."""
        old = entry()
        self.put_on(self.servers[:1], row_of(old), obj='o')
        record = Row('\0P\0o\0%s' % old.version.id, Stamp(T + 9, 1),
                     content_type='application/x-purged;'
                     'swift_versions_purged=1', etag='abc; sv_site=north')
        self.put_on(self.servers[1:], record)
        for down in self.servers[1:]:
            down.refuse()
            self.assertIsNone(self.rows.read(Request('o')).head)
            self.assertEqual([], self.rows.read(
                paged(prefix='\0V\0')).page)
            down.recover()

    def test_a_request_is_one_round_and_asks_a_majority(self):
        self.rows.write(writes(row('a'), row('b')))
        wait_for(lambda: not self.north.network.under_way, 'all is answered')
        with self.north.network.counted() as count:
            told = self.rows.read(Request(
                'o', names=(row('a').name,), page=Page('\0X', limit=1,
                                                       reverse=True)))
        self.assertEqual((1, 2), (count.rounds, len(count.sent)))
        self.assertEqual(([row('b')], [row('a')]), (
            told.page, list(told.rows.values())))

    def test_another_is_asked_for_each_that_fails(self):
        self.rows.write(writes(row('a')))
        for down in self.servers:
            for spoil in 'refuse', 'fail':
                getattr(down, spoil)()
                with self.north.network.counted() as count:
                    self.assertEqual([row('a')],
                                     self.rows.read(paged()).page)
                self.assertIn(len(count.sent), (2, 3))
                down.recover()

    def test_one_that_fails_before_all_agree_is_made_up_for(self):
        self.put_on(self.servers[:2], row('a'))

        def spoil(req):
            if b'"rows":[{' in req.body:
                raise ConnectionRefusedError()
        self.servers[2].spoil = spoil
        for _random_majority in range(9):
            self.assertEqual([row('a')], self.rows.read(paged()).page)

    def test_another_is_asked_when_one_is_slow(self):
        self.rows.write(writes(row('a')))
        with mock.patch.object(replicas, 'SLOW', 0.01):
            for slow in self.servers:
                slow.stall()
                self.assertEqual([row('a')], self.rows.read(paged()).page)
                slow.recover()

    def test_slow_ones_are_waited_for_where_there_are_no_others(self):
        self.rows.write(writes(row('a')))
        for slow in self.servers:
            slow.stall(0.1)
        with mock.patch.object(replicas, 'SLOW', 0.01):
            self.assertEqual([row('a')], self.rows.read(paged()).page)

    def test_a_limited_node_is_asked_last(self):
        self.rows.write(writes(row('a')))
        wait_for(lambda: not self.north.network.under_way, 'all is answered')
        self.north.app.error_limiter.limit(
            self.north.app.container_ring.nodes[1])
        asked = []
        self.servers[1].spoil = asked.append
        for _ in range(20):
            self.rows.read(paged())
        self.assertEqual([], asked)
        self.servers[0].refuse()
        self.assertEqual([row('a')], self.rows.read(paged()).page)
        self.assertEqual(1, len(asked))

    def test_names_whose_last_character_has_no_next_one_are_read(self):
        for name in 'a\ud7ff', 'a\U0010ffff', '\U0010ffff':
            with self.subTest(name=ascii(name)):
                self.rows.write(writes(row('a'), row(name + 'x')))
                self.assertEqual({}, self.rows.read(named(row(name))).rows)
                self.rows.write(writes(row(name)))
                for request in (paged(prefix='\0X\0' + name, limit=1),
                                paged(prefix='\0X\0' + name,
                                      end_marker='\0X\0' + name + 'a')):
                    self.assertEqual([row(name)],
                                     self.rows.read(request).page)

    def test_bounds_limits_and_order(self):
        every = [row(name) for name in ('a', 'b', 'ba', 'bb', 'c', 'd')]
        self.rows.write(writes(*every))
        for options, names in (
                ({}, 'a b ba bb c d'), ({'prefix': 'b'}, 'b ba bb'),
                ({'marker': 'b'}, 'ba bb c d'),
                ({'end_marker': 'bb'}, 'a b ba'),
                ({'limit': 2}, 'a b'), ({'reverse': True}, 'd c bb ba b a'),
                ({'reverse': True, 'marker': 'c', 'limit': 2}, 'bb ba'),
                ({'reverse': True, 'end_marker': 'b'}, 'd c bb ba'),
                ({'prefix': 'b', 'marker': 'b', 'limit': 1}, 'ba')):
            with self.subTest(**options):
                found = self.rows.read(paged(**{
                    name: '\0X\0' + value if isinstance(value, str) else
                    value for name, value in options.items()})).page
                self.assertEqual(names.split(), [
                    each.name[3:] for each in found])

    def test_pages_of_replicas_that_differ_are_united_whole(self):
        # each row is on two of three; pages of one end where others go on
        for batch in (views.BATCH, 2):
            for limit in (1, 2, 5, 11, 12, 13):
                for reverse in (False, True):
                    with mock.patch.object(views, 'BATCH', batch), \
                            self.subTest(batch=batch, limit=limit,
                                         reverse=reverse):
                        self.unite_pages(limit, reverse)

    def unite_pages(self, limit, reverse):
        name = '%s-%s-%s-' % (views.BATCH, limit, reverse)
        every = [row('%s%02d' % (name, number)) for number in range(12)]
        for third in range(3):
            self.put_on([server for index, server in enumerate(self.servers)
                         if index != third], *every[third::3])
        found = self.rows.read(paged(prefix='\0X\0' + name, limit=limit,
                                     reverse=reverse)).page
        self.assertEqual((every[::-1] if reverse else every)[:limit], found)

    def test_rows_that_turn_out_deleted_do_not_end_a_page(self):
        every = [row('%02d' % number) for number in range(12)]
        self.put_on(self.servers, *every)
        self.put_on(self.servers[:2], *(
            row('%02d' % number, 1, deleted=True) for number in range(8)))
        for _down in self.each_majority():
            for limit in (2, 4, 5, 12):
                self.assertEqual(every[8:8 + limit], self.rows.read(
                    paged(limit=limit)).page)

    def test_a_replica_that_has_lost_all_is_filled_by_a_listing(self):
        every = [row('%03d' % number) for number in range(250)]
        self.put_on(self.servers[:1], *every)
        self.servers[1].refuse()
        self.assertEqual(every, self.rows.read(paged()).page)
        self.assertEqual([each.name for each in every],
                         self.names_on(self.servers[2]))

    def test_long_rows_are_given_in_bodies_that_servers_take(self):
        every = [row('%02d' % number + 'ü' * 500, etag='e' * 4000)
                 for number in range(90)]
        self.put_on(self.servers[:1], *every[:45])
        self.put_on(self.servers[:1], *every[45:])
        self.servers[1].refuse()
        with mock.patch.object(views, 'MAX_BODY', 1 << 17):
            self.assertEqual(every, self.rows.read(paged()).page)

    def test_a_replica_that_missed_many_purges_costs_few_rounds(self):
        made = [entry(ticks) for ticks in range(60)]
        self.put_on(self.servers, *map(row_of, made))
        self.put_on(self.servers[:2], *(row_of(replace(
            each, purged=Stamp(T + 99, 1))) for each in made[1:]))
        self.servers[0].refuse()
        with self.north.network.counted() as count:
            told = self.rows.read(Request('o'))
        self.assertEqual(made[0].version.id, told.head.version.id)
        self.assertLessEqual(count.rounds, 8)

    def test_heads_of_replicas_that_differ(self):
        made = [entry(ticks, obj) for obj in 'abc' for ticks in (2, 1, 0)]
        for third in range(3):
            self.put_on([server for index, server in enumerate(self.servers)
                         if index != third],
                        *map(row_of, made[third::3]))
        for reverse in (False, True):
            for limit in (1, 2, 3):
                found = self.rows.read(paged(
                    prefix='\0V\0', heads=True, limit=limit,
                    reverse=reverse)).page
                expected = [version_name(obj, made[0].version.id)
                            for obj in ('cba' if reverse else 'abc')]
                self.assertEqual(expected[:limit],
                                 [each.name for each in found])

    def test_less_than_a_majority_is_no_answer(self):
        self.servers[0].fail()
        self.servers[1].refuse()
        with self.assertRaises(RowsUnavailable) as caught:
            self.rows.read(paged())
        self.assertEqual([0, 200, 503], sorted(caught.exception.statuses))
        self.assertFalse(caught.exception.missing)

    def test_a_replica_without_the_container_is_no_answer(self):
        for server in self.servers[:2]:
            server.fail(404)
        with self.assertRaises(RowsUnavailable):
            self.rows.read(paged())

    def test_replicas_that_never_agree_are_no_answer(self):
        self.put_on(self.servers, row('a'))
        self.servers[0].spoil = lambda req: Response(
            request=req, body=b'{"page": []}')
        self.servers[1].refuse()
        with self.assertRaisesRegex(RowsUnavailable, 'do not agree'):
            self.rows.read(paged())
