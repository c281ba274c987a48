# SPDX-License-Identifier: Apache-2.0
"""Missions run: what is asked of the storage, what is counted, the end."""

import asyncio
import time
import unittest
from collections import Counter

from cosbench.adaptors.base import OperationError
from cosbench.engine.core.mission import MissionState, Step
from cosbench.engine.mission_run import MissionRun
from cosbench.measure.summary import Metrics
from cosbench.measure.tally import Tally
from cosbench.measure.timeline import Timeline
from tests.unit.cosbench.documents import operation, work, wrapped
from tests.unit.cosbench.engine.runs import Recorder, mission, ran, tally
from tests.unit.cosbench.engine.virtual_time import VirtualTime

READ = operation('containers=c(1);objects=u(1,9)', 'read')


def document(operations=READ, attributes='workers="4" totalOps="50"'):
    return wrapped(work(operations, attributes))


async def cancel(run):
    await run.cancel('asked')


class TestLimits(unittest.TestCase):

    def test_total_ops_are_done_exactly(self):
        for workers, total in ((4, 50), (7, 3), (1, 1), (16, 33)):
            storage = Recorder()
            storage.resent = 7
            run = ran(document(attributes='workers="%d" totalOps="%d"'
                               % (workers, total)), storage)
            self.assertEqual(7, run.report(0)['resent'])
            self.assertEqual(total, len(storage.asked))
            self.assertEqual(total, tally(run).count)
            self.assertIs(MissionState.COMPLETED, run.state)

    def test_a_worker_stops_when_its_bytes_are_used_up(self):
        storage = Recorder()
        write = operation('containers=c(1);objects=u(1,9);sizes=c(100)B')
        ran(document(write, 'workers="2" totalBytes="1000"'), storage)
        self.assertEqual(1000, sum(each[3] for each in storage.asked))

    def test_run_time_ends_a_run_and_its_ramps_do_not_count(self):
        storage = Recorder(delay=0.01)
        clock = VirtualTime()
        begin = clock()
        run = ran(document(attributes='workers="2" rampup="1" runtime="1" '
                           'rampdown="1"'), storage, clock=clock)
        self.assertAlmostEqual(3, clock() - begin, delta=0.02)
        found = tally(run)
        asked = len(storage.asked)
        self.assertAlmostEqual(1 / 3, found.count / asked, delta=0.02)
        self.assertAlmostEqual(1, Metrics.of(found, 2).seconds, delta=0.02)
        self.assertAlmostEqual(1, run.report(0)['counted'], delta=0.01)
        # The timeline has the ramps too.
        timeline = Timeline.from_json(run.report(0)['timeline'])
        self.assertEqual(asked, sum(
            point.count for point in timeline.points('op1')))

    def test_what_begins_late_has_only_the_rest_of_the_time(self):
        # All of it would take far longer than what is waited for.
        run = ran(document(attributes='workers="2" runtime="3600"'),
                  Recorder(delay=0.01), elapsed=3599.8)
        self.assertIs(MissionState.COMPLETED, run.state)

    def test_operations_that_do_not_end_are_aborted_and_counted(self):
        run = ran(document(attributes='workers="3" runtime="1"'),
                  Recorder(delay=60), grace=0.2)
        self.assertEqual(3, run.report(0)['aborted'])
        self.assertEqual(0, tally(run).count + tally(run).failed)
        self.assertIs(MissionState.COMPLETED, run.state)

    def test_operations_that_end_after_the_run_time_are_told_of(self):
        failing = Recorder(delay=1.5, refuse=lambda *args: 'timeout')
        run = ran(document(attributes='workers="3" runtime="1"'), failing)
        found = run.report(0)['late']
        self.assertEqual((3, 3), (found['operations'], found['failed']))
        self.assertAlmostEqual(0.5, found['seconds'], delta=0.01)
        self.assertEqual(0, tally(run).count + tally(run).failed)

    def test_a_storage_that_never_waits_does_not_stop_the_loop(self):
        clock, turns = VirtualTime(), []

        class Works(Recorder):
            async def _done(self, *args):
                clock.now += 0.0001
                return await super()._done(*args)

        async def watch(run):
            while not run.state.final:
                await asyncio.sleep(0.01)
                turns.append(clock())
        ran(document(attributes='workers="8" runtime="1"'), Works(),
            during=watch, clock=clock)
        self.assertGreater(len(turns), 10)
        late = max(after - before for before, after
                   in zip(turns, turns[1:]))
        self.assertLess(late, 0.1)


