# SPDX-License-Identifier: Apache-2.0
"""rows.py, with real container servers."""

from unittest import mock

from swift.common.concurrency import sleep

from swift_lightsync.versioning.core.keys import hidden_container
from swift_lightsync.versioning.core.row_data import Row
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.rows import row_client
from swift_lightsync.versioning.rows import rows as rows_module
from swift_lightsync.versioning.rows.rows import Query, RowsUnavailable
from tests.unit.sync.fixtures import wait_for
from tests.unit.versioning.fakes import SiteCase

T = 170000000000000
HIDDEN = '/a/' + hidden_container('c')


def row(name='o', ticks=0, **fields):
    return Row(name, Stamp(T + ticks, 0xfe00000001), **dict(
        {'size': 3, 'etag': 'abc; sv_site=north'}, **fields))


class RowsCase(SiteCase):

    def setUp(self):
        super().setUp()
        self.rows = self.north.rows()
        self.servers = self.north.servers

    def names_on(self, server, container=HIDDEN):
        body = self.north.ask(server, 'GET', container).body
        return body.decode('utf8').split('\n')[:-1]

    def put_on(self, servers, *rows):
        """Write rows to some replicas only."""
        for server in self.servers:
            if server not in servers:
                server.refuse()
        for each in rows:
            try:
                self.rows.write(hidden_rows=[each])
            except RowsUnavailable:
                pass
        for server in self.servers:
            server.recover()


class TestWrite(RowsCase):

    def test_all_replicas_get_the_rows_of_both_containers(self):
        self.rows.write([row('plain')], [row('\0V\0a'), row('\0V\0b')])
        wait_for(lambda: all(
            self.names_on(server) == ['\0V\0a', '\0V\0b'] and
            self.names_on(server, '/a/c') == ['plain']
            for server in self.servers), 'all rows on all replicas')

    def test_what_is_written_is_read_whole(self):
        written = row('\0V\0ü', size=77, content_type='text/plain;a="ü"',
                      etag='abc; sv_frontier=x%2Cy%3Bz; sv_site=north')
        self.rows.write(hidden_rows=[written])
        self.assertEqual([[written]], self.rows.read(Query(True)))

    def test_the_user_s_names_may_be_any(self):
        written = row('a b/ü?%2F#&', size=1)
        self.rows.write([written])
        self.assertEqual([[written], [written]], self.rows.read(
            Query(False), Query(False, written.name, exact=True)))

    def test_it_is_one_round(self):
        with self.north.network.counted() as count:
            self.rows.write([row()], [row('\0V\0a'), row('\0V\0b')])
        self.assertEqual((1, 9), (count.rounds, len(count.sent)))
        self.assertEqual(1, self.rows.rounds)

    def test_a_majority_is_enough(self):
        for spoil in ('refuse', 'fail', 'stall'):
            with self.subTest(spoil):
                getattr(self.servers[1], spoil)()
                self.rows.write(hidden_rows=[row('\0V\0' + spoil)])
                self.servers[1].recover()

    def test_less_than_a_majority_is_not(self):
        self.servers[0].fail(507)
        self.servers[1].refuse()
        with self.assertRaises(RowsUnavailable) as caught:
            self.rows.write(hidden_rows=[row('\0V\0a')])
        self.assertEqual((HIDDEN, [0, 201, 507], 2, False), (
            caught.exception.container, sorted(caught.exception.statuses),
            caught.exception.needed, caught.exception.missing))

    def test_each_row_needs_its_own_majority(self):
        def spoil(req):
            if req.path_info.endswith('b'):
                raise ConnectionRefusedError()
        self.servers[0].spoil = self.servers[1].spoil = spoil
        with self.assertRaises(RowsUnavailable):
            self.rows.write(hidden_rows=[row('\0V\0a'), row('\0V\0b')])
        self.rows.write(hidden_rows=[row('\0V\0a')])

    def test_it_waits_for_no_third(self):
        self.servers[2].stall()
        self.rows.write(hidden_rows=[row('\0V\0a')])

    def test_a_replica_that_missed_a_row_is_asked_again(self):
        patcher = mock.patch.object(rows_module, 'RETRY_AFTER',
                                    (0.01,) * 100000)
        patcher.start()
        self.addCleanup(patcher.stop)
        self.servers[2].refuse()
        self.rows.write(hidden_rows=[row('\0V\0a')])
        wait_for(lambda: len(self.north.network.sent) > 3, 'it is asked')
        self.servers[2].recover()
        wait_for(lambda: self.names_on(self.servers[2]) == ['\0V\0a'],
                 'the row on the replica that missed it')

    def test_a_container_that_is_not_there_is_told(self):
        rows = self.north.rows()
        rows.hidden = ('a', '\0site-versions\0other')
        for call in (lambda: rows.write(hidden_rows=[row('\0V\0a')]),
                     lambda: rows.read(Query(True))):
            with self.assertRaises(RowsUnavailable) as caught:
                call()
            self.assertTrue(caught.exception.missing)

    def test_the_newest_stamp_wins_and_offsets_count(self):
        stamps = [Stamp(T, 5), Stamp(T, 7), Stamp(T, 6)]
        for stamp in stamps:
            self.rows.write(hidden_rows=[
                Row('\0V\0a', stamp, etag='e%d' % stamp.offset)])
        self.assertEqual(
            [[Row('\0V\0a', Stamp(T, 7), etag='e7')]],
            self.rows.read(Query(True)))

    def test_an_error_that_nobody_foresaw_is_no_answer(self):
        def fail(req):
            raise KeyError('unforeseen')
        for server in self.servers[:2]:
            server.spoil = fail
        for call in (lambda: self.rows.write([row()]),
                     lambda: self.rows.read(Query(False))):
            with self.assertRaises(RowsUnavailable) as caught:
                call()
            self.assertEqual(2, caught.exception.statuses.count(0))

    def test_a_row_that_is_deleted_is_gone(self):
        self.rows.write([row()])
        self.rows.write([row(ticks=1, deleted=True)])
        self.rows.write([row()])
        self.assertEqual([[]], self.rows.read(Query(False)))

    def test_a_row_that_is_too_long_is_refused(self):
        with self.assertRaisesRegex(ValueError, '4096'):
            self.rows.write([row(etag='e' * 4090)])
        self.assertEqual([], self.north.network.sent)

    def test_a_limited_node_is_not_asked_again(self):
        self.servers[2].refuse()
        self.north.app.error_limiter.limit(
            self.north.app.container_ring.nodes[2])
        with mock.patch.object(rows_module, 'RETRY_AFTER', (0, 0)):
            with self.north.network.counted() as count:
                self.rows.write([row()])
                sleep(0.01)
        self.assertEqual(3, len(count.sent))


