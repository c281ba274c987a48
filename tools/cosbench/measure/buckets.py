# SPDX-License-Identifier: Apache-2.0
"""Buckets whose width grows with the value, as those of HdrHistogram.

A bucket of ``2 ** half`` per doubling: values below ``2 ** (half + 1)`` have
their own, above them a bucket is at most ``1 / 2 ** half`` of its values
wide. Buckets are numbered without gaps, by ascending values.
"""



def bucket_of(value: int, half: int) -> int:
    """
    Return the number of the bucket that a value is in.

    :param value: a positive integer
    :param half: says how wide buckets are
    :returns: the number
    """
    shift = value.bit_length() - half - 1
    return value if shift <= 0 else (shift << half) + (value >> shift)


def bounds_of(bucket: int, half: int) -> tuple[int, int]:
    """Return the lowest and the highest value of a bucket."""
    shift = max(0, (bucket >> half) - 1)
    low = (bucket - (shift << half)) << shift
    return low, low + (1 << shift) - 1


def rank(percent: float, count: int) -> int:
    """
    Return which of some sorted values a percentile is: the nearest rank.

    :param percent: 0 < percent <= 100
    :param count: how many values there are
    :returns: the place, from 1
    """
    # In thousandths, so that 99.9 is what it says.
    return max(1, -(-round(percent * 1000) * count // 100000))
