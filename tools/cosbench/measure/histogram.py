# SPDX-License-Identifier: Apache-2.0
"""Times as an HDR histogram, beside their exact count, sum, least and most.

Whole microseconds of 1 to one hour, 3 significant digits; a time outside
counts as the nearest inside. All is integers, so that merging is exact in
any order. The bytes are HdrHistogram's V2 compressed format (RESULT.md): its
library writes them; what others wrote is read here, where each step has a
bound. Only buckets that are used take memory, so that a short document
cannot ask for much.
"""

import base64
import binascii
import struct
import zlib
from bisect import bisect_left
from itertools import accumulate

from hdrh.histogram import HdrHistogram

from cosbench.measure.buckets import bounds_of, bucket_of, rank
from cosbench.measure.document import MAX_COUNT

LEAST, MOST, DIGITS = 1, 3600 * 10 ** 6, 3
#: 1024 buckets for each doubling are three digits.
_HALF = 10
_LAST = bucket_of(MOST, _HALF)
_OUTER = struct.Struct('>II')
_INNER = struct.Struct('>IIIIQQd')
_OUTER_COOKIE, _INNER_COOKIE = 0x1c849314, 0x1c849313
_SETTINGS = (0, DIGITS, LEAST, MOST, 1.0)
#: A count is at most 9 bytes.
MAX_INNER = _INNER.size + 9 * (_LAST + 1)
#: base64 of what deflate can make of that at worst.
_MAX_TEXT = 2 * MAX_INNER
_ENCODED = 'an HdrHistogram in base64 (V2, compressed; 1 to %d, %d ' \
    'digits) with as many values as count says' % (MOST, DIGITS)


def microseconds(seconds):
    """
    :raises ValueError: if it is not a number
    """
    return min(max(int(seconds * 1000000 + 0.5), LEAST), MOST)


class Histogram:
    """Mutable; times in microseconds."""

    __slots__ = ('count', 'total', 'least', 'most', '_counts')

    def __init__(self):
        self.count = 0
        #: The sum of all.
        self.total = 0
        #: None without values, as ``most``.
        self.least = None
        self.most = None
        #: bucket -> how many.
        self._counts = {}

    def record(self, seconds):
        # What microseconds() and bucket_of() say, without the calls.
        value = int(seconds * 1000000 + 0.5)
        if value < LEAST:
            value = LEAST
        elif value > MOST:
            value = MOST
        if not self.count:
            self.least = self.most = value
        elif value > self.most:
            self.most = value
        elif value < self.least:
            self.least = value
        self.count += 1
        self.total += value
        shift = value.bit_length() - _HALF - 1
        bucket = value if shift <= 0 else \
            (shift << _HALF) + (value >> shift)
        counts = self._counts
        counts[bucket] = counts.get(bucket, 0) + 1

    def merge(self, other):
        if not other.count:
            return
        counts = self._counts
        if counts:
            known = counts.get
            for bucket, count in other._counts.items():
                counts[bucket] = known(bucket, 0) + count
        else:
            counts.update(other._counts)
        self.least = other.least if self.least is None else \
            min(self.least, other.least)
        self.most = other.most if self.most is None else \
            max(self.most, other.most)
        self.count += other.count
        self.total += other.total

    @property
    def mean(self):
        """
        :returns: exact; None without values
        """
        return self.total / self.count if self.count else None

    def buckets(self):
        """
        :returns: a list of (lowest, highest, count): what the histogram
            cannot tell apart, ascending, where there are any
        """
        return [(*bounds_of(bucket, _HALF), count)
                for bucket, count in sorted(self._counts.items())]

    def percentiles(self, wanted):
        """
        The nearest rank: the value that this many percent are not above.
        It is at most 0.1% too high, and 100 is exact.

        :param wanted: percents, 0 < each <= 100
        :returns: a list of as many values, each None without values
        """
        if not self.count:
            return [None] * len(wanted)
        buckets = sorted(self._counts)
        seen = list(accumulate(map(self._counts.__getitem__, buckets)))
        places = (bisect_left(seen, rank(percent, self.count))
                  for percent in wanted)
        return [min(bounds_of(buckets[place], _HALF)[1], self.most)
                for place in places]

    def to_json(self):
        """
        :returns: as RESULT.md says
        """
        return {'count': self.count, 'total_us': self.total,
                'min_us': self.least, 'max_us': self.most,
                'hdr': self._encoded()}

    def _encoded(self):
        hdr = HdrHistogram(LEAST, MOST, DIGITS)
        for bucket, count in self._counts.items():
            hdr.counts[bucket] = count
        if self.count:
            hdr.set_internal_tacking_values(
                min(self._counts), max(self._counts), self.count)
        return hdr.encode().decode('ascii')

    @classmethod
    def from_json(cls, node):
        """
        :param node: a ``Node``
        :raises ResultError: if it is no histogram, or not one of ours
        """
        made = cls()
        made.count = node.member('count').integer()
        made.total = node.member('total_us').integer(
            made.count * LEAST, min(MAX_COUNT, made.count * MOST))
        if made.count:
            made.least = node.member('min_us').integer(LEAST, MOST)
            made.most = node.member('max_us').integer(made.least, MOST)
        made._counts = _decoded(node.member('hdr'), made.count)
        if made.count and not made._agrees():
            raise node.refuse('an object whose min_us, max_us and total_us '
                              'are those of its values')
        return made

    def _agrees(self):
        """Whether least, most and total can be those of the counts."""
        return all(
            bucket_of(value, _HALF) == bucket for value, bucket in (
                (self.least, min(self._counts)),
                (self.most, max(self._counts)))) and \
            self.count * self.least <= self.total <= self.count * self.most