class TestChoices(unittest.TestCase):

    MIXED = operation('containers=u(1,4);objects=u(1,99)', 'read',
                      'ratio="70"') + operation(
        'containers=u(1,4);objects=u(1,99);sizes=u(1,50)B', 'write',
        'ratio="30"')

    def asked(self, first, count, seed=1):
        storage = Recorder()
        ran(document(self.MIXED, 'workers="4" totalOps="400"'), storage,
            first=first, count=count, seed=seed)
        # What a read finds depends on what was written before.
        return Counter(each if each[0] == 'put' else each[:3]
                       for each in storage.asked)

    def test_the_same_seed_gives_the_same_operations_on_any_drivers(self):
        self.assertEqual(self.asked(0, 4),
                         self.asked(0, 1) + self.asked(1, 3))

    def test_another_seed_gives_others(self):
        self.assertNotEqual(self.asked(0, 4), self.asked(0, 4, seed=2))

    def test_every_type_of_operation_is_done(self):
        storage = Recorder()
        text = ''.join(
            operation(config, kind, 'ratio="20"') for kind, config in (
                ('read', 'containers=c(1);objects=c(1)'),
                ('write', 'containers=c(2);objects=c(2);sizes=c(9)B'),
                ('delete', 'containers=c(3);objects=c(3)'),
                ('list', 'containers=c(4)'),
                ('filewrite', 'containers=c(5);files=x;fileselection=s')))
        ran(document(text, 'workers="1" totalOps="200"'), storage,
            files={'op5': (__file__,)})
        with open(__file__, 'rb') as source:
            size = len(source.read())
        self.assertEqual({
            ('get', 'mycontainers1', 'myobjects1', 0),
            ('put', 'mycontainers2', 'myobjects2', 9),
            ('delete', 'mycontainers3', 'myobjects3', 0),
            ('list', 'mycontainers4', None, 0),
            ('put', 'mycontainers5', 'test_mission_run.py', size)},
            set(storage.asked))


class TestSpecialWorks(unittest.TestCase):

    def asked(self, kind, config, step=Step.MAIN, workers=3):
        self.storage = Recorder()
        run = ran(wrapped('<work type="%s" workers="%d" config="containers='
                          'r(1,3);%s"/>' % (kind, workers, config)),
                  self.storage, step=step)
        self.assertIs(MissionState.COMPLETED, run.state, run.reason)
        return sorted(self.storage.asked), run

    def test_init_makes_and_dispose_removes_each_container_once(self):
        for kind, name in (('init', 'create'), ('dispose', 'dispose')):
            asked, _ = self.asked(kind, '', workers=5)
            self.assertEqual([(name, 'mycontainers%d' % number, None, 0)
                              for number in (1, 2, 3)], asked)

    def test_prepare_writes_and_cleanup_deletes_each_object_once(self):
        for kind, name, size in (('prepare', 'put', 7),
                                 ('cleanup', 'delete', 0)):
            asked, run = self.asked(kind, 'objects=r(1,4);sizes=c(7)B')
            self.assertEqual(sorted(
                (name, 'mycontainers%d' % each, 'myobjects%d' % other, size)
                for each in (1, 2, 3) for other in (1, 2, 3, 4)), asked)
            self.assertEqual(12, tally(run).count)

    def test_containers_are_created_with_the_headers_of_the_config(self):
        for kind, step, id in (
                ('init', Step.MAIN, 'op1'),
                ('prepare', Step.CONTAINERS, 'op1-containers')):
            asked, run = self.asked(
                kind, 'createContainer=true;objects=r(1,4);sizes=c(7)B;'
                'cheader.X-A=b', step)
            names = ['mycontainers%d' % number for number in (1, 2, 3)]
            self.assertEqual([('create', name, None, 0) for name in names],
                             asked)
            self.assertEqual(dict.fromkeys(names, (('x-a', 'b'),)),
                             self.storage.headers)
            self.assertEqual(3, tally(run, id).count)

    def test_a_delay_asks_nothing(self):
        storage = Recorder()
        run = ran(wrapped('<work name="d" type="delay"/>'), storage)
        self.assertEqual([], storage.asked)
        self.assertIs(MissionState.COMPLETED, run.state)


class TestFailures(unittest.TestCase):

    def test_failures_are_counted_by_their_class(self):
        kinds = {'myobjects1': 'http 503', 'myobjects2': 'timeout'}
        storage = Recorder(refuse=lambda *args: kinds.get(args[2]))
        run = ran(document(attributes='workers="4" totalOps="900"'), storage)
        asked = Counter(each[2] for each in storage.asked)
        self.assertEqual({'http 503': asked['myobjects1'],
                          'timeout': asked['myobjects2']},
                         tally(run).failures)
        self.assertEqual(900, tally(run).count + tally(run).failed)

    def test_a_bug_of_an_adaptor_is_a_failure_and_logged_once(self):
        storage = Recorder(refuse=lambda *args: KeyError('x'))
        with self.assertLogs('cosbench.mission', 'ERROR') as logged:
            run = ran(document(), storage)
        self.assertEqual({'internal KeyError': 50}, tally(run).failures)
        self.assertEqual(1, len(logged.records))

    def test_a_storage_that_does_not_open_fails_the_mission(self):
        class Closed(Recorder):
            async def open(self):
                raise OperationError('auth', 'no such user')
        storage = Closed()
        run = ran(document(), storage)
        self.assertIs(MissionState.FAILED, run.state)
        self.assertIn('auth: no such user', run.reason)
        self.assertEqual(1, storage.closed)


