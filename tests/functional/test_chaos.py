# SPDX-License-Identifier: Apache-2.0
"""A minute of ``tools/chaos``, with all systems and with stock Swift."""

import unittest

import pytest

from tests.chaos.cli import play


@pytest.mark.long
class TestChaos(unittest.TestCase):

    def test_nothing_is_lost_by_all_systems(self):
        self.assertEqual([], play(1, 1))

    def test_nothing_is_lost_by_stock_swift(self):
        self.assertEqual([], play(1, 1, stock=True))
