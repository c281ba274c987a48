# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
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

from hdrh.histogram import HdrHistogram

from tools.cosbench.measure.buckets import bounds_of, bucket_of, rank
from tools.cosbench.measure.document import MAX_COUNT

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
        for bucket, count in other._counts.items():
            self._counts[bucket] = self._counts.get(bucket, 0) + count
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

        :param wanted: percents, 0 < each <= 100, ascending
        :returns: a list of as many values, each None without values
        """
        if not self.count:
            return [None] * len(wanted)
        found, seen, rest = [], 0, list(reversed(wanted))
        for _, highest, count in self.buckets():
            seen += count
            while rest and seen >= rank(rest[-1], self.count):
                found.append(min(highest, self.most))
                rest.pop()
        return found

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
        ends = made.buckets()
        if ends and not (ends[0][0] <= made.least <= ends[0][1]
                         and ends[-1][0] <= made.most <= ends[-1][1]
                         and made.count * made.least <= made.total
                         <= made.count * made.most):
            raise node.refuse('an object whose min_us, max_us and total_us '
                              'are those of its values')
        return made


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
            any(bucket > _LAST for bucket in counts):
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
        number = shift = 0
        while True:
            if place >= len(data):
                raise ValueError('cut')
            byte = data[place]
            place += 1
            if shift == 56:     # the ninth byte is all value
                number |= byte << 56
                break
            number |= (byte & 0x7f) << shift
            if byte < 0x80:
                break
            shift += 7
        value = (number >> 1) ^ -(number & 1)
        if value > 0:
            yield index, value
        index += -value if value < 0 else 1
