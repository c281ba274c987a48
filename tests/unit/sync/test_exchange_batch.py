# SPDX-License-Identifier: Apache-2.0
"""exchange_batch: what travels by it, over real object-servers and rsyncd."""

import os
import shutil
from unittest import mock

from swift.common.utils import Timestamp

from swift_lightsync.sync import exchange_batch
from swift_lightsync.sync.core.engine.exchanging import Exchanging
from swift_lightsync.sync.exchange_batch import ExchangeBatch
from tests.unit.sync.exchanges import (
    NOW,
    PARTS,
    Meddler,
    RsyncTestCase,
    SsyncTestCase,
)
from tests.unit.sync.fixtures import ring_of_parts, wait_for


class Exchanges:
    """What holds by rsync as by ssync."""

    def test_all_kinds_of_files_travel_in_one_pass(self):
        self.make_a_bit_of_everything()
        stats = self.run_pass(0)
        self.assert_converged()
        self.assertEqual(['suffixes'] + self.after_hashes, self.others())
        self.assertNotIn('REPLICATE', self.requests()[1])
        self.assertEqual(
            {'attempted': PARTS, 'failure': 0, 'success': PARTS,
             'rsync': 5, 'hashmatch': 3, 'suffix_sync': 6,
             'suffix_count': PARTS + 3}, self.figures(stats))
        self.assertEqual([], self.errors())

    def test_superseded_files_are_gone_on_the_peer_after_the_pass(self):
        self.put_newer()
        self.run_pass(0)
        names = {os.path.basename(path) for path in self.tree(1)}
        self.assertEqual({Timestamp(NOW + 2).internal + '.data'}, names)

    def test_the_next_pass_is_one_message(self):
        self.make_a_bit_of_everything()
        self.run_pass(0)
        self.others(), self.requests()
        for number in range(self.hosts):
            self.run_pass(number)
        self.assertEqual(([], []), (self.others(0), self.others(1)))
        self.assertEqual([{'LIGHTSYNC': 1}] * 2, self.requests())

    def test_only_the_suffixes_that_differ_travel(self):
        for name in ('o', 'p', 'q'):
            self.put_all(name, 1)
        pushed = {str(part): {self.put_one(0, part, name, 2)}
                  for part, name in ((1, 'o'), (3, 'q'))}
        with self.pushes() as found:
            self.run_pass(0)
        self.assertEqual(pushed, found)
        self.assert_converged()

    def test_newer_files_of_the_peer_stay(self):
        self.put_all('o', 1)
        self.put_all('o', 2, [1])
        before = self.tree(1)
        self.run_pass(0)
        self.assertEqual(before, self.tree(1))
        self.run_pass(1)
        self.assert_converged()

    def test_a_pass_counts_what_one_by_one_would(self):
        self.make_a_bit_of_everything()
        batched = self.figures(self.run_pass(0))
        for part in range(PARTS):
            for number in range(2):
                shutil.rmtree(self.path(number, part))
        self.make_a_bit_of_everything()
        daemon = self.replicator(0)
        daemon.sync_method = getattr(daemon, self.method)
        daemon.rsync_module = self.daemons[0].rsync_module
        with self.one_by_one():
            alone = self.figures(self.run_pass(0, daemon))
        self.assertEqual(alone, batched)

    def test_a_peer_without_the_verb_is_not_asked_and_no_error(self):
        self.put_newer()
        self.nodes[1].broken['LIGHTSYNC'] = 405
        stats = self.run_pass(0)
        self.assert_converged(files=PARTS)
        self.assert_stats(stats, attempted=PARTS, success=PARTS, failure=0)
        self.assertEqual([], self.errors())
        self.assertEqual([], self.others())

    def test_batches_are_as_large_as_allowed(self):
        self.put_newer()
        with mock.patch.object(exchange_batch, 'PARTITIONS', 3):
            self.run_pass(0)
        self.assert_converged(files=PARTS)
        self.assertEqual(3, self.others().count('suffixes'))
        for name in ('o', 'p', 'q'):
            self.put_all(name, 3, [0])
        self.run_pass(0)
        self.others()
        for name in ('o', 'p', 'q'):
            self.put_all(name, 4, [0])
        # A partition with more than the limit has a batch of its own.
        for limit, batches in ((2, PARTS), (3, PARTS), (6, PARTS // 2),
                               (100, 1)):
            self.put_all('o', 4 + limit, [0])
            with mock.patch.object(exchange_batch, 'SUFFIXES', limit):
                self.run_pass(0)
            with self.subTest(limit=limit):
                self.assertEqual(batches, self.others().count('suffixes'))
                self.assert_converged(files=3 * PARTS)

    def test_a_put_during_the_exchange_is_found_by_the_next_pass(self):
        self.put_all()
        differing, push = ExchangeBatch._differing, Exchanging._push

        def put():
            steps.number += 1
            self.put_all('during', steps.number, [steps.host])
            self.put_all('o', 1000 + steps.number, [steps.host], (1,))

        def before_hashing(batch, *args):
            put()
            return differing(batch, *args)

        def after_hashing(batch, *args):
            found = differing(batch, *args)
            put()
            return found

        def after_push(batch, *args):
            done = yield from push(batch, *args)
            put()
            return done

        def steps():
            for owner, name, method in (
                    (ExchangeBatch, '_differing', before_hashing),
                    (ExchangeBatch, '_differing', after_hashing),
                    (Exchanging, '_push', after_push)):
                yield method.__name__, mock.patch.object(owner, name, method)
            for what in ['suffixes'] + self.after_hashes:
                yield 'before ' + what, Meddler(self.nodes[1], what, put)
                yield 'after ' + what, Meddler(
                    self.nodes[1], what, after=put)

        steps.number = 0
        for host in range(2):
            steps.host = host
            for name, meddling in steps():
                steps.number += 1
                self.put_all('o', 1000 + steps.number, [0])
                before = steps.number
                with self.subTest(name, host=host):
                    with meddling:
                        self.run_pass(0)
                    self.assertEqual(before + 1, steps.number)
                    newest = Timestamp(NOW + steps.number).internal + '.data'
                    self.run_pass(host)
                    if host:
                        self.run_pass(0)
                    self.assert_converged(files=2 * PARTS)
                    self.assertEqual(PARTS, sum(
                        path.endswith(newest) for path in self.tree(0)))

    def test_a_ring_that_has_changed_stops_the_exchange(self):
        self.put_newer()
        before = self.tree(1)
        self.daemons[0].next_check = 0
        with mock.patch.object(self.policy.object_ring, 'has_changed',
                               return_value=True):
            with self.pushes() as found:
                self.run_pass(0)
        self.assertEqual({}, found)
        self.assertEqual(before, self.tree(1))
        self.run_pass(0)
        self.assert_converged(files=PARTS)


class TestSsync(Exchanges, SsyncTestCase):
    pass


class TestRsync(Exchanges, RsyncTestCase):
    pass


class TestManyNeighbours(RsyncTestCase):
    """Each partition has another clockwise neighbour."""

    hosts = 4

    def set_ring(self, rows=None):
        self.policy.object_ring = ring_of_parts(
            self.root, self.ring_nodes,
            [[0, 1 + part % 3] for part in range(PARTS)])

    def assert_neighbours_converged(self):
        self.hash_all()
        for part in range(PARTS):
            self.assertEqual(
                self.tree(0, [part]), self.tree(1 + part % 3, [part]))

    def test_neighbours_are_dealt_with_at_once_but_not_more_than_allowed(
            self):
        for concurrency, expected in (1, 1), (4, 3):
            running, most = [], []
            original = Exchanging._exchange

            def exchange(exchanging, batch):
                node = batch.node
                running.append(node)
                most.append(len(running))
                wait_for(lambda: max(most) >= expected, 'exchanges at once')
                try:
                    return (yield from original(exchanging, batch))
                finally:
                    running.remove(node)

            self.put_all('o', 1 + concurrency, [0])
            self.daemons[0].concurrency = concurrency
            with mock.patch.object(Exchanging, '_exchange', exchange):
                stats = self.run_pass(0)
            self.assertEqual(expected, max(most))
            self.assert_stats(stats, attempted=PARTS, success=PARTS, failure=0)
            self.assert_neighbours_converged()

    def test_one_neighbour_that_fails_does_not_stop_the_others(self):
        self.put_newer()
        with Meddler(self.nodes[2], 'suffixes', reply=500):
            stats = self.run_pass(0)
        self.assert_stats(stats, attempted=PARTS, success=PARTS, failure=0)
        found = self.requests()
        self.assertEqual([False, False, True, False],
                         ['REPLICATE' in each for each in found])
        self.assert_neighbours_converged()
