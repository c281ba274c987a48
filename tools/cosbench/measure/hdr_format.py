# SPDX-License-Identifier: Apache-2.0
"""The bytes of a histogram: HdrHistogram's V2 compressed format (RESULT.md).

HdrHistogram's library writes them; what others wrote is read here, where each
step has a bound. Only buckets that are used take memory, so that a short
document cannot ask for much.

A bucket of ``2 ** half`` per doubling: values below ``2 ** (half + 1)`` have
their own, above them a bucket is at most ``1 / 2 ** half`` of its values
wide. Buckets are numbered without gaps, by ascending values.
"""

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator

from hdrh.histogram import HdrHistogram

from swift_lightsync.common.record_limits import refusal


def bucket_of(value: int, half: int) -> int:
    """Return the number of the bucket that a value is in.

    :param value: a positive integer
    :param half: says how wide buckets are
    """
    shift = value.bit_length() - half - 1
    return value if shift <= 0 else (shift << half) + (value >> shift)


def bounds_of(bucket: int, half: int) -> tuple[int, int]:
    """Return the lowest and the highest value of a bucket."""
    shift = max(0, (bucket >> half) - 1)
    low = (bucket - (shift << half)) << shift
    return low, low + (1 << shift) - 1


def rank(percent: float, count: int) -> int:
    """Return which of some sorted values a percentile is: the nearest rank.

    :param percent: 0 < percent <= 100
    :returns: the place, from 1
    """
    # In thousandths, so that 99.9 is what it says.
    return max(1, -(-round(percent * 1000) * count // 100000))


#: Microseconds, and significant digits.
LEAST, MOST, DIGITS = 1, 3600 * 10 ** 6, 3
#: 1024 buckets for each doubling are three digits.
HALF = 10
_LAST = bucket_of(MOST, HALF)
_OUTER = struct.Struct('>II')
_INNER = struct.Struct('>IIIIQQd')
_OUTER_COOKIE, _INNER_COOKIE = 0x1c849314, 0x1c849313
_SETTINGS = (0, DIGITS, LEAST, MOST, 1.0)
#: A count is at most 9 bytes.
MAX_INNER = _INNER.size + 9 * (_LAST + 1)
#: base64 of what deflate can make of that at worst.
MAX_TEXT = 2 * MAX_INNER
_ENCODED = 'an HdrHistogram in base64 (V2, compressed; 1 to %d, %d ' \
    'digits) with as many values as count says' % (MOST, DIGITS)


def encoded(counts: dict[int, int]) -> str:
    """Write a histogram.

    :param counts: bucket -> how many values
    :returns: base64
    """
    hdr = HdrHistogram(LEAST, MOST, DIGITS)
    for bucket, count in counts.items():
        hdr.counts[bucket] = count
    if counts:
        hdr.set_internal_tacking_values(min(counts), max(counts),
                                        sum(counts.values()))
    data: bytes = hdr.encode()
    return data.decode('ascii')


def decoded(text: str, expected: int) -> dict[int, int]:
    """Read a histogram.

    :param text: base64, from anyone
    :param expected: how many values it must have
    :returns: bucket -> how many values
    :raises RecordError: if it is none, or not one of ours
    """
    try:
        counts = dict(_counts(_payload(text)))
    except (ValueError, binascii.Error, zlib.error, struct.error):
        raise refusal(text, _ENCODED) from None
    if sum(counts.values()) != expected or max(counts, default=0) > _LAST:
        raise refusal(text, _ENCODED)
    return counts


def _payload(text: str) -> bytes:
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


def _counts(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the counts that are not 0, with their indices, ascending.

    The bytes are ZigZag LEB128: a negative number is so many zeros, others
    are counts.
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


def _long(data: bytes, place: int, number: int) -> tuple[int, int]:
    """Read the rest of a number of more than one byte.

    :param place: of its second byte
    :param number: its lowest 7 bits
    :returns: (the number, the place after it)
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
