# SPDX-License-Identifier: Apache-2.0
"""Experiments that are simulated: few false alarms, no slower one missed.

They end when their intervals are narrow enough, as real ones do: looking
after each round must not make alarms likelier.
"""

import random
import unittest

from cosbench.experiment.core.expression import parse
from cosbench.experiment.core.judgement import Answer
from cosbench.experiment.findings import Aims, Findings
from tests.unit.cosbench.experiment import simulated
from tests.unit.cosbench.experiment.plans import plan

NUMBER = 1000
MOST_WRONG, LEAST_FOUND = 0.05, 0.95
AIMS = Aims((parse('mean(read) > base'),))
PLAN = plan('base', 'other')


def experiment(rng, slower, noise):
    """:returns: its ``Findings``"""
    runs, drift = {'base': [], 'other': []}, 0.0
    while True:
        # The storage becomes slower or faster as time goes by.
        drift += rng.gauss(0, .02)
        for name, factor in (('base', 1), ('other', slower)):
            runs[name].append(simulated.noisy(rng, factor, noise, drift))
        if len(runs['base']) >= AIMS.least:
            found = Findings(PLAN, AIMS, runs)
            if found.is_enough:
                return found


class TestAlarms(unittest.TestCase):

    def shares(self, slower, noise):
        """Of experiments: verdicts that differ, conditions that hold."""
        rng = random.Random(11)
        all_ = [experiment(rng, slower, noise) for _ in range(NUMBER)]
        return tuple(sum(map(which, all_)) / NUMBER for which in (
            lambda found: any(row.differs for row in found.rows),
            lambda found: found.outcomes[0].answer is Answer.HOLDS))

    def test_the_same_against_itself_seldom_raises_an_alarm(self):
        for noise in (.01, .02):
            for share in self.shares(1, noise):
                self.assertLessEqual(share, MOST_WRONG)

    def test_what_is_five_percent_slower_is_found(self):
        for noise in (.01, .02):
            for share in self.shares(1.05, noise):
                self.assertGreaterEqual(share, LEAST_FOUND)