class TestRead(RowsCase):

    def test_a_row_of_one_replica_of_the_majority_is_seen(self):
        # Two replicas have it; whichever two answer, one of them has.
        self.put_on(self.servers[:2], row('\0V\0a'))
        for down in self.servers:
            down.refuse()
            self.assertEqual([[row('\0V\0a')]], self.rows.read(Query(True)))
            down.recover()

    def test_a_stale_row_loses(self):
        self.put_on(self.servers, row('\0V\0a'))
        self.put_on(self.servers[:2], row('\0V\0a', 1, etag='new'))
        self.servers[0].refuse()
        self.assertEqual([[row('\0V\0a', 1, etag='new')]],
                         self.rows.read(Query(True)))

    def test_a_replica_that_lacks_a_row_is_given_it(self):
        self.put_on(self.servers[:1], row('\0V\0a'))
        self.servers[1].refuse()
        self.assertEqual([[row('\0V\0a')]], self.rows.read(Query(True)))
        wait_for(lambda: self.names_on(self.servers[2]) == ['\0V\0a'],
                 'the row on the replica that lacked it')

    def test_queries_are_one_round(self):
        self.rows.write([row()], [row('\0V\0a'), row('\0V\0b')])
        with self.north.network.counted() as count:
            found = self.rows.read(
                Query(True, '\0V\0a', exact=True), Query(False),
                Query(True, '\0V\0', limit=1, reverse=True))
        self.assertEqual((1, 6), (count.rounds, len(count.sent)))
        self.assertEqual([[row('\0V\0a')], [row()], [row('\0V\0b')]], found)

    def test_another_is_asked_for_each_that_fails(self):
        self.rows.write(hidden_rows=[row('\0V\0a')])
        for down in self.servers:
            for spoil in 'refuse', 'fail':
                getattr(down, spoil)()
                with self.north.network.counted() as count:
                    self.assertEqual([[row('\0V\0a')]],
                                     self.rows.read(Query(True)))
                self.assertIn(len(count.sent), (2, 3))
                down.recover()

    def test_another_is_asked_when_one_is_slow(self):
        self.rows.write(hidden_rows=[row('\0V\0a')])
        with mock.patch.object(row_client, 'SLOW', 0.01):
            for slow in self.servers:
                slow.stall()
                self.assertEqual([[row('\0V\0a')]],
                                 self.rows.read(Query(True)))
                slow.recover()

    def test_slow_ones_are_waited_for_where_there_are_no_others(self):
        self.rows.write(hidden_rows=[row('\0V\0a')])
        for slow in self.servers:
            slow.stall(0.1)
        with mock.patch.object(row_client, 'SLOW', 0.01):
            self.assertEqual([[row('\0V\0a')]], self.rows.read(Query(True)))

    def test_a_limited_node_is_asked_last(self):
        self.rows.write(hidden_rows=[row('\0V\0a')])
        self.north.app.error_limiter.limit(
            self.north.app.container_ring.nodes[1])
        asked = []
        self.servers[1].spoil = asked.append
        for _ in range(20):
            self.rows.read(Query(True))
        self.assertEqual([], asked)
        self.servers[0].refuse()
        self.assertEqual([[row('\0V\0a')]], self.rows.read(Query(True)))
        self.assertEqual(1, len(asked))

    def test_exact_means_the_name_and_no_other(self):
        self.rows.write([row('ab')])
        self.assertEqual([[], [row('ab')]], self.rows.read(
            Query(False, 'a', exact=True), Query(False, 'a')))

    def test_names_whose_last_character_has_no_next_one_are_read(self):
        for name in 'a\ud7ff', 'a\U0010ffff', '\U0010ffff':
            with self.subTest(name=ascii(name)):
                self.rows.write([row('a'), row(name + 'x')], [row('\0v\0a')])
                exact = (Query(False, name, exact=True),
                         Query(True, '\0v\0' + name, exact=True))
                self.assertEqual([[], []], self.rows.read(*exact))
                self.rows.write([row(name)], [row('\0v\0' + name)])
                self.assertEqual([[row(name)], [row('\0v\0' + name)]],
                                 self.rows.read(*exact))

    def test_bounds_limits_and_order(self):
        every = [row(name) for name in ('a', 'b', 'ba', 'bb', 'c', 'd')]
        self.rows.write(every)
        for options, names in (
                ({}, 'a b ba bb c d'), ({'prefix': 'b'}, 'b ba bb'),
                ({'marker': 'b'}, 'ba bb c d'),
                ({'end_marker': 'bb'}, 'a b ba'),
                ({'limit': 2}, 'a b'), ({'reverse': True}, 'd c bb ba b a'),
                ({'reverse': True, 'marker': 'c', 'limit': 2}, 'bb ba'),
                ({'reverse': True, 'end_marker': 'b'}, 'd c bb ba'),
                ({'prefix': 'b', 'marker': 'b', 'limit': 1}, 'ba')):
            with self.subTest(**options):
                found, = self.rows.read(Query(False, **options))
                self.assertEqual(names.split(), [each.name for each in found])

    def test_a_limit_below_one_is_refused(self):
        with self.assertRaisesRegex(ValueError, 'limit of a query is 0'):
            Query(False, limit=0)

    def test_pages_of_replicas_that_differ_are_united_whole(self):
        # each row is on two of three; pages of one end where others go on
        every = [row('\0V\0%02d' % number) for number in range(12)]
        for number, each in enumerate(every):
            self.put_on([server for index, server in enumerate(self.servers)
                         if index != number % 3], each)
        self.rows.reader._mend = lambda *args: None
        for limit in (1, 2, 5, 11, 12, 13):
            for reverse in (False, True):
                found, = self.rows.read(
                    Query(True, limit=limit, reverse=reverse))
                self.assertEqual(
                    (every[::-1] if reverse else every)[:limit], found)

    def test_less_than_a_majority_is_no_answer(self):
        self.servers[0].fail()
        self.servers[1].refuse()
        with self.assertRaises(RowsUnavailable) as caught:
            self.rows.read(Query(True))
        self.assertEqual([0, 200, 503], sorted(caught.exception.statuses))
        self.assertFalse(caught.exception.missing)

    def test_a_replica_without_the_container_is_no_answer(self):
        for server in self.servers[:2]:
            server.fail(404)
        with self.assertRaises(RowsUnavailable):
            self.rows.read(Query(True))

    def test_others_rows_have_the_stamp_of_their_change(self):
        self.north.put_plain('o', 1700000000.12345)
        found, = self.rows.read(Query(False))
        self.assertEqual(
            [Row('o', Stamp(170000000012345), 5, 'text/plain', 'p' * 32)],
            found)


class TestTwoReplicas(RowsCase):

    replicas = 2

    def test_both_are_needed(self):
        self.servers[0].refuse()
        with self.assertRaises(RowsUnavailable):
            self.rows.write([row()])
        with self.assertRaises(RowsUnavailable):
            self.rows.read(Query(False))


class TestOneReplica(RowsCase):

    replicas = 1

    def test_it_is_enough(self):
        self.rows.write([row()])
        self.assertEqual([[row()]], self.rows.read(Query(False)))