class TestHashCheck(unittest.TestCase):

    def asked(self, more, kind, number, storage):
        return tally(ran(document(operation(
            'containers=c(1);objects=c(1);hashCheck=true' + more, kind),
            'workers="1" totalOps="%d"' % number), storage))

    def test_what_is_not_as_it_was_written_is_a_failure(self):
        storage = Recorder()
        self.asked(';sizes=c(1000)B', 'write', 1, storage)
        (key, data), = storage.objects.items()
        self.assertEqual(1000, len(data))
        self.assertEqual(3, self.asked('', 'read', 3, storage).count)
        for wrong in (bytes([data[0] ^ 1]) + data[1:], b'x' * 39):
            storage.objects[key] = wrong
            self.assertEqual({'checksum': 3}, self.asked(
                '', 'read', 3, storage).failures)


class TestCancel(unittest.TestCase):

    def test_workers_that_wait_for_their_time_end_at_once(self):
        # Far later than what is waited for.
        run = ran(document(attributes='workers="2" runtime="3600" '
                           'config="rate=0.001"'), Recorder(), during=cancel)
        self.assertIs(MissionState.CANCELLED, run.state)
        self.assertEqual('asked', run.reason)

    def test_operations_that_run_may_end(self):
        async def cancel_all(run):
            while len(storage.asked) < 4:
                await asyncio.sleep(0)
            await run.cancel('asked')
        storage = Recorder(delay=0.5)
        run = ran(document(attributes='workers="4" runtime="60"'), storage,
                  during=cancel_all)
        self.assertEqual(4, run.report(0)['used']['operations'])
        self.assertEqual(0, run.report(0)['aborted'])

    def test_what_is_cancelled_before_it_begins_asks_nothing(self):
        class Hangs(Recorder):
            async def open(self):
                self.opened += 1
                await asyncio.sleep(3600)

        async def run(storage, opens):
            found = MissionRun(*mission(document()), storage)
            opening = asyncio.ensure_future(found.prepare()) if opens else \
                None
            await asyncio.sleep(0)
            await found.cancel('asked')
            if opens:
                self.assertTrue(opening.cancelled())
            else:
                await found.prepare()
            return found
        for storage, opens in ((Recorder(), 0), (Hangs(), 1)):
            found = asyncio.run(run(storage, opens))
            self.assertIs(MissionState.CANCELLED, found.state)
            self.assertEqual(opens, storage.opened)
            self.assertEqual(1, storage.closed)
        storage = Recorder()
        found = ran(document(), storage, during=cancel)
        self.assertIs(MissionState.CANCELLED, found.state)
        self.assertEqual(([], 1, 1), (storage.asked, storage.opened,
                                      storage.closed))


class TestOpenLoop(unittest.TestCase):

    def test_the_rate_is_kept(self):
        storage = Recorder()
        ran(document(attributes='workers="5" runtime="2" '
                     'config="rate=200"'), storage)
        self.assertAlmostEqual(400, len(storage.asked), delta=8)

    def test_a_stall_shows_in_the_intended_start_latency_only_there(self):
        class Stalls(Recorder):
            async def _done(self, *args):
                if len(self.asked) == 50:
                    # As a server that stands still for a second.
                    self.until = time.monotonic() + 1
                wait = getattr(self, 'until', 0) - time.monotonic()
                if wait > 0:
                    await asyncio.sleep(wait)
                return await super()._done(*args)
        run = ran(document(attributes='workers="2" runtime="4" '
                           'config="rate=100"'), Stalls())
        found = tally(run)
        self.assertAlmostEqual(400, found.count, delta=8)
        # About 100 of 400 operations were due in the stall; two waited.
        response, = found.response.percentiles([90])
        intended, = found.intended.percentiles([90])
        self.assertLess(response, 100000)
        self.assertGreater(intended, 300000)
        longest, = found.intended.percentiles([100])
        self.assertAlmostEqual(1000000, longest, delta=150000)


class TestReports(unittest.TestCase):

    def test_a_report_is_made_each_interval_and_confirmed_ones_are_dropped(
            self):
        seen = []

        async def follow(run):
            after = 0
            while not run.state.final or run.sequence > after:
                await run.news(after, run.state.value, 5)
                report = run.report(after)
                # As if the first answer was lost, and asked for again.
                again = run.report(after)
                for key in ('operations', 'timeline', 'used'):
                    self.assertEqual(report and report[key],
                                     again and again[key])
                if report:
                    seen.append(report)
                    after = report['sequence']
        storage = Recorder(delay=0.005)
        ran(document(attributes='workers="2" runtime="3" interval="1"'),
            storage, during=follow)
        self.assertGreaterEqual(len(seen), 3)
        whole = Timeline(1)
        for report in seen:
            whole.merge(Timeline.from_json(report['timeline']))
        self.assertEqual(len(storage.asked), sum(
            point.count for point in whole.points('op1')))
        counts = [Tally.from_json(each['operations']['op1']).count
                  for each in seen]
        self.assertEqual(sorted(counts), counts)