def _decoded(node, expected):
    """
    :returns: bucket -> how many
    """
    text = node.text(_MAX_TEXT)
    try:
        counts = dict(_counts(_payload(text)))
    except (ValueError, binascii.Error, zlib.error, struct.error):
        raise node.refuse(_ENCODED) from None
    if sum(counts.values()) != expected or \
            max(counts, default=0) > _LAST:
        raise node.refuse(_ENCODED)
    return counts


def _payload(text):
    raw = base64.b64decode(text, validate=True)
    cookie, length = _OUTER.unpack_from(raw)
    if cookie != _OUTER_COOKIE or length != len(raw) - _OUTER.size:
        raise ValueError('outer header')
    inflater = zlib.decompressobj()
    inner = inflater.decompress(raw[_OUTER.size:], MAX_INNER)
    if not inflater.eof or inflater.unused_data:
        raise ValueError('too long, or cut')
    cookie, length, *settings = _INNER.unpack_from(inner)
    if cookie != _INNER_COOKIE or tuple(settings) != _SETTINGS or \
            length != len(inner) - _INNER.size:
        raise ValueError('inner header')
    return inner[_INNER.size:]


def _counts(data):
    """
    ZigZag LEB128: a negative number is so many zeros, others are counts.

    :returns: (index, count) of each that is not 0, ascending
    """
    place = index = 0
    while place < len(data):
        number = data[place]
        place += 1
        if number >= 0x80:
            number, place = _long(data, place, number & 0x7f)
        if number & 1:
            index += (number + 1) >> 1
            continue
        if number:
            yield index, number >> 1
        index += 1


def _long(data, place, number):
    """
    :param number: its lowest 7 bits
    :returns: (a number of more than one byte, the place after it)
    """
    for shift in range(7, 57, 7):
        if place >= len(data):
            raise ValueError('cut')
        byte = data[place]
        place += 1
        if shift == 56:     # the ninth byte is all value
            return number | byte << 56, place
        number |= (byte & 0x7f) << shift
        if byte < 0x80:
            return number, place
    raise AssertionError('a ninth byte is the last')
