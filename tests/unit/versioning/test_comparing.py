# SPDX-License-Identifier: Apache-2.0
"""Sites compare what they have, and repair what differs."""

import json
import shutil
import time
from dataclasses import replace
from unittest import mock

from swift_lightsync.common.records import RecordError
from swift_lightsync.versioning.core import comparing, shipping
from swift_lightsync.versioning.core.comparing import (
    BUCKETS,
    MAX_DIFFERENT,
    Compared,
    Comparison,
    Difference,
    Differences,
    Digest,
    differences,
)
from swift_lightsync.versioning.core.row_data import (
    hidden_container,
    versions_of,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.rows.replicas import Replicas
from swift_lightsync.versioning.rows.replies import Reply
from swift_lightsync.versioning.sites import compare_task
from swift_lightsync.versioning.sites.compare_task import CompareTask
from swift_lightsync.versioning.sites.sync_state import read
from tests.unit.sync.fixtures import SwiftTestCase
from tests.unit.versioning.sites_world import ACCOUNT, CONTAINER, SitesTestCase

HIDDEN = hidden_container(CONTAINER)


class TestMessages(SwiftTestCase):

    comparison = Comparison(1, 'compare', Stamp(7), (
        Compared('a', 'c', 'f' * 32),))
    answer = Differences(3, (Difference(2, (7,) * BUCKETS),), (0,))

    def test_a_comparison_is_read_as_it_was_sent(self):
        head = shipping.encoded(self.comparison.to_json())
        self.assertEqual(self.comparison, shipping.decode(head))

    def test_an_answer_is_read_as_it_was_sent(self):
        body = shipping.encoded(self.answer.to_json())
        self.assertEqual(self.answer, differences(body, 3))
        self.assertEqual(Digest((7,) * BUCKETS),
                         self.answer.different[0].digest)

    def test_the_largest_answer_is_taken(self):
        most = Differences(MAX_DIFFERENT, tuple(
            Difference(place, ((1 << 64) - 1,) * BUCKETS)
            for place in range(MAX_DIFFERENT)))
        body = shipping.encoded(most.to_json())
        self.assertEqual(most, differences(body, 1000))
        self.assertLessEqual(len(body), shipping.MAX_HEAD)

    def test_other_comparisons_are_refused(self):
        for wrong in ({'format': 2}, {'until': 'x'}, {'containers': 7},
                      {'containers': [{'account': 'a', 'container': 'c/d',
                                       'root': 'f' * 32}]},
                      {'containers': [{'account': 'a', 'container': 'c',
                                       'root': 'F' * 32}]}):
            with self.assertRaises(ValueError, msg=wrong):
                shipping.decode(json.dumps({
                    **self.comparison.to_json(), **wrong}).encode())

    def test_other_answers_are_refused(self):
        good = self.answer
        for wrong, count in (
                (good, 2), (replace(good, unknown=(3,)), 3),
                (replace(good, different=good.different * 2), 3),
                (replace(good, looked=2), 3)):
            with self.assertRaises(ValueError, msg=wrong):
                differences(shipping.encoded(wrong.to_json()), count)
        self.assertRaises(RecordError, differences, b'[]', 3)
        self.assertEqual(1 << 20, comparing.MAX_ANSWER)


class TestComparing(SitesTestCase):

    def setUp(self):
        super().setUp()
        # In these tests nothing is on its way.
        patcher = mock.patch.object(compare_task, 'SETTLED', -1)
        patcher.start()
        self.addCleanup(patcher.stop)
        self.rome.create()

    def forget(self, site, obj):
        """Lose an object as no failure of a disk or a clock does."""
        for broker in site.brokers(HIDDEN):
            with broker.get() as connection:
                connection.execute(
                    'DELETE FROM object WHERE instr(name, ?) > 0', (
                        versions_of(obj),))
                connection.commit()

    def compare(self, site, **options):
        """Return {peer: how many containers differ} after a pass."""
        propagator = site.propagate(**options)
        return {task._task.name: task.differing
                for task in propagator.comparing}

    def test_sites_that_have_the_same_find_no_difference(self):
        version = self.rome.put('o', b'1')
        self.paris.create()
        self.paris.put('p', b'2')
        self.rome.delete('p')
        self.settle()
        self.rome.purge('o', version.id)
        self.settle()
        for site in self.sites:
            self.assertEqual({0}, set(self.compare(site).values()))

    def test_what_a_peer_has_lost_is_shipped_again(self):
        self.rome.put('o', b'1')
        self.rome.put('p', b'2')
        self.settle()
        before = self.paris.history('o')
        self.forget(self.paris, 'o')
        self.assertEqual([], self.paris.history('o'))
        self.assertEqual(1, self.compare(self.rome)['paris'])
        self.assertEqual(before, self.paris.history('o'))
        self.assertEqual(0, self.compare(self.rome)['paris'])
        self.assert_same('o', 'p')

    def test_the_next_replica_compares_where_the_first_is_lost(self):
        self.rome.put('o', b'1')
        self.settle()
        self.forget(self.paris, 'o')
        propagator = self.rome.propagator()
        propagator.databases.scan()
        first, = propagator.first_replicas()
        shutil.rmtree(first.broker.db_dir)
        self.assertEqual(1, self.compare(self.rome)['paris'])
        self.assert_same('o')

    def test_a_device_that_does_not_answer_is_waited_for_once(self):
        for number in range(9):
            self.rome.make_container('c%d' % number)
        propagator = self.rome.propagator()
        propagator.databases.scan()
        count = len(propagator.first_replicas())
        gone = []

        def request(node, *what):
            if node['device'] == 'sda':
                gone.append(node)
                return Reply(node, 507)
            return Replicas.request(propagator.replicas, node, *what)
        with mock.patch.object(propagator.replicas, 'request', request):
            found = propagator.first_replicas()
        self.assertEqual(1, len(gone))
        self.assertGreater(len(found), count)

    def test_what_only_the_peer_has_is_shipped_by_the_peer(self):
        self.rome.put('o', b'1')
        self.settle()
        self.forget(self.paris, 'o')
        self.forget(self.oslo, 'o')
        self.assertEqual({'rome': 1, 'oslo': 0}, self.compare(self.paris))
        self.compare(self.rome)
        self.assert_same('o')

    def test_only_objects_whose_buckets_differ_are_offered(self):
        for number in range(20):
            self.rome.put('o%d' % number, b'')
        self.settle()
        self.forget(self.paris, 'o7')
        propagator = self.rome.propagator()
        propagator.databases.scan()
        task = next(each for each in propagator.comparing
                    if each._task.name == 'paris')
        with mock.patch.object(task._task, 'run',
                               side_effect=task._task.run) as run:
            task.run_pass()
        works = [work for call in run.call_args_list
                 for work in call.args[0]]
        self.assertIn('o7', [work.item.entry.object for work in works])
        self.assertLess(len(works), 5)
        self.assert_same('o7')

    def test_a_lost_purge_is_told_again(self):
        version = self.rome.put('o', b'1')
        self.settle()
        for broker in self.rome.brokers(HIDDEN):
            for peer in 'paris', 'oslo':
                broker.merge_syncs([{
                    'remote_id': 'site-versions/%s/%s' % (
                        broker.get_info()['id'], peer),
                    'sync_point': 10 ** 6}], incoming=False)
        self.rome.purge('o', version.id)
        self.assertEqual(1, self.compare(self.rome)['paris'])
        for site in self.sites:
            self.assertEqual([], site.history('o'))

    def test_a_life_record_that_differs_is_told_again(self):
        self.settle()
        for broker in self.paris.brokers(HIDDEN):
            with broker.get() as connection:
                connection.execute("DELETE FROM object")
                connection.commit()
        self.compare(self.rome)
        self.assertEqual(self.rome.strategy.life(),
                         self.paris.strategy.life())

    def test_what_may_be_on_its_way_makes_no_difference(self):
        self.settle()
        with mock.patch.object(compare_task, 'SETTLED', 300):
            self.rome.put('o', b'1')
            propagator = self.rome.propagator()
            propagator.databases.scan()
            for task in propagator.comparing:
                task.run_pass()
                self.assertEqual(0, task.differing)
                self.assertIsNotNone(task.compared)

    def test_a_peer_that_does_not_answer_was_not_compared(self):
        self.oslo.go_away()
        propagator = self.rome.propagate()
        paris, oslo = propagator.comparing
        self.assertIsNotNone(paris.compared)
        self.assertIsNone(oslo.compared)
        self.assertEqual([paris.compared, None], [
            peer.compared for peer in read(self.rome.root).peers])

    def test_one_that_was_not_compared_again_is_told_of_and_asked_soon(self):
        self.settle()
        propagator = self.rome.propagator(compare_interval='1000',
                                          max_retry_delay='10')
        propagator.run_once()
        paris, oslo = propagator.comparing
        before = oslo.compared
        self.oslo.go_away()
        start = time.time()
        oslo.run_pass()
        self.assertLess(oslo._next - start, 500)
        told = propagator.state().peers
        self.assertEqual([0, 0], [peer.rows for peer in told])
        self.assertEqual('', told[0].error)
        self.assertIn('oslo', told[1].error)
        self.assertEqual(before, told[1].compared)
        self.oslo.listen()
        oslo.run_pass()
        self.assertGreater(oslo._next - start, 500)
        self.assertEqual('', propagator.state().peers[1].error)
        self.assertGreater(oslo.compared, before)

    def test_a_peer_that_cannot_tell_was_not_compared(self):
        self.settle()
        server = self.container_servers[int(self.paris.conf['bind_port'])]
        server.fail()
        paris, oslo = self.rome.propagate().comparing
        self.assertIsNone(paris.compared)
        self.assertEqual(compare_task.UNREADABLE, paris.error)
        self.assertEqual(0, paris.differing)
        self.assertIsNotNone(oslo.compared)

    def test_all_containers_are_compared_in_few_requests(self):
        for number in range(5):
            self.rome.make_container('c%d' % number)
        self.settle()
        propagator = self.rome.propagator()
        propagator.databases.scan()
        task = propagator.comparing[0]
        with mock.patch.object(compare_task, 'MAX_COMPARED', 4), \
                mock.patch.object(compare_task, 'sleep') as sleep, \
                mock.patch.object(
                    task._task.client, 'compare',
                    side_effect=task._task.client.compare) as compare:
            task.run_pass()
        self.assertEqual([4, 2], [len(call.args[1]) for call
                                  in compare.call_args_list])
        self.assertEqual(1, sleep.call_count)

    def test_what_has_no_room_in_an_answer_is_asked_for_again(self):
        for number in range(3):
            self.rome.make_container('c%d' % number)
            self.rome.put('o', b'', 'c%d' % number)
        self.settle()
        for number in range(3):
            for broker in self.paris.brokers(
                    hidden_container('c%d' % number)):
                with broker.get() as connection:
                    connection.execute('DELETE FROM object')
                    connection.commit()
        with mock.patch.object(compare_task, 'MAX_DIFFERENT', 1):
            self.assertEqual(3, self.compare(self.rome)['paris'])
        for number in range(3):
            self.assertEqual(1, len(self.paris.strategy_of(
                'c%d' % number).versions()))

    def test_what_is_not_compared_in_time_is_asked_for_again(self):
        for number in range(3):
            self.rome.make_container('c%d' % number)
        task = self.rome.propagator().comparing[0]
        task._databases.scan()
        with mock.patch.object(compare_task, 'BOUND', 0), \
                mock.patch.object(task._task.client, 'compare',
                                  side_effect=task._task.client.compare
                                  ) as compare:
            task.run_pass()
        self.assertEqual([4, 3, 2, 1], [
            len(call.args[1]) for call in compare.call_args_list])
        self.assertIsNotNone(task.compared)


class TestSince(SitesTestCase):
    """Since when a container differs."""

    def setUp(self):
        super().setUp()
        self.rome.create()
        propagator = self.rome.propagator(max_retry_delay='10')
        propagator.databases.scan()
        self.task = propagator.comparing[0]
        self.time = time.time()
        self.task._now = lambda: self.time
        self.task._offer = mock.Mock()
        self.database = propagator.first_replicas()[0]

    def see(self, *buckets):
        self.task._see(self.database, frozenset(buckets))
        found = self.task.since
        self.time += 100
        return found

    def test_a_bucket_differs_since_the_first_comparison_that_said_so(self):
        start = self.time
        self.assertEqual([start] * 3, [self.see(1, 2), self.see(2, 3),
                                       self.see(2)])

    def test_other_buckets_differ_anew(self):
        self.see(1)
        start = self.time
        self.assertEqual(start, self.see(2))

    def test_nothing_differs_any_more(self):
        self.see(1)
        self.assertIsNone(self.see())

    def test_what_was_never_offered_makes_no_difference(self):
        """A new site gets it in any case."""
        with mock.patch.object(compare_task, 'PAGE', 1):
            self.assertIsNone(self.see(1))
        self.task._offer.assert_not_called()

    def test_it_is_compared_again_soon_and_then_less_often(self):
        due = []
        for _ in range(13):
            now = self.time
            self.see(1)
            due += [each.until - now
                    for each in self.task._differing.values()]
        self.assertEqual([10, 20, 40], [round(each) for each in due[:3]])
        self.assertEqual(21600, round(due[-1]))

    def test_what_is_due_is_compared(self):
        self.see(1)
        self.task._next = self.time + 10 ** 6
        with mock.patch.object(CompareTask, '_compare') as compare:
            self.task.run_due()
        compare.assert_called_once()
        (database,), = compare.call_args.args
        self.assertEqual((ACCOUNT, CONTAINER), (
            database.account, database.container))
