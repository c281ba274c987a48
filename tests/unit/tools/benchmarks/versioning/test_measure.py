# SPDX-License-Identifier: Apache-2.0

import contextlib
import io
import unittest
from concurrent.futures import Future
from unittest import mock

from tools.benchmarks.errors import BenchError
from tools.benchmarks.sizes import MIB
from tools.benchmarks.versioning import command
from tools.benchmarks.versioning.client import Op, Outcome
from tools.benchmarks.versioning.command import Bench
from tools.benchmarks.versioning.measure import Trial, What, object_names
from tools.benchmarks.versioning.settings import MODES, Settings

#: delays that a request of a mode waits for
ROUNDS = {'write-repair': {'PUT': 2, 'GET': 1}, 'none': {'PUT': 1, 'GET': 0}}


class FakeSite:
    """Tells what it was asked for; ``seconds`` is the delay of now."""

    token = 't'

    def __init__(self):
        self.made, self.forgotten, self.seconds = [], 0, 0

    def make(self, mode, container):
        self.made.append((mode, container))
        return 'http://site/%s' % container

    def delay(self, seconds):
        self.seconds = seconds

    def forget(self):
        self.forgotten += 1


class FakeClients:
    """An executor whose requests take what the modes' rounds say."""

    def __init__(self, site):
        self.site = site
        self.loads = []
        self.broken = False

    def submit(self, play, load):
        future = Future()
        self.loads.append(load)
        mode, _ = self.site.made[-1]
        if self.broken and load.op is Op.GET:
            future.set_exception(BenchError('none succeeded'))
            return future
        wait = 0.1 + ROUNDS[mode][load.op.name] * self.site.seconds
        future.set_result(Outcome(1, (wait,) * len(load.names), ()))
        return future


class TestTrial(unittest.TestCase):

    def setUp(self):
        self.site = FakeSite()
        self.clients = FakeClients(self.site)
        self.trial = Trial(self.site, self.clients, Settings(seed=9))

    def test_puts_come_first_and_gets_read_what_they_wrote(self):
        found = self.trial.measure('none', 2, MIB, 20, 4)
        self.assertEqual([What('none', op, MIB, 20, 4)
                          for op in ('PUT', 'GET')], list(found))
        self.assertEqual([2, 2], [run.run for run in found.values()])
        _first, put, get = self.clients.loads
        self.assertEqual((Op.PUT, Op.GET), (put.op, get.op))
        for load in (put, get):
            self.assertEqual(
                (object_names(20), MIB, 4, 9, 't'),
                (load.names, load.size, load.clients, load.seed, load.token))

    def test_each_measurement_has_a_container_of_its_own(self):
        for run in (1, 2):
            for size in (1, 2):
                self.trial.measure('none', run, size, 2)
        self.assertEqual(4, len(set(self.site.made)))

    def test_the_files_go_also_when_nothing_could_be_measured(self):
        self.clients.broken = True
        with self.assertRaises(BenchError):
            self.trial.measure('none', 1, 1, 2)
        self.assertEqual(1, self.site.forgotten)

    def test_round_trips_are_counted_by_the_delay_of_the_site(self):
        for mode, rounds in ROUNDS.items():
            found = self.trial.count_rounds(mode, 2)
            for op, count in rounds.items():
                self.assertAlmostEqual(count, found[op])
            self.assertEqual(0, self.site.seconds)

    def test_what_is_remembered_is_known_before_a_delay_counts(self):
        self.trial.count_rounds('none', 1)
        self.assertEqual([Op.PUT] * 4 + [Op.GET] * 4,
                         [load.op for load in self.clients.loads])


class TestBench(unittest.TestCase):

    def bench(self, **fields):
        self.sites = {}
        bench = Bench(Settings(sizes=(4, MIB), modes=tuple(ROUNDS),
                               requests=20, batches=(300,), runs=2,
                               **fields), '/nowhere')
        bench.say = lambda text: None

        def site(_settings, _root, name):
            self.sites[name] = FakeSite()
            return contextlib.nullcontext(self.sites[name])

        def trial(site, _clients, settings):
            return Trial(site, FakeClients(site), settings)

        with mock.patch.object(command, 'Site', site), \
                mock.patch.object(command, 'Trial', trial):
            bench.run()
        return bench

    def test_there_is_a_record_for_each_mode_op_and_kind_of_work(self):
        bench = self.bench(rounds=1)
        self.assertEqual(
            [(op, size, requests, concurrency, mode)
             for size, requests, concurrency in (
                 (4, 20, 1), (MIB, 20, 1), (4, 300, 3))
             for op in ('PUT', 'GET') for mode in ROUNDS],
            [(*each.work, each.mode) for each in bench.records()])
        for each in bench.records():
            self.assertEqual([1, 2], [run.run for run in each.runs])
            self.assertAlmostEqual(ROUNDS[each.mode][each.op],
                                   each.metadata_round_trips)
        self.assertEqual([], bench.failures)

    def test_only_the_clusters_that_are_needed_are_made(self):
        self.bench()
        self.assertEqual({MODES[mode].site for mode in ROUNDS},
                         set(self.sites))

    def test_without_rounds_nothing_is_said_of_them(self):
        self.assertEqual({None}, {each.metadata_round_trips
                                  for each in self.bench(rounds=0).records()})

    def test_a_mode_that_fails_is_told_and_the_others_are_measured(self):
        def broken(self, mode, *args):
            if mode == 'none':
                raise BenchError('no cluster')
            return measure(self, mode, *args)

        measure = Trial.measure
        with mock.patch.object(Trial, 'measure', broken):
            bench = self.bench(rounds=0)
        self.assertEqual({'write-repair'},
                         {each.mode for each in bench.records()})
        self.assertIn('none, run 1: no cluster', bench.failures)
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(1, bench.status('failed'))


if __name__ == '__main__':
    unittest.main()
