# SPDX-License-Identifier: Apache-2.0
"""Passes that follow each other look at what changed, and at nothing else."""

import os
import shutil
import time
from contextlib import contextmanager
from unittest import mock

from swift.common.utils import Timestamp
from swift.obj import replicator as stock

from swift_lightsync.sync import (
    changed_file,
    device_watch,
    full_exchange,
    standing_trees,
)
from swift_lightsync.sync.core.idleness import IDLE
from swift_lightsync.sync.core.sync_round import TURNS
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.names import JOURNAL_FILE
from tests.unit.sync.exchanges import (
    NOW,
    PARTS,
    ExchangeTestCase,
    Meddler,
    RsyncTestCase,
)


class StandingTestCase(ExchangeTestCase):
    """Three nodes whose replicators run for ever."""

    hosts = 3

    def setUp(self):
        super().setUp()
        for module, name, value in ((device_watch, 'TICK', 0),
                                    (standing_trees, 'SMALLEST', 1)):
            self.enterContext(mock.patch.object(module, name, value))
        for daemon in self.daemons:
            daemon.standing.enabled = True

    def settle(self):
        """Fill all partitions, and make passes until nothing changes."""
        self.put_all()
        for _ in range(4):
            self.run_passes()
        self.requests()
        self.asked()

    def run_passes(self):
        return [self.run_pass(number) for number in range(self.hosts)]

    def writer(self, number):
        """The diskfile manager of a node's object-server."""
        return self.nodes[number].app._diskfile_router[self.policy]

    def put_by(self, manager, part, name='o', stamp=1):
        return self.put(manager, 'sda', name, NOW + stamp, partition=part)

    def later(self, turns):
        """Stop the clock so many turns later, in the middle of one."""
        length = 3600 / TURNS
        then = (time.time() // length + 0.5 + turns) * length
        return mock.patch.object(time, 'time', lambda: then)

    def looks(self):
        """Count how often a fingerprint is compared with its files."""
        return self.enterContext(mock.patch.object(
            changed_file, 'is_current', wraps=changed_file.is_current))


class TestStanding(StandingTestCase):

    def test_a_stable_pass_looks_at_no_partition(self):
        self.settle()
        looks = self.looks()
        with mock.patch.object(stock.ObjectReplicator, 'collect_jobs') as jobs:
            for stats in self.run_passes():
                self.assert_stats(stats, attempted=PARTS, failure=0,
                                  hashmatch=PARTS, success=PARTS, rsync=0,
                                  suffix_count=PARTS)
        self.assertEqual(0, looks.call_count)
        jobs.assert_not_called()
        # One message from each node to each of the others at most.
        for asked in self.requests():
            self.assertLessEqual(asked.get('LIGHTSYNC', 0), self.hosts - 1)

    def test_what_is_in_trees_is_not_remembered_one_by_one(self):
        self.settle()
        for owner, prints in [
                *(('server', each.app._prints(self.policy))
                  for each in self.nodes),
                *(('replicator', each.fingerprints(self.policy))
                  for each in self.daemons)]:
            self.assertEqual([], [number for number in range(PARTS)
                                  if prints.seen('sda', number)], owner)

    def test_what_changed_is_looked_at_and_pushed(self):
        self.settle()
        self.put_by(self.writer(1), 3, 'new')
        looks = self.looks()
        for _ in range(2):
            self.run_passes()
        self.assert_converged()
        partitions = {call.args[0].rpartition('/')[2]
                      for call in looks.call_args_list}
        self.assertEqual({'3'}, partitions)

    def test_what_only_the_neighbour_lost_is_found(self):
        self.settle()
        for number in range(self.hosts):
            with self.subTest(number=number):
                shutil.rmtree(self.path(number, 5))
                for _ in range(2):
                    self.run_passes()
                self.assert_converged()

    def test_an_emptied_disk_is_filled(self):
        self.settle()
        for name in os.listdir(os.path.join(self.nodes[2].devices_dir,
                                            'sda')):
            shutil.rmtree(os.path.join(self.nodes[2].devices_dir, 'sda',
                                       name), ignore_errors=True)
        os.unlink(os.path.join(self.nodes[2].devices_dir, 'sda',
                               JOURNAL_FILE))
        for _ in range(2):
            self.run_passes()
        self.assert_converged()

    def test_deletes_travel(self):
        self.settle()
        self.writer(0).get_diskfile('sda', 2, 'a', 'c', 'o', self.policy
                                    ).delete(Timestamp(NOW + 5))
        for _ in range(3):
            self.run_passes()
        self.assert_converged()

    def test_who_writes_no_journal_is_found_in_the_interval(self):
        self.settle()
        # A stock daemon hashes at once, so that no queue shows it.
        disk = self.nodes[1].disk
        self.put_by(disk, 4, 'unknown')
        disk._get_hashes('sda', 4, self.policy)
        self.run_passes()
        self.assertNotEqual(self.tree(0), self.tree(1))
        for daemon in self.daemons:
            daemon.full_exchange_interval = 0
        self.run_passes()
        for daemon in self.daemons:
            daemon.full_exchange_interval = 1e9
        for _ in range(2):
            self.run_passes()
        self.assert_converged()

    def test_each_partition_has_its_turn_once_and_nothing_is_written(self):
        for daemon in self.daemons:
            daemon.full_exchange_interval = 3600
        self.settle()
        before = self.files()
        for hours in (1, 2):
            with self.later(hours * (TURNS + 1)):
                for scrubbed in (PARTS, 0):
                    self.run_passes()
                    self.assertEqual([scrubbed] * self.hosts, [
                        daemon.neighbours.tally.scrubbed
                        for daemon in self.daemons])
        self.assertEqual(before, self.files())

    def test_turns_keep_to_their_pace_and_none_is_forgotten(self):
        self.enterContext(mock.patch.object(full_exchange, 'LEAST', 3))
        daemon = self.daemons[0]
        daemon.full_exchange_interval = 3600
        self.settle()
        daemon.full_exchange_partitions_per_second = 1e-4
        ages, listed = [], []
        relist = Fingerprints.relist

        def note(prints, device, partition):
            listed.append(int(partition))
            return relist(prints, device, partition)

        with self.later(TURNS + 1), \
                mock.patch.object(Fingerprints, 'relist', note):
            for scrubbed in (3, 3, PARTS - 6, 0):
                self.run_pass(0)
                self.assertEqual(scrubbed, daemon.neighbours.tally.scrubbed)
                ages.append(daemon.full_exchanges.age('sda', time.time()))
        self.assertEqual(list(range(PARTS)), sorted(listed))
        # The report tells how long the rest has waited.
        self.assertGreater(min(ages[:2]), 3000)
        self.assertLess(max(ages[2:]), 1)

    @contextmanager
    def one_that_begins(self):
        """A replicator that has just begun, long after all was compared."""
        self.enterContext(mock.patch.object(full_exchange, 'LEAST', 3))
        self.settle()
        with self.later(2 * (TURNS + 1)):
            daemon = self.replicator(
                0, full_exchange_interval='3600',
                full_exchange_partitions_per_second='0.001')
            daemon.standing.enabled = True
            yield daemon

    def test_a_replicator_that_begins_keeps_to_the_pace(self):
        with self.one_that_begins() as daemon:
            for scrubbed in (3, 3, PARTS - 6, 0):
                stats = self.run_pass(0, daemon)
                self.assertEqual(scrubbed, daemon.neighbours.tally.scrubbed)
                self.assertEqual(PARTS, stats.attempted)

    def test_owed_partitions_that_have_left_are_forgotten(self):
        with self.one_that_begins() as daemon:
            self.run_pass(0, daemon)
            for partition in range(PARTS):
                shutil.rmtree(self.part_path(
                    partition=partition,
                    devices_dir=self.nodes[0].devices_dir))
            self.run_pass(0, daemon)
            self.assertEqual([], list(daemon.full_exchanges.waiting('sda')))

    def test_a_turn_that_did_not_come_to_its_end_is_repeated(self):
        for daemon in self.daemons:
            daemon.full_exchange_interval = 3600
        self.settle()
        relist = Fingerprints.relist

        def fail(prints, device, partition):
            if int(partition) == 3:
                raise OSError('the disk')
            return relist(prints, device, partition)

        with self.later(TURNS + 1):
            with mock.patch.object(Fingerprints, 'relist', fail):
                self.run_pass(0)
            for scrubbed in (1, 0):
                self.run_pass(0)
                self.assertEqual(scrubbed,
                                 self.daemons[0].neighbours.tally.scrubbed)

    def files(self):
        """The identities of what is noted in the partitions."""
        found = {}
        for each in self.nodes:
            for top, _, names in os.walk(each.devices_dir):
                for name in {'changed.pkl', 'hashes.pkl'} & set(names):
                    path = os.path.join(top, name)
                    found[path] = os.stat(path).st_ino, os.stat(
                        path).st_mtime_ns
        return found

    def test_a_dead_neighbour_leaves_its_partitions_to_the_rounds(self):
        self.settle()
        self.servers[1].close()
        self.put_by(self.writer(0), 6, 'new')
        for _ in range(2):
            for number in (0, 2):
                self.run_pass(number)
        self.assertEqual(self.tree(0), self.tree(2))

    def test_an_idle_neighbour_is_not_the_last(self):
        self.settle()
        self.nodes[1].app._activity.idle_seconds = lambda device: 10 * IDLE
        self.put_by(self.writer(0), 6, 'new')
        for _ in range(2):
            for number in (0, 2):
                self.run_pass(number)
        self.assert_converged()

    def test_a_pass_with_overrides_looks_at_everything(self):
        self.settle()
        looks = self.looks()
        self.run_pass(0, override_partitions=[1, 2])
        self.assertGreaterEqual(looks.call_count, 2)

    def test_without_a_journal_everything_is_looked_at(self):
        self.settle()
        os.unlink(os.path.join(self.nodes[0].devices_dir, 'sda',
                               JOURNAL_FILE))
        looks = self.looks()
        with mock.patch('os.link', side_effect=OSError(28, 'no space')):
            self.run_pass(0)
        self.assertGreaterEqual(looks.call_count, PARTS)


class TestReceipt(RsyncTestCase):

    def test_what_a_sender_pushed_before_it_died_is_not_stale(self):
        self.put_all()
        self.hash_all()
        self.put_one(0, 3, 'o', 2, b'newer')
        self.nodes[1].broken['REPLICATE'] = 503
        with Meddler(self.nodes[1], 'rehash', reply=503):
            self.run_pass(0)
        self.assertEqual(self.tree(0)['3/' + self.newest(0, 3)],
                         self.tree(1)['3/' + self.newest(0, 3)])
        # The suffix is hashed anew though nobody said that something came.
        disk = self.nodes[1].disk
        _, known = disk._get_hashes('sda', 3, self.policy)
        _, fresh = disk._get_hashes('sda', 3, self.policy,
                                    recalculate=list(known))
        self.assertEqual(fresh, known)

    def newest(self, number, part):
        """The path of the newest object of a partition."""
        top = self.path(number, part)
        return max((os.path.relpath(os.path.join(path, name), top)
                    for path, _, names in os.walk(top) for name in names
                    if name.endswith('.data')), key=os.path.basename)


class TestOneCopy(ExchangeTestCase):
    hosts = 5

    def test_it_reaches_all_replicas_in_one_pass(self):
        self.put_all()
        self.hash_all()
        self.put_one(2, 3, 'new')
        stats = self.run_pass(2)
        self.assert_converged()
        self.assert_stats(stats, rsync=self.hosts - 1, failure=0)
        # Who holds it asks nobody further.
        stats = self.run_pass(0)
        self.assert_stats(stats, rsync=0, hashmatch=PARTS)
