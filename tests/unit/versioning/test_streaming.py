# SPDX-License-Identifier: Apache-2.0
"""A task for a peer: how many requests it makes, and what becomes of versions
when requests fail. The peer is a dict, which the wire's real messages reach.
"""

import unittest
from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

from swift.common.concurrency import GreenPool

from swift_lightsync.versioning.core.outbox import LEAST, START, TARGET
from swift_lightsync.versioning.core.shipping import (
    LATER,
    MAX_PACKED,
    MAX_SMALL,
    Result,
)
from swift_lightsync.versioning.core.stamp import TICKS, Stamp
from swift_lightsync.versioning.core.sync_point import Follower
from swift_lightsync.versioning.sites import outgoing
from swift_lightsync.versioning.sites.local_data import DataMissing
from swift_lightsync.versioning.sites.outgoing import Reader
from swift_lightsync.versioning.sites.peer_client import PeerDown, PeerRefused
from tests.unit.versioning.fakes import NOW
from tests.unit.versioning.streaming_case import (
    Database,
    Source,
    StreamCase,
    version,
)


class TestReader(unittest.TestCase):

    def setUp(self):
        self.source = Source()
        self.opened = mock.patch.object(
            self.source, 'open', side_effect=self.source.open).start()
        self.addCleanup(mock.patch.stopall)
        self.reader = Reader(self.source, 2)

    def read(self, item):
        """Open an item for two sites at once; return what both were given."""
        database = Database([item])

        def open(number):
            work = SimpleNamespace(database=database, item=item, size=0)
            found = self.reader.open(work)
            self.assertIs(work, found.work)
            return found
        return list(GreenPool().imap(open, range(2)))

    def test_what_is_small_is_read_once_for_all_sites(self):
        for number in range(3):
            found = self.read(version(number))
            self.assertEqual([b'x', b'x'], [each.data for each in found])
            self.assertEqual(number + 1, self.opened.call_count)
        self.assertEqual((0, {}), (self.reader._bytes,
                                   dict(self.reader._read)))

    def test_what_is_offered_again_is_no_other_version(self):
        # What a comparison finds has no ROWID.
        for number in range(2):
            item = version(number, data=b'%d' % number)
            item.rowid = 0
            self.assertEqual([item.data], [self.reader.open(SimpleNamespace(
                database=Database([]), item=item, size=0)).data])

    def test_what_is_large_is_opened_for_each_site(self):
        self.read(version(0, data=bytes(MAX_SMALL + 1)))
        self.assertEqual(2, self.opened.call_count)

    def test_what_cannot_be_read_is_tried_for_each_site(self):
        item = version(0)
        item.data = None
        with self.assertRaises(DataMissing):
            self.read(item)
        found = self.read(version(0))
        self.assertEqual([b'x', b'x'], [each.data for each in found])

    def test_only_so_much_is_kept_for_a_site_that_does_not_come(self):
        with mock.patch.object(outgoing, 'MOST_BYTES', 3 * MAX_SMALL):
            for number in range(9):
                item = version(number, data=bytes(MAX_SMALL))
                self.reader.open(SimpleNamespace(
                    database=Database([item]), item=item, size=0))
        self.assertEqual(3, len(self.reader._read))


