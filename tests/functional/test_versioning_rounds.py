# SPDX-License-Identifier: Apache-2.0
"""Round trips to the metadata, on real clusters (the paper's §3): with a delay
of the container servers alone, the latency of a request grows by as many
delays as it has round trips.
"""

import unittest
from argparse import Namespace
from tempfile import TemporaryDirectory

import pytest

from swift_lightsync.versioning.sites.options import FilterOptions
from tools.benchmarks.versioning import MODES, Keeper

CYCLES = 3
NEAR = 0.15


@pytest.mark.long
class TestRounds(unittest.TestCase):

    def rounds(self, mode):
        """:returns: (PUT, GET) round trips of a mode"""
        root = self.enterContext(TemporaryDirectory(prefix='ls-'))
        keeper = Keeper(Namespace(
            delay=0.0, rounds=CYCLES,
            latest_hint_time=FilterOptions.latest_hint_time,
            latest_cache_time=FilterOptions.latest_cache_time), root,
            MODES[mode].site)
        self.addCleanup(keeper.cluster.destroy)
        with keeper:
            found = keeper.count_rounds(mode, CYCLES)
        return found['PUT'], found['GET']

    def assert_rounds(self, expected, mode):
        found = self.rounds(mode)
        for name, count, wanted in zip(('PUT', 'GET'), found, expected):
            self.assertAlmostEqual(wanted, count, delta=NEAR, msg='%s of %s'
                                   % (name, mode))

    def test_write_repair_writes_in_one_round(self):
        self.assert_rounds((1, 1), 'write-repair')

    def test_read_repair_writes_in_one_round(self):
        self.assert_rounds((1, 1), 'read-repair')

    def test_the_delay_is_counted_where_stock_swift_has_it(self):
        # The object-servers wait for the containers; a GET asks none.
        self.assert_rounds((1, 0), 'none')
