# SPDX-License-Identifier: Apache-2.0

import asyncio
import unittest
from unittest import mock

from cosbench.controller import lost_drivers
from cosbench.controller.core.workload_states import OnLoss, StageState
from cosbench.controller.driver_client import (
    DriverLost,
    NoAnswer,
    RequestDenied,
)
from cosbench.controller.driver_share import DriverShare
from cosbench.controller.lost_drivers import LostDrivers
from cosbench.controller.measured import Measured
from cosbench.controller.work import WorkFailed
from cosbench.engine.core.mission import Mission
from cosbench.measure.drivers import Stragglers
from tests.unit.cosbench.controller import runs


def lost_share(*answers):
    """:returns: a ``Share`` whose driver gives these when it is asked"""
    driver = runs.driver('a')
    driver.ask = mock.AsyncMock(side_effect=answers)
    return DriverShare(driver, Mission('m', '', 0, 0, 0, 3, 1), Measured(5))


class TestLostDrivers(unittest.TestCase):

    def warnings_of(self, share, until):
        warnings = []

        async def run():
            found = LostDrivers(warnings)
            found.end_mission_of(share)
            while not until(share):
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            await found.close()
        with mock.patch.object(lost_drivers, 'PAUSE', 0):
            asyncio.run(run())
        return warnings

    def test_a_driver_that_comes_back_is_told_to_end_it(self):
        share = lost_share(NoAnswer('x'), NoAnswer('x'),
                           {'state': 'cancelled'})
        warning, = self.warnings_of(share, lambda share: share.is_ended_late)
        self.assertEqual([mock.call('POST', '/v1/missions/m/cancel')] * 3,
                         share.driver.ask.call_args_list)
        self.assertRegex(warning, 'driver a, which was lost, answers again '
                         'after . s: until then its 3 workers')

    def test_one_that_knows_nothing_of_it_is_left_alone(self):
        share = lost_share(RequestDenied(404, 'no such mission'))
        self.assertEqual([], self.warnings_of(
            share, lambda share: share.driver.ask.call_count))

    def test_nobody_is_asked_after_the_end(self):
        share = lost_share(*[NoAnswer('x')] * 1000)
        self.assertEqual([], self.warnings_of(
            share, lambda share: share.driver.ask.call_count > 2))
        self.assertLess(share.driver.ask.call_count, 1000)


class TestLosses(unittest.TestCase):

    def test_the_mission_of_each_lost_driver_is_ended(self):
        for policy in OnLoss:
            run = runs.started([runs.driver('a'), runs.driver('b')])
            run.context.on_loss = policy
            work, share = run.stages[0].works[0], lost_share()
            with mock.patch.object(run.context, 'lost_drivers') as found:
                try:
                    work._lose(share, DriverLost('gone'))
                except WorkFailed:
                    self.assertIs(OnLoss.FAIL, policy)
                found.end_mission_of.assert_called_once_with(share)


class TestTakeover(unittest.TestCase):

    def test_others_begin_where_the_work_stands(self):
        run = runs.started([runs.driver('a')])
        work = run.stages[0].works[0]
        with mock.patch.object(type(work), 'elapsed', 2.0), \
                mock.patch.object(work, '_place',
                                  mock.AsyncMock(return_value=[])) as place:
            asyncio.run(work._carry(lost_share()))
        self.assertEqual(2.0, place.call_args.args[0].elapsed)


class TestJudgement(unittest.TestCase):

    def judged(self, late=Stragglers(), done=1000, config=''):
        run = runs.started([runs.driver('a')], config)
        work = run.stages[0].works[0]
        runs.share(work, runs.driver('a'), done).stragglers = late
        work._enter = mock.Mock()
        work._judge()
        return work._enter.call_args.args[0], ' '.join(work.warnings)

    def test_operations_that_hang_beyond_the_end_are_told_of(self):
        state, text = self.judged(Stragglers(4, 0, 30.0))
        self.assertIs(StageState.COMPLETED, state)
        self.assertIn('4 operations that began in its run time ended up to '
                      '30.0 s after it, 0 of them failed', text)

    def test_their_failures_are_failures(self):
        state, text = self.judged(Stragglers(400, 400, 0.1))
        self.assertIs(StageState.FAILED, state)
        self.assertIn('400 of them failed', text)
        # Of afr's 20 % they are half.
        self.assertIs(StageState.COMPLETED,
                      self.judged(Stragglers(100, 100, 0.1))[0])

    def test_a_rate_that_is_not_reached_is_warned_of(self):
        # In three seconds; of few, one that ends too late is no shortfall.
        for rate, done, warned in ((1000, 900, True), (2, 5, False)):
            _, text = self.judged(done=done, config='rate=%d' % rate)
            self.assertEqual(warned, 'where %d were asked for' % rate in text)

    def test_the_last_ones_of_a_good_run_are_not_worth_a_word(self):
        state, text = self.judged(Stragglers(2, 0, 0.1))
        self.assertIs(StageState.COMPLETED, state)
        self.assertNotIn('began in its run time', text)
