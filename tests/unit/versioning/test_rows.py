# SPDX-License-Identifier: Apache-2.0
"""rows.py, with real container servers."""

from dataclasses import replace
from unittest import mock

from swift.common.concurrency import sleep
from swift.common.swob import Response
from swift.container import server as swift_server

from swift_lightsync.versioning.core.keys import (
    hidden_container,
    listing_name,
    version_name,
)
from swift_lightsync.versioning.core.row_data import (
    Entry,
    Row,
    listed_of,
    row_of,
)
from swift_lightsync.versioning.core.stamp import Stamp, offset_of
from swift_lightsync.versioning.core.verb import Page, Request, WireRow
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.rows import replicas, views
from swift_lightsync.versioning.rows.rows import (
    ClockRefused,
    RowsUnavailable,
    VerbMissing,
)
from tests.unit.sync.fixtures import wait_for
from tests.unit.versioning.fakes import NOW, SiteCase

T = int(NOW) * 100000
HIDDEN = '/a/' + hidden_container('c')


def entry(ticks=0, obj='o', site='north', vector=Vector(), **fields):
    stamp = Stamp(T + ticks, offset_of(0, 1))
    return Entry(obj, Version(stamp, site, vector), 3, 'abc', **fields)


def row(name='o', ticks=0, **fields):
    """A row that is none of a version."""
    return Row('\0X\0' + name, Stamp(T + ticks, 0xfe00000001), **dict(
        {'size': 3, 'etag': 'abc; sv_site=north'}, **fields))


def writes(*rows, obj='', **fields):
    return Request(obj, tuple(map(WireRow.of, rows)), **fields)


def named(*rows):
    return Request(names=tuple(each.name for each in rows))


def paged(**fields):
    return Request(page=Page(**fields))


class RowsCase(SiteCase):

    def setUp(self):
        super().setUp()
        self.rows = self.north.rows()
        self.servers = self.north.servers

    def held_by(self, server):
        """The rows of a server by name, deleted ones too."""
        broker = server.app._get_container_broker(
            'sda', '0', 'a', hidden_container('c'))
        return {item['name']: (item['created_at'], bool(item['deleted']))
                for item in broker.get_objects(include_deleted=None)}

    def names_on(self, server):
        return sorted(name for name, (_, deleted) in self.held_by(
            server).items() if not deleted)

    def put_on(self, servers, *rows, **fields):
        """Write rows to some replicas only."""
        for server in self.servers:
            if server not in servers:
                server.refuse()
        try:
            self.rows.write(writes(*rows, **fields))
        except RowsUnavailable:
            pass
        wait_for(lambda: not self.north.network.under_way, 'all is answered')
        for server in self.servers:
            server.recover()

    def each_majority(self):
        """Yield once for each server that is down meanwhile."""
        for down in self.servers:
            down.refuse()
            yield down
            down.recover()


