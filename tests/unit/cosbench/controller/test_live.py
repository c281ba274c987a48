# SPDX-License-Identifier: Apache-2.0
"""What is shown of runs: the same while they go on and when they ended."""

import asyncio
import json
import unittest
from unittest import mock

from cosbench.controller import live
from cosbench.controller.measured import Measured
from cosbench.controller.result_document import filled
from cosbench.controller.run_store import Archive
from cosbench.controller.workload_queue import Controller, Entry
from cosbench.measure.histogram import Histogram
from cosbench.measure.result import Result
from cosbench.measure.summary import Metrics
from cosbench.measure.tally import Tally
from cosbench.measure.timeline import Timeline
from tests.unit.cosbench import results
from tests.unit.cosbench.controller import runs
from tests.unit.cosbench.directory_case import DirectoryCase


class Untouchable:
    """Fails whatever is asked of it."""

    def __getattribute__(self, name):
        raise AssertionError('%s was asked for' % name)


class LiveCase(unittest.TestCase):

    def setUp(self):
        self.drivers = [runs.driver('a', 3.0), runs.driver('b')]
        self.run_ = runs.started(self.drivers)
        self.work = self.run_.stages[0].works[0]
        self.shares = [runs.share(self.work, each, count, resent=count)
                       for each, count in zip(self.drivers, (30, 12))]
        self.entry = Entry(runs.submitted(self.run_), self.run_.workload,
                           self.run_)

    def look(self):
        return json.loads(self.entry.live())

    def seen(self):
        return self.look()['stages'][0]['works'][0]


class TestRunning(LiveCase):

    def test_it_is_what_the_document_says_and_no_histogram(self):
        document = filled(self.entry.document, self.run_)
        self.assertEqual(
            json.loads(live.ended(document, Result.from_json(document))),
            self.look())
        work = self.seen()
        self.assertEqual(42, work['operations'][0]['metrics']['op_count'])
        self.assertEqual(14.0, work['operations'][0]['metrics'][
            'throughput'])
        self.assertEqual([42], [each['count'] for each
                                in work['timeline']['op1']])
        self.assertEqual([30, 12], [each['resent'] for each
                                    in work['drivers']])
        self.assertNotIn('hdr', self.entry.live())

    def test_the_next_report_is_seen(self):
        self.seen()
        runs.news(self.shares[1], runs.report(20, 2))
        work = self.seen()
        # Tallies are since the start, timelines what is new.
        self.assertEqual(50, work['operations'][0]['metrics']['op_count'])
        self.assertEqual([62], [each['count'] for each
                                in work['timeline']['op1']])

    def test_failures_of_all_drivers_add_up(self):
        for each, errors in zip(self.shares, ({'a': 1, 'b': 2}, {'b': 3})):
            found = runs.report(3, 2)
            found['operations']['op1']['failures'] = errors
            runs.news(each, found)
        operation, = self.seen()['operations']
        self.assertEqual(({'a': 1, 'b': 5}, 6), (
            operation['failures'], operation['metrics']['failures']))

    def test_nothing_is_packed_to_look_at_it(self):
        packed = AssertionError('a document is packed, or unpacked')
        with mock.patch.object(Histogram, 'to_json', side_effect=packed), \
                mock.patch.object(Timeline, 'to_json', side_effect=packed), \
                mock.patch.object(Tally, 'from_json', side_effect=packed), \
                mock.patch.object(Timeline, 'from_json', side_effect=packed):
            self.assertEqual('processing', self.look()['state'])

    def test_only_what_was_reported_anew_is_made_anew(self):
        self.look()
        with mock.patch.object(Metrics, 'of_all',
                               side_effect=Metrics.of_all) as made:
            self.look()
            self.assertEqual(0, made.call_count)
            runs.news(self.shares[0], runs.report(31, 2))
            self.look()
            self.look()
            # One operation of the one work; that of the other is kept.
            self.assertEqual(1, made.call_count)

    def test_states_are_those_of_now(self):
        self.look()
        self.work.reason = 'it broke'
        self.assertEqual('it broke', self.seen()['reason'])


class TestHeadline(LiveCase):

    def test_it_asks_nothing_of_what_was_measured(self):
        for stage in self.run_.stages:
            for work in stage.works:
                work.measured = Untouchable()
        self.run_.context.warnings.append('second')
        found = live.headline(self.entry.begun())
        self.assertEqual(('w1', 'processing', 10.0, ['first', 'second']),
                         tuple(found[key] for key in (
                             'id', 'state', 'started', 'warnings')))
        self.assertEqual('processing', self.entry.state.value)


class TestMeasured(unittest.TestCase):

    def test_a_report_is_taken_whole_or_not_at_all(self):
        measured = Measured(5)
        tally = Tally.from_json(runs.report(3)['operations']['op1'])
        wrong = Timeline(7)
        with self.assertRaises(ValueError):
            measured.take('m', {'op1': tally}, wrong)
        self.assertEqual((0, 0), (measured.count, measured.failed))
        measured.take('m', {'op1': tally}, Timeline(5))
        measured.take('m', {'op1': tally}, Timeline(5))
        self.assertEqual((3, 0), (measured.count, measured.failed))
        measured.take('n', {'op2': tally}, Timeline(5))
        self.assertEqual((6, 3), (measured.count,
                                  measured.tally('op2').count))


class TestEnded(DirectoryCase):

    def test_what_waits_and_what_ended_is_shown_by_a_controller(self):
        archive = Archive(self.path('archive'))
        self.addCleanup(archive.close)
        document = results.tiny()
        for stage in document['stages']:
            for work in stage['works']:
                work.update(counted=None)
        document.update(id=archive.new('n'))
        archive.save(document)

        async def look():
            controller = Controller(archive, [])
            await controller.open()
            run_id = controller.submit(
                runs.started([]).context.xml.encode(), 5)['id']
            return [json.loads(await controller.live(each))
                    for each in ('w1', run_id)]
        one, other = asyncio.run(look())
        self.assertEqual('finished', one['state'])
        work = one['stages'][1]['works'][0]
        self.assertEqual([4, 1], [each['metrics']['op_count']
                                  for each in work['operations']])
        self.assertEqual(['op1', 'op2'], list(work['timeline']))
        self.assertEqual(('queuing', [], []), (
            other['state'], other['stages'], other['drivers']))
