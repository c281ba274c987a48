# SPDX-License-Identifier: Apache-2.0
"""The model of vouching: no life misses a write, and each rule is needed.

``SEEDS=300`` lives as many lives of each kind, ``FIRST_SEED=N SEEDS=1``
repeats one.
"""

import os
import random
import unittest

from tests.unit.proar.model_life import Life
from tests.unit.proar.model_roles import World
from tests.unit.proar.model_vouching import REGIONS, RINGS

FIRST = int(os.environ.get('FIRST_SEED', 0))
SEEDS = int(os.environ.get('SEEDS', 40))
STEPS = 1500
#: Lives in which a rule that is missing has to be missed.
ENOUGH = 1000
ROLLS_OUT, LOSES = {'rolls_out': True}, {'loses': True}


def live(seed, *mutations, rolls_out=False, rings=RINGS, loses=False):
    return Life(World(random.Random(seed), mutations, rolls_out, rings,
                      loses)).live(STEPS)


class TestModel(unittest.TestCase):

    def test_with_deaths_and_cuts_no_read_misses_a_write(self):
        for seed in range(FIRST, FIRST + SEEDS):
            with self.subTest(seed=seed):
                self.assertEqual([], live(seed, rolls_out=False))

    def test_with_losses_nothing_that_a_device_has_is_404(self):
        for seed in range(FIRST, FIRST + SEEDS):
            with self.subTest(seed=seed):
                self.assertEqual([], live(seed, loses=True))

    def test_in_a_roll_out_no_read_misses_a_write(self):
        for seed in range(FIRST, FIRST + SEEDS):
            with self.subTest(seed=seed):
                self.assertEqual([], live(seed, rolls_out=True))

    def test_while_the_regions_change_no_read_misses_a_write(self):
        for seed in range(FIRST, FIRST + SEEDS):
            with self.subTest(seed=seed):
                self.assertEqual([], live(seed, rolls_out=True,
                                          rings=REGIONS))

    def test_each_rule_is_needed(self):
        for mutation, kind in (
                ('fence', {}), ('missed', {}), ('epochs', ROLLS_OUT),
                ('same ring', ROLLS_OUT), ('alone', ROLLS_OUT),
                ('whole ring', {}), ('unsure', LOSES), ('hand-offs', LOSES),
                ('marks', LOSES)):
            with self.subTest(mutation):
                self.assertTrue(any(live(seed, mutation, **kind)
                                    for seed in range(ENOUGH)))
