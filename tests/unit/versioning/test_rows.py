# SPDX-License-Identifier: Apache-2.0
"""rows.py, with real container servers."""

from unittest import mock

from swift.common.concurrency import sleep
from swift.common.swob import Response
from swift.container import server as swift_server

from swift_lightsync.versioning.core.row_data import (
    Row,
    listed_of,
    listing_name,
    row_of,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.verb import Request
from swift_lightsync.versioning.core.version import Vector
from swift_lightsync.versioning.rows import replicas
from swift_lightsync.versioning.rows.rows import (
    ClockRefused,
    RowsUnavailable,
    VerbMissing,
)
from tests.unit.sync.fixtures import wait_for
from tests.unit.versioning.fakes import NOW
from tests.unit.versioning.rows_case import (
    HIDDEN,
    RowsCase,
    T,
    entry,
    named,
    paged,
    row,
    writes,
)


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
