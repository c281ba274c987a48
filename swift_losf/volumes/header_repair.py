# SPDX-License-Identifier: Apache-2.0
"""
Makes the header of a volume anew from one of its records.

Only the salt is not known from elsewhere. A record's tag is the CRC of the
salt and of the record's offset. A CRC is linear, so the state of the CRC after
the salt can be computed from the tag bit by bit, and from that state a salt
that leads to it. It need not be the salt that was there, but it gives every
record of the volume the tag that the record has.
"""

from typing import Dict, Tuple

from google_crc32c import extend

from swift_losf.format.header import SALT_LENGTH, VolumeHeader

_BITS = 32


def _solve(function, value):
    """
    Return the argument for which a function gives a value.

    :param function: of 32 bits to 32 bits; affine over GF(2), and one to one
    """
    zero = function(0)
    pivots: Dict[int, Tuple[int, int]] = {}
    for bit in range(_BITS):
        image, argument = function(1 << bit) ^ zero, 1 << bit
        image, argument = _reduce(pivots, image, argument)
        pivots[image.bit_length()] = image, argument
    rest, argument = _reduce(pivots, value ^ zero, 0)
    if rest:
        raise ArithmeticError('%08x is not reached' % value)
    return argument


def _reduce(pivots, image, argument):
    while image and image.bit_length() in pivots:
        other_image, other_argument = pivots[image.bit_length()]
        image ^= other_image
        argument ^= other_argument
    return image, argument


def find_salt(tag, offset):
    """
    Return a salt with which VolumeHeader.tag gives a record's tag.

    :param tag: of a record
    :param offset: of the same
    """
    place = offset.to_bytes(8, 'little')
    state = _solve(lambda crc: extend(crc, place), tag)
    front = bytes(SALT_LENGTH - 4)
    return front + _solve(
        lambda tail: extend(0, front + tail.to_bytes(4, 'little')),
        state).to_bytes(4, 'little')


def make_header(layout, number, volume_type, created, found):
    """
    Return a VolumeHeader under which a record is one of the volume's.

    :param layout: a Layout
    :param number: of the volume
    :param volume_type: a VolumeType
    :param created: Unix time, ns
    :param found: a Found record of the volume
    """
    return VolumeHeader(number, volume_type, layout.policy_index, created,
                        find_salt(found.header.tag, found.location.offset))
