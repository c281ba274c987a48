# SPDX-License-Identifier: Apache-2.0
"""Buckets whose width grows with the value, as those of HdrHistogram.

A bucket of ``2 ** half`` per doubling: values below ``2 ** (half + 1)`` have
their own, above them a bucket is at most ``1 / 2 ** half`` of its values
wide. Buckets are numbered without gaps, by ascending values.
"""


def bucket_of(value, half):
    """
    :param value: a positive integer
    :returns: the number of its bucket
    """
    shift = value.bit_length() - half - 1
    return value if shift <= 0 else (shift << half) + (value >> shift)


def bounds_of(bucket, half):
    """
    :returns: the least and the most value of a bucket
    """
    shift = max(0, (bucket >> half) - 1)
    low = (bucket - (shift << half)) << shift
    return low, low + (1 << shift) - 1


def rank(percent, count):
    """
    The nearest rank.

    :returns: which of ``count`` sorted values the percentile is, from 1
    """
    # In thousandths, so that 99.9 is what it says.
    return max(1, -(-round(percent * 1000) * count // 100000))