class TestWrite(RowsCase):

    def test_all_replicas_get_the_rows(self):
        self.rows.write(writes(row('a'), row('b')))
        wait_for(lambda: all(
            self.names_on(server) == ['\0X\0a', '\0X\0b']
            for server in self.servers), 'all rows on all replicas')

    def test_what_is_written_is_read_whole(self):
        for written in (
                row('ü', size=77, content_type='text/plain;a="ü"',
                    etag='abc; sv_x=x%2Cy%3Bz; sv_site=north'),
                row('d', deleted=True), row('a b/ü?%2F#&=+\x01', size=1)):
            self.rows.write(writes(written))
            self.assertEqual({written.name: written},
                             self.rows.read(named(written)).rows)

    def test_it_is_one_round_of_one_request_to_each_replica(self):
        with self.north.network.counted() as count:
            self.rows.write(writes(row('a'), row('b')))
        self.assertEqual((1, [('VERSION', HIDDEN)] * 3), (
            count.rounds, count.sent))

    def test_a_majority_is_enough(self):
        for spoil in ('refuse', 'fail', 'stall'):
            with self.subTest(spoil):
                getattr(self.servers[1], spoil)()
                self.rows.write(writes(row(spoil)))
                self.servers[1].recover()

    def test_less_than_a_majority_is_not(self):
        self.servers[0].fail(507)
        self.servers[1].refuse()
        with self.assertRaises(RowsUnavailable) as caught:
            self.rows.write(writes(row('a')))
        self.assertEqual((HIDDEN, [0, 200, 507], 2, False), (
            caught.exception.container, sorted(caught.exception.statuses),
            caught.exception.needed, caught.exception.missing))

    def test_an_answer_that_is_none_of_the_verb_counts_for_nothing(self):
        for server in self.servers[:2]:
            server.spoil = lambda req: Response(
                status=200, request=req, body=b'{"head": 7}')
        with self.assertRaises(RowsUnavailable) as caught:
            self.rows.write(writes(row('a')))
        self.assertEqual([0, 0, 200], sorted(caught.exception.statuses))

    def test_it_waits_for_no_third(self):
        self.servers[2].stall()
        self.rows.write(writes(row('a')))

    def again_at_once(self):
        patcher = mock.patch.object(replicas, 'RETRY_AFTER',
                                    (0.01,) * 100000)
        patcher.start()
        self.addCleanup(patcher.stop)

    def test_a_replica_that_missed_a_row_is_asked_again(self):
        self.again_at_once()
        self.servers[2].refuse()
        self.rows.write(writes(row('a')))
        wait_for(lambda: len(self.north.network.sent) > 3, 'it is asked')
        self.servers[2].recover()
        wait_for(lambda: self.names_on(self.servers[2]) == ['\0X\0a'],
                 'the row on the replica that missed it')

    def test_a_replica_with_a_wrong_clock_takes_what_a_majority_took(self):
        self.again_at_once()
        self.servers[2].app.now = NOW - 100
        self.rows.write(writes(row('a'), clock=NOW))
        wait_for(lambda: self.names_on(self.servers[2]) == ['\0X\0a'],
                 'the row on the replica that refused it')

    def test_a_clock_that_a_majority_refuses_is_told(self):
        self.again_at_once()
        for skew, where in ((-61, 'behind'), (61, 'ahead')):
            with self.assertRaisesRegex(
                    ClockRefused, r'127.0.0.1:\d/sda: the clock of the '
                    r'sender is 61.000 s %s, .*its clock: '
                    r'1700000000.000' % where):
                self.rows.write(writes(row('a'), clock=NOW + skew))
        sleep(0.1)
        self.assertEqual(6, len(self.north.network.sent))
        self.assertEqual([[]] * 3, list(map(self.names_on, self.servers)))

    def test_clocks_that_differ_little_are_taken(self):
        self.rows.write(writes(row('a'), clock=NOW + 59))
        self.rows.write(writes(row('b'), clock=NOW - 59))

    def test_a_container_that_is_not_there_is_told(self):
        rows = self.north.rows()
        rows.place = ('a', '\0site-versions\0other')
        for call in (lambda: rows.write(writes(row('a'))),
                     lambda: rows.read(paged())):
            with self.assertRaises(RowsUnavailable) as caught:
                call()
            self.assertTrue(caught.exception.missing)

    def test_the_newest_stamp_wins_and_offsets_count(self):
        stamps = [Stamp(T, 5), Stamp(T, 7), Stamp(T, 6)]
        for stamp in stamps:
            self.rows.write(writes(
                Row('\0X\0a', stamp, etag='e%d' % stamp.offset)))
        self.assertEqual([Row('\0X\0a', Stamp(T, 7), etag='e7')],
                         self.rows.read(paged()).page)

    def test_an_error_that_nobody_foresaw_is_no_answer(self):
        def fail(req):
            raise KeyError('unforeseen')
        for server in self.servers[:2]:
            server.spoil = fail
        for call in (lambda: self.rows.write(writes(row())),
                     lambda: self.rows.read(paged())):
            with self.assertRaises(RowsUnavailable) as caught:
                call()
            self.assertEqual(2, caught.exception.statuses.count(0))

    def test_a_row_that_is_deleted_is_gone_and_told_by_its_name(self):
        gone = row(ticks=1, deleted=True)
        for each in (row(), gone, row()):
            self.rows.write(writes(each))
        self.assertEqual([], self.rows.read(paged()).page)
        self.assertEqual({gone.name: gone}, self.rows.read(named(gone)).rows)

    def test_a_limited_node_is_not_asked_again(self):
        self.servers[2].refuse()
        self.north.app.error_limiter.limit(
            self.north.app.container_ring.nodes[2])
        with mock.patch.object(replicas, 'RETRY_AFTER', (0, 0)):
            with self.north.network.counted() as count:
                self.rows.write(writes(row()))
                sleep(0.01)
        self.assertEqual(3, len(count.sent))

    def test_the_head_before_and_after_is_told(self):
        first, second = entry(), entry(5)
        told = self.rows.write(writes(row_of(first), obj='o'))
        self.assertEqual((None, first.version.id),
                         (told.before, told.head.version.id))
        told = self.rows.write(writes(row_of(second), obj='o'))
        self.assertEqual((first.version.id, second.version.id), (
            told.before.version.id, told.head.version.id))

    def test_heads_that_differ_are_settled_in_one_round_more(self):
        newer = entry(9, vector=Vector({'north': entry(9).version.id}))
        self.put_on(self.servers[:1], row_of(newer), obj='o')
        self.servers[2].refuse()
        # It is not asked again before the others are.
        with self.north.network.counted() as count, \
                mock.patch.object(replicas, 'RETRY_AFTER', ()):
            told = self.rows.write(writes(row_of(entry()), obj='o'))
        self.assertEqual((2, newer), (count.rounds, told.head))

    def test_vectors_of_replicas_that_differ_are_joined(self):
        self.put_on(self.servers[:1], row_of(entry(1, site='south')),
                    obj='o')
        self.put_on(self.servers[1:2], row_of(entry(2, site='west')),
                    obj='o')
        self.servers[2].refuse()
        told = self.rows.write(writes(row_of(entry(3)), obj='o'))
        self.assertEqual(Vector({
            'north': entry(3).version.id, 'south': entry(1).version.id,
            'west': entry(2).version.id}), told.head.version.vector)


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


