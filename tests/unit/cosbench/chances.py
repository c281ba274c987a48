# SPDX-License-Identifier: Apache-2.0
"""Whether what was drawn has the distribution that it is meant to have."""

import unittest
from collections import Counter
from math import sqrt


def chi_square(found, expected):
    """:param found: the number of each outcome
    :param expected: the probability of each
    :returns: (the statistic, what it exceeds once in 1,000 times)
    """
    total = sum(found.values())
    statistic = sum((found[each] - total * chance) ** 2 / (total * chance)
                    for each, chance in expected.items())
    free = len(expected) - 1
    # Wilson and Hilferty's approximation.
    return statistic, free * (
        1 - 2 / (9 * free) + 3.09 * sqrt(2 / (9 * free))) ** 3


class ChanceCase(unittest.TestCase):

    def assertFits(self, found, expected):
        """:param found: outcomes, or how often there was each
        :param expected: the probability of each
        """
        self.assertEqual(set(), set(found) - set(expected))
        statistic, bound = chi_square(Counter(found), expected)
        self.assertLess(statistic, bound)
