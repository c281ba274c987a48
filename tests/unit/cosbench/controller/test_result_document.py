# SPDX-License-Identifier: Apache-2.0
"""The result document: what is in it, and that readers take it."""

import asyncio
import unittest
from unittest import mock

from cosbench.controller import work as works
from cosbench.controller.core.workload_states import StageState
from cosbench.controller.result_document import filled, terminated
from cosbench.measure.result import Result
from tests.unit.cosbench.controller import runs


class DocumentCase(unittest.TestCase):

    def setUp(self):
        self.drivers = [runs.driver('a', 3.0), runs.driver('b')]

    def run_of(self, config=''):
        return runs.started(self.drivers, config)

    def document(self, run):
        return filled(runs.submitted(run), run)


class TestFilled(DocumentCase):

    def test_the_tallies_of_all_drivers_are_one(self):
        run = self.run_of()
        for driver, count in zip(self.drivers, (30, 12)):
            runs.share(run.stages[0].works[0], driver, count)
        found = Result.from_json(self.document(run))
        operation = found.stages[0].works[0].operations[0]
        self.assertEqual((42, 42 * 7),
                         (operation.tally.count, operation.tally.bytes))
        self.assertEqual(42, sum(
            point.count for point in
            found.stages[0].works[0].timeline.points('op1')))

    def test_before_anything_happened_it_is_whole(self):
        run = self.run_of()
        run.started = None
        found = Result.from_json(self.document(run))
        self.assertEqual('waiting', found.stages[0].state)

    def test_drivers_are_charged_for_what_they_used(self):
        run = self.run_of()
        for count, cpu, lag in ((30, 80, 2), (12, 95, 1)):
            runs.share(run.stages[0].works[0], self.drivers[0], count,
                       cpu=cpu, lag=lag)
        one, other = self.document(run)['drivers']
        self.assertEqual((95, 2, 21.0), tuple(one[key] for key in (
            'cpu_percent_p95', 'loop_lag_ms_p99',
            'operations_per_cpu_second')))
        self.assertEqual((None, None), tuple(other[key] for key in (
            'cpu_percent_p95', 'operations_per_cpu_second')))

    def test_what_was_sent_again_is_that_of_each_driver_and_work(self):
        run = self.run_of()
        for driver, resent in zip(self.drivers, (3, 0)):
            runs.share(run.stages[0].works[0], driver, 1, resent=resent)
        runs.share(run.stages[0].works[1], self.drivers[0], 0)
        self.assertEqual([[3, 0], [0]], [
            [each.resent for each in work.drivers] for work in
            Result.from_json(self.document(run)).stages[0].works])

    def test_the_rate_is_of_the_works_that_have_one(self):
        document = self.document(self.run_of('rate=50;histogram=false'))
        normal, special = document['stages'][0]['works']
        self.assertEqual((50, None), (normal['rate'], special['rate']))
        self.assertFalse(normal['histogram'])

    def test_the_histogram_is_reported_unless_it_is_switched_off(self):
        for config, expected in (('', True), ('histogram=yes', True),
                                 ('histogram=1|100', True),
                                 ('histogram=No', False)):
            document = self.document(self.run_of(config))
            self.assertIs(expected, document['stages'][0]['works'][0][
                'histogram'])

    def test_a_lost_driver_and_its_reason_are_shown(self):
        run = self.run_of()
        run.context.lose(self.drivers[1], 'it is gone')
        found = self.document(run)
        self.assertEqual([('alive', ''), ('lost', 'it is gone')], [
            (each['state'], each['reason']) for each in found['drivers']])
        self.assertIn('it is gone', found['warnings'])


class TestWarnings(DocumentCase):

    def test_a_driver_is_warned_of_in_the_work_that_it_limited(self):
        # None of its own, to be spoken to.
        run = runs.started([])
        normal, special = run.stages[0].works
        for of, driver, cpu, lag in (
                (normal, 0, 97, 1), (normal, 1, 20, 30), (special, 0, 40, 1)):
            runs.share(of, self.drivers[driver], 1, cpu=cpu, lag=lag)
        with mock.patch.object(works, 'steps', return_value=()):
            asyncio.run(run.run())
        found = self.document(run)['warnings']
        self.assertEqual(3, len(found), found)
        self.assertRegex(found[1], '^s1-s, work w: driver a used 97%')
        self.assertRegex(found[2], '^s1-s, work w: driver b was late by 30')


class TestTerminated(DocumentCase):

    def test_what_had_not_ended_is_cut_off_and_what_had_stays(self):
        run = self.run_of()
        stage = run.stages[0]
        stage.started = 10.0
        stage.enter(StageState.BOOTING)
        runs.share(stage.works[0], self.drivers[0], 30)
        document = terminated(self.document(run), 20.0)
        found = Result.from_json(document)
        self.assertEqual(('terminated', 20.0),
                         (found.state, found.stopped))
        self.assertEqual('terminated', found.stages[0].works[0].state)
        self.assertEqual(30, found.stages[0].works[0].operations[
            0].tally.count)