class TestCheckingTheVerb(RowsCase):

    def test_servers_that_have_it_pass_also_where_some_are_down(self):
        self.rows.check_verb()
        self.servers[0].refuse()
        self.servers[1].fail(404)
        self.rows.check_verb()

    def test_a_stock_container_server_is_named(self):
        server = self.servers[1]
        server.app = swift_server.ContainerController({
            'devices': server.app.root, 'mount_check': 'false'},
            logger=self.logger)
        with self.assertRaisesRegex(VerbMissing,
                                    'container: 127.0.0.1:1/sda$'):
            self.rows.check_verb()
        self.rows.write(writes(row()))
        self.assertFalse(self.north.app.error_limiter.stats)

    def test_rows_are_not_acknowledged_by_stock_servers(self):
        for server in self.servers[1:]:
            server.app = swift_server.ContainerController({
                'devices': server.app.root, 'mount_check': 'false'},
                logger=self.logger)
        with self.assertRaises(RowsUnavailable) as caught:
            self.rows.write(writes(row()))
        self.assertEqual([200, 405, 405], sorted(caught.exception.statuses))


class TestListingRows(RowsCase):

    def test_it_says_what_the_head_is(self):
        made = entry()
        self.rows.write(writes(row_of(made), obj='o', listed=True))
        told = self.rows.read(Request(names=(listing_name('o'),)))
        found = listed_of(told.rows[listing_name('o')].etag)
        self.assertEqual((made.version.id, 3, 'abc'), (
            found.id, found.size, found.etag))


class TestTwoReplicas(RowsCase):

    replicas = 2

    def test_both_are_needed(self):
        self.servers[0].refuse()
        with self.assertRaises(RowsUnavailable):
            self.rows.write(writes(row()))
        with self.assertRaises(RowsUnavailable):
            self.rows.read(paged())


class TestOneReplica(RowsCase):

    replicas = 1

    def test_it_is_enough(self):
        self.rows.write(writes(row()))
        self.assertEqual([row()], self.rows.read(paged()).page)
