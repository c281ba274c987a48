# SPDX-License-Identifier: Apache-2.0
"""Tallies made the plain way: sorted lists, and nothing shared with the code.

Also the strategies that draw samples for the tests.
"""

import math

from hypothesis import settings, strategies

from cosbench.measure.sample import Sample

MICROSECOND = 1e-6
#: The machine may be busy.
PATIENT = settings(max_examples=60)


def microseconds(seconds):
    return min(max(math.floor(seconds * 1e6 + .5), 1), 3600 * 10 ** 6)


def percentile(values, percent):
    """The least value that ``percent`` % of the values do not exceed."""
    ordered = sorted(values)
    return next(value for number, value in enumerate(ordered, 1)
                if number * 1000 >= round(percent * 10) * len(ordered))


def summed(samples):
    """:returns: what is to be found in the tally's document, no histogram"""
    good = [each for each in samples if each.error is None]
    failures = {}
    for each in samples:
        if each.error is not None:
            failures[each.error] = failures.get(each.error, 0) + 1
    return {
        'bytes': sum(each.size for each in good),
        'failures': failures,
        'response': [microseconds(each.ended - each.started)
                     for each in good],
        'processing': [microseconds(each.first_byte - each.started)
                       for each in good],
        'intended': [microseconds(each.ended - each.intended)
                     for each in good],
    }


@strategies.composite
def samples(draw, operations=('op1', 'op2')):
    """One sample; its times are whole microseconds, up to two hours."""
    times = sorted(draw(strategies.lists(strategies.one_of(
        strategies.integers(0, 3000), strategies.integers(0, 7200 * 10 ** 6)),
        min_size=4, max_size=4)))
    return Sample(draw(strategies.sampled_from(operations)),
                  *(each * MICROSECOND for each in times),
                  draw(strategies.integers(0, 10 ** 9)),
                  draw(strategies.sampled_from(
                      [None, None, None, 'timeout', 'http 503'])))


def many(**options):
    return strategies.lists(samples(**options), max_size=30)
