# SPDX-License-Identifier: Apache-2.0
"""
The primary role hash ring. PROTOCOL.md, "The primary role hash ring"; PROAR
§IV-A, Algorithm 1.
"""

import struct

#: the ultimate value of 32 bits
ULTIMATE = 0xffffffff
#: of the path hash that chooses the slot; bytes 0 to 3 chose the partition
HASH_BYTES = slice(4, 8)


def unit(slots):
    """
    :param slots: how many points the ring has, 1 or more
    :returns: the distance between two of them
    :raises ValueError: if there is no point
    """
    if slots < 1:
        raise ValueError('slots: %r, but a ring has 1 or more' % slots)
    return ULTIMATE // slots


def points(slots):
    """:returns: the points of a ring, a list; Algorithm 1's HashArray"""
    return [index * unit(slots) for index in range(slots)]


def slot_of(path_hash, slots):
    """
    :param path_hash: an object's, 16 bytes
    :param slots: how many slots its partition has
    :returns: the slot that is its primary role
    :raises ValueError: if there is no slot, or the hash is none
    """
    if len(path_hash) != 16:
        raise ValueError('path hash: %d bytes, not 16' % len(path_hash))
    point, = struct.unpack('>L', path_hash[HASH_BYTES])
    return min(point // unit(slots), slots - 1)


def roles(devices, slot):
    """
    :param devices: of the partition's rows, in the order of the rows; a
        device may stand in several
    :param slot: the primary role's
    :returns: the devices from the slot on, each once: the primary role first
    """
    return list(dict.fromkeys(devices[slot:] + devices[:slot]))