class TestRequests(StreamCase):

    def test_a_thousand_containers_need_few_requests(self):
        self.start(*(Database([version(number)], 'c%d' % number)
                     for number in range(1000)))
        self.runner.run_all()
        self.assert_all_arrived()
        self.assertEqual([], self.peer.counted('offer'))
        self.assertLess(len(self.peer.requests), 30)

    def test_old_versions_are_offered_and_only_the_lacked_ones_shipped(self):
        self.start(*(Database([version(number, NOW - 1000)], 'c%d' % number)
                     for number in range(1000)))
        for number in range(0, 1000, 2):
            self.peer.held['c%d' % number, 'o%d' % number] = b'x'
        self.runner.run_all()
        self.assert_all_arrived()
        self.assertEqual(1000, sum(self.peer.counted('offer')))
        self.assertEqual(500, sum(self.peer.counted('ship')))
        self.assertLess(len(self.peer.requests), 60)

    def test_what_the_peer_may_have_is_offered(self):
        for item in (version(1, site='oslo'), version(1, NOW - 1000),
                     version(1, data=bytes(MAX_SMALL + 1)),
                     version(1, changed=Stamp(int((NOW + 1) * TICKS)))):
            self.start(Database([item]))
            self.runner.run_all()
            if item.entry.version.site == 'oslo':
                # It is told by that site first.
                self.assertEqual([], self.peer.requests)
                self.later()
            self.assertEqual([('offer', 1), ('ship', 1)], self.peer.requests)
            self.assert_all_arrived()

    def test_a_database_without_news_is_not_looked_at(self):
        self.start(*(Database([version(number)], 'c%d' % number)
                     for number in range(10)))
        self.runner.run_all()
        with mock.patch.object(Follower, 'look', autospec=True,
                               side_effect=Follower.look) as look:
            self.runner.run_all()
            self.assertEqual(0, look.call_count)
            self.databases[3].all.append(version(11))
            self.runner.run_all()
        self.assertEqual({self.databases[3]}, {
            call.args[0].database for call in look.call_args_list})
        self.assert_all_arrived()

    def test_what_the_peer_has_made_it_is_not_told_of(self):
        made = version(1, site='paris')
        self.start(Database([made]))
        self.runner.run_all()
        self.assertEqual(([], 2, 0), (
            self.peer.requests, self.databases[0].saved,
            self.runner.lag().rows))
        for changes in ({'purged': made.entry.version.id},
                        {'changed': made.entry.version.id}):
            item = version(1, site='paris', **changes)
            self.start(Database([item]))
            self.runner.run_all()
            self.assertEqual([('offer', 1), ('ship', 1)], self.peer.requests)

    def test_what_was_tried_is_offered(self):
        self.start(Database([version(1)]))
        self.peer.refuse = lambda shipment: Result(503, 'rows')
        self.runner.run_all()
        self.peer.refuse = lambda shipment: None
        self.later(1)
        self.assertEqual([('ship', 1), ('offer', 1), ('ship', 1)],
                         self.peer.requests)
        self.assert_all_arrived()

    def test_packs_have_a_bounded_size(self):
        self.start(*(Database([version(number, data=bytes(MAX_SMALL))
                               for number in range(200)], name)
                     for name in 'cde'))
        self.runner.run_all()
        self.assert_all_arrived()
        self.assertEqual(64, max(self.peer.counted('ship')))
        self.start(*(Database([version(0)], 'c%d' % number)
                     for number in range(6000)))
        self.runner.run_all()
        self.assert_all_arrived()
        self.assertEqual(MAX_PACKED, max(self.peer.counted('ship')))

    def test_what_turns_out_to_be_large_travels_alone(self):
        large = version(1, data=bytes(MAX_SMALL + 1))
        large.entry = replace(large.entry, size=3)
        self.start(Database([version(0), large, version(2)]))
        self.runner.run_all()
        self.assert_all_arrived()
        self.assertEqual([2, 1], self.peer.counted('ship'))

    def test_so_many_requests_are_under_way_at_once(self):
        self.start(*(Database([version(0, data=bytes(MAX_SMALL + 1))],
                              'c%d' % number) for number in range(40)),
                   concurrency=6)
        self.runner.run_all()
        self.assert_all_arrived()
        # Half of the places are kept for small ones.
        self.assertEqual(3, self.peer.most_shipped)
        self.start(*(Database([version(0)], 'c%d' % number)
                     for number in range(2000)), concurrency=3)
        self.runner.run_all()
        self.assertEqual(3, self.peer.most_under_way)

    def test_a_busy_container_does_not_starve_another(self):
        self.start(Database((version(number) for number in range(10000)),
                            'hot'),
                   Database([version(number) for number in range(3)], 'cold'))
        arrived = []

        def after(number, verb):
            if all(('cold', 'o%d' % each) in self.peer.held
                   for each in range(3)):
                arrived.append(sum(key[0] == 'hot' for key in self.peer.held))
        self.peer.after = after
        self.runner.run_all()
        self.assert_all_arrived()
        self.assertLess(arrived[0], 1000)

    def test_large_ones_hold_up_no_small_one(self):
        self.start(*(Database([version(0, data=bytes(MAX_SMALL + 1))],
                              'large%d' % number) for number in range(40)),
                   Database([version(0)], 'small'), concurrency=4)
        self.runner.run_all()
        self.assert_all_arrived()
        order = list(self.peer.held)
        self.assertLess(order.index(('small', 'o0')), 5)


