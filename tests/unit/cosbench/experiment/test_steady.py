# SPDX-License-Identifier: Apache-2.0
"""A run ends early once its batches agree, and not before."""

import random
import unittest
from types import SimpleNamespace

from cosbench.experiment.core.steady import (
    LEAST_INTERVALS,
    UNTOLD,
    Steady,
    width,
)
from cosbench.measure.sample import Sample
from cosbench.measure.timeline import Timeline


def line(rng, seconds, rate=50, mean=.005, slow=lambda second: 1):
    found, when = Timeline(1), 0.0
    while True:
        when += rng.expovariate(rate)
        if when >= seconds:
            return found
        took = mean * rng.lognormvariate(-.125, .5) * slow(int(when))
        found.add(Sample('op1', when - took, when - took, when, when, 1))


def intervals(*args, **more):
    found = line(*args, **more)
    return found.intervals('op1', 0, args[1])


class TestWidth(unittest.TestCase):

    def test_it_shrinks_as_time_goes_by(self):
        rng = random.Random(3)
        widths = [width(intervals(rng, seconds), .95)
                  for seconds in (20, 80, 320)]
        self.assertTrue(widths[0] > 1.4 * widths[1] > 2 * widths[2], widths)

    def test_what_lasts_for_seconds_makes_it_wide(self):
        even = width(intervals(random.Random(3), 80), .95)
        waves = width(intervals(random.Random(3), 80, slow=lambda second:
                                3 if second // 8 % 2 else 1), .95)
        self.assertGreater(waves, 5 * even)

    def test_too_little_is_not_known(self):
        self.assertIsNone(width(intervals(
            random.Random(1), LEAST_INTERVALS - 1), .95))
        self.assertIsNone(width(Timeline(1).intervals('op1', 0, 99), .95))
        self.assertIsNone(width(intervals(
            random.Random(1), 40, rate=.1), .95))

    def test_the_true_mean_is_in_nearly_all_of_them(self):
        rng, inside = random.Random(8), 0
        for _ in range(100):
            found = intervals(rng, 40)
            mean = sum(each.total for each in found) / sum(
                each.count for each in found)
            inside += abs(mean / 5000 - 1) <= width(found, .95)
        # It is the wider of two.
        self.assertGreaterEqual(inside, 95)


class TestSteady(unittest.TestCase):

    def stage(self, elapsed, runtime=600, operations=('op1',)):
        work = SimpleNamespace(
            elapsed=elapsed, measured=SimpleNamespace(
                timeline=line(random.Random(5), 100)),
            work=SimpleNamespace(runtime=runtime, rampup=10, operations=[
                SimpleNamespace(id=each) for each in operations]))
        return SimpleNamespace(works=[work])

    def test_it_says_when_and_how_well_it_is_known(self):
        self.assertRegex(Steady(.2)(self.stage(90)), r'known to ±\d+\.\d%')
        self.assertEqual('', Steady(.001)(self.stage(90)))

    def test_ramps_and_what_is_not_reported_do_not_count(self):
        soon = 10 + LEAST_INTERVALS + UNTOLD
        self.assertEqual('', Steady(.9)(self.stage(soon - .1)))
        self.assertTrue(Steady(.9)(self.stage(soon)))

    def test_every_operation_must_be_known(self):
        self.assertEqual('', Steady(.9)(self.stage(
            90, operations=('op1', 'op2'))))

    def test_a_work_that_ends_by_itself_is_left_alone(self):
        self.assertEqual('', Steady(.9)(self.stage(90, runtime=0)))
