# SPDX-License-Identifier: Apache-2.0
"""
Counts the metadata round trips of a request.

A delay of the container servers alone makes a request longer by as many
delays as there are round trips that it waits for, one after the other:
their number is the slope of its latency over the delay. Whatever else happens
on the machine makes requests longer, and none shorter: the least latency of
several counts.
"""

from statistics import fmean

#: seconds; none is near the 1 s that an object-server waits for a container
DELAYS = (0.2, 0.4, 0.6)


def slope(points):
    """
    :param points: (x, y) pairs with two or more different x
    :returns: that of the line with the least squares
    """
    mean_x = fmean(x for x, _ in points)
    mean_y = fmean(y for _, y in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum(
        (x - mean_x) ** 2 for x, _ in points)


def count(delay, play, cycles=1, delays=DELAYS):
    """
    :param delay: a function of seconds, for which container servers let each
        request wait from then on
    :param play: makes requests; :returns: what they waited, seconds
    :param cycles: how often each delay comes round, so that what else
        happens on the machine meanwhile befalls all of them
    :returns: the round trips of one request, not rounded
    """
    waits = {seconds: [] for seconds in delays}
    try:
        for seconds in delays * cycles:
            delay(seconds)
            waits[seconds] += play()
    finally:
        delay(0)
    return slope([(seconds, min(found))
                  for seconds, found in waits.items()])
