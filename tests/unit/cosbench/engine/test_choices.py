# SPDX-License-Identifier: Apache-2.0
"""Choices: their distribution, and that nothing but the seed makes them."""

import itertools
import random
import unittest
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from cosbench.engine.core.choices import (
    Choices,
    Counters,
    chooser,
    seed_of,
    targets,
)
from cosbench.workload.division import Share
from tests.unit.cosbench.chances import ChanceCase
from tests.unit.cosbench.documents import operation, work, works_of


def operations(*ratios):
    text = ''.join(operation('containers=c(1);objects=c(1)', 'read',
                             'ratio="%d"' % ratio) for ratio in ratios)
    return works_of(work(text))[0].operations


class TestRatios(ChanceCase):

    def test_operations_come_as_often_as_their_ratios_say(self):
        for ratios in ((80, 20), (1, 99), (50, 30, 15, 5)):
            choose = chooser(operations(*ratios), random.Random(7))
            self.assertFits([choose() for _ in range(100000)], {
                index: ratio / 100 for index, ratio in enumerate(ratios)})

    def test_the_order_is_not_that_of_the_ratios(self):
        choose = chooser(operations(50, 50), random.Random(7))
        self.assertFits(
            list(itertools.pairwise(choose() for _ in range(40001))),
            dict.fromkeys(itertools.product((0, 1), (0, 1)), 1 / 4))


class TestSelectors(ChanceCase):

    def drawn(self, config, share=None, number=60000, division='none'):
        found = works_of(work(operation(
            config, 'read'), 'workers="4" runtime="1" division="%s"'
            % division))[0].operations[0]
        choices = Choices(found, random.Random(3), Counters(), share)
        return Counter(choices.object() for _ in range(number))

    def test_uniform_objects_are_uniform(self):
        counts = self.drawn('containers=c(1);objects=u(1,10)')
        self.assertFits(counts, {
            'myobjects%d' % number: 1 / 10 for number in range(1, 11)})

    def test_divided_workers_stay_in_their_own_parts(self):
        parts = [set(self.drawn('containers=c(1);objects=u(1,32)',
                                Share(index, 4), division='object'))
                 for index in range(4)]
        for one, other in itertools.combinations(parts, 2):
            self.assertFalse(one & other)
        self.assertEqual(32, len(set.union(*parts)))

    def test_workers_of_a_mission_share_the_counter_of_s(self):
        found = works_of(work(operation(
            'containers=c(1);objects=s(1,1000)', 'read')))[0].operations[0]
        counters = Counters()
        draws = [Choices(found, random.Random(index), counters, None)
                 for index in range(3)]
        got = [draws[turn % 3].object() for turn in range(1000)]
        self.assertEqual(['myobjects%d' % (number + 1)
                          for number in range(1000)], got)


class TestSeeds(unittest.TestCase):

    def test_each_place_has_a_seed_of_its_own(self):
        seeds = {seed_of(seed, stage, worker) for seed in range(5)
                 for stage in range(12) for worker in range(12)}
        self.assertEqual(5 * 12 * 12, len(seeds))

    def test_the_same_place_has_the_same_seed_in_every_process(self):
        # printf 1/0/main | sha256sum
        self.assertEqual(0x52dcbe851f39739b, seed_of(1, 0, 'main') >> 192)


class TestTargets(unittest.TestCase):

    @given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 12))
    def test_workers_go_through_all_there_is_once(self, containers, objects,
                                                  workers):
        found = works_of(
            '<work type="cleanup" workers="%d" config="containers=r(1,%d);'
            'objects=r(1,%d)"/>' % (workers, containers, objects)
        )[0].operations[0]
        seen = Counter(
            target for index in range(workers)
            for target in targets(found, Share(index, workers)))
        self.assertEqual(Counter(
            ('mycontainers%d' % each, 'myobjects%d' % other)
            for each in range(1, containers + 1)
            for other in range(1, objects + 1)), seen)
