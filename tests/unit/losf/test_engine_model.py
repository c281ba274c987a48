# SPDX-License-Identifier: Apache-2.0
"""Power cuts anywhere, beside writes, deletes, sweeping and compaction.

``SEEDS=20000`` lives as many lives, of five cuts each; ``FIRST_SEED`` begins
elsewhere.
"""

import os
import unittest

from tests.unit.losf.engine_model import FLAWS, live

FIRST = int(os.environ.get('FIRST_SEED', '0'))
SEEDS = int(os.environ.get('SEEDS', '500'))
#: of lives with a flaw that are lived until it is noticed
PATIENCE = 20000


class TestModel(unittest.TestCase):

    def test_nothing_is_lost_or_comes_back(self):
        for seed in range(FIRST, FIRST + SEEDS):
            with self.subTest(seed=seed):
                live(seed)

    def is_noticed(self, flaw):
        for seed in range(PATIENCE):
            try:
                live(seed, flaw=flaw)
            except AssertionError:
                return True
        return False

    def test_each_step_that_is_left_out_is_noticed(self):
        for flaw in FLAWS:
            with self.subTest(flaw=flaw):
                self.assertTrue(self.is_noticed(flaw))