class TestTrouble(StreamCase):

    def down(self, *numbers):
        def fail(number, verb):
            if number in numbers:
                raise PeerDown('broken')
        return fail

    def test_a_request_that_breaks_loses_nothing_and_repeats_only_itself(
            self):
        for moment in ('before', 'after'):
            for number in range(4):
                self.start(*(Database([version(0)], 'c%d' % each)
                             for each in range(600)))
                setattr(self.peer, moment, self.down(number))
                self.runner.run_all()
                self.later()
                self.assert_all_arrived()
                self.assertLessEqual(sum(self.peer.counted('ship')),
                                     600 + MAX_PACKED)
                # Whether it has arrived is asked.
                self.assertLessEqual(sum(self.peer.counted('offer')),
                                     MAX_PACKED)

    def test_what_broke_together_counts_as_one_failure(self):
        self.start(*(Database([version(0)], 'c%d' % number)
                     for number in range(2000)))
        self.peer.before = self.down(*range(100))
        self.runner.run_all()
        self.assertEqual(1, self.task.backoff.failures)
        self.assertLessEqual(len(self.peer.requests), 8)

    def test_one_that_is_refused_holds_up_no_other(self):
        self.start(Database([version(number) for number in range(10)]))
        self.peer.refuse = lambda shipment: \
            shipment.entry.object == 'o3' and Result(409, 'ahead') or None
        self.runner.run_all()
        self.assertEqual(9, len(self.peer.held))
        self.assertEqual((3, 1), (self.databases[0].saved,
                                  self.runner.lag().rows))
        self.assertIn('ahead', self.task.error)
        self.peer.refuse = lambda shipment: None
        self.later()
        self.assert_all_arrived()

    def test_one_whose_data_is_missing_holds_up_no_other(self):
        items = [version(number) for number in range(10)]
        items[3].data, items[5].length = None, 7
        self.start(Database(items))
        self.runner.run_all()
        self.assertEqual(8, sum(self.peer.counted('ship')))
        self.assertEqual(8, len(self.peer.held))
        items[3].data = b'x'
        del items[5].length
        self.later()
        self.assert_all_arrived()

    def test_a_request_that_is_one_too_many_comes_later_and_is_not_asked(
            self):
        self.start(Database([version(number) for number in range(1000)]))

        def busy(number, verb):
            raise PeerRefused(LATER, 'busy')
        self.peer.before = busy
        self.runner.run_all()
        self.assertEqual(START / 2, self.task.pace.size)
        self.assertEqual(0, self.task.backoff.failures)
        self.assertEqual(1000, self.runner.lag().rows)
        self.peer.before = lambda number, verb: None
        self.later(self.task._options.retry_delay)
        self.assertEqual([], self.peer.counted('offer'))
        self.assert_all_arrived()

    def test_what_the_peer_puts_off_comes_later_and_is_not_asked(self):
        self.start(*(Database([version(0)], 'c%d' % each)
                     for each in range(600)))
        put_off = []

        def refuse(shipment):
            if shipment.container not in put_off and len(put_off) < 100:
                put_off.append(shipment.container)
                return Result(LATER)
        self.peer.refuse = refuse
        self.runner.run_all()
        self.assert_all_arrived()
        self.assertEqual((700, []), (sum(self.peer.counted('ship')),
                                     self.peer.counted('offer')))

    def test_what_the_peer_has_not_looked_at_is_offered_again(self):
        self.start(*(Database([version(0, NOW - 1000)], 'c%d' % each)
                     for each in range(100)))
        for each in range(0, 100, 2):
            self.peer.held['c%d' % each, 'o0'] = b'x'
        self.peer.looked = 3
        self.runner.run_all()
        self.assert_all_arrived()
        self.assertEqual(50, sum(self.peer.counted('ship')))

    def test_a_slow_peer_is_given_as_much_as_it_does_in_seconds(self):
        self.start(*(Database([version(0)], 'c%d' % each)
                     for each in range(3000)))
        # As if it did 10 a second.
        self.peer.rate = 10
        self.runner.run_all()
        self.assert_all_arrived()
        self.assertLessEqual(self.peer.most_held[-1], 10 * TARGET + LEAST)
        self.assertEqual(START, max(self.peer.most_held))

    def test_who_died_at_any_moment_is_made_up_for(self):
        for number in range(8):
            self.start(*(Database([version(each) for each in range(5)],
                                  'c%d' % each) for each in range(100)))
            self.databases[0].all[0].entry = replace(
                self.databases[0].all[0].entry, changed=Stamp(1))
            saves = []

            def dies(database, task, point, saves=saves, number=number):
                saves.append(point)
                if len(saves) > number * 13:
                    raise SystemExit('killed')
                database.saved = point
            for each in self.databases:
                each.save_point = dies.__get__(each)
            with self.assertRaises(SystemExit):
                self.runner.run_all()
            for each in self.databases:
                del each.save_point
            self.new_runner()
            self.later()
            self.assert_all_arrived()
