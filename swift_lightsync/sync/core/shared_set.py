# SPDX-License-Identifier: Apache-2.0
"""The partitions of many devices that two nodes share, as one set with a name.

PROTOCOL.md, "Sets of partitions", has the bytes.
"""

import struct
from collections import defaultdict

from swift_lightsync.common.cached import cached_property
from swift_lightsync.sync.core.partition_set import (
    ItemSet,
    PartitionSet,
    PartitionSetError,
)

#: Index of the policy, name of the device that is asked, partition.
SharedItem = tuple[int, str, int]

#: policy, bytes of the device's name, partitions, bytes of their set
SECTION = struct.Struct('<HHII')
#: Longest name of a device, bytes.
MAX_NAME = 1020


class SharedSet(ItemSet[SharedItem]):
    """Partitions of devices and policies, ascending, each once."""

    def item(self, place: int) -> SharedItem:
        """Return the item at a place."""
        return self[place]

    @cached_property
    def devices(self) -> tuple[str, ...]:
        """The names of the devices, ascending."""
        return tuple(sorted({device for _, device, _ in self}))

    @cached_property
    def encoded(self) -> bytes:
        """The bytes of the set."""
        sections: dict[tuple[int, str], list[int]] = defaultdict(list)
        for policy, device, partition in self:
            sections[policy, device].append(partition)
        parts: list[bytes] = []
        for (policy, device), partitions in sections.items():
            name, numbers = device.encode('utf8'), PartitionSet(partitions)
            parts += [SECTION.pack(policy, len(name), len(numbers),
                                   len(numbers.encoded)),
                      name, numbers.encoded]
        return b''.join(parts)

    @classmethod
    def decode(cls, data: bytes, count: int) -> 'SharedSet':
        """Decode the bytes of a set, as ``PartitionSet.decode`` does."""
        cls.check_count(count)
        items: list[SharedItem] = []
        at = 0
        while at < len(data):
            if len(items) >= count:
                raise PartitionSetError('more than %d partitions' % count)
            policy, device, partitions, at = _section(data, at)
            if items and (policy, device) <= items[-1][:2]:
                raise PartitionSetError('sections do not ascend')
            items += [(policy, device, number) for number in partitions]
        if len(items) != count:
            raise PartitionSetError('%d partitions, said to be %d'
                                    % (len(items), count))
        decoded = cls(items)
        if decoded.encoded != data:
            raise PartitionSetError('not the shortest form')
        return decoded


def _section(data: bytes, at: int) -> tuple[int, str, PartitionSet, int]:
    """Return a section's policy, device and partitions, and its end."""
    try:
        policy, length, count, size = SECTION.unpack_from(data, at)
    except struct.error:
        raise PartitionSetError('ends within a section')
    at += SECTION.size
    end = at + length + size
    if not 0 < length <= MAX_NAME or end > len(data):
        raise PartitionSetError('a section of %d bytes, %d of them a name, '
                                'about %d partitions' % (size, length, count))
    try:
        device = data[at:at + length].decode('utf8')
    except UnicodeDecodeError as err:
        raise PartitionSetError('name of a device: %s' % err)
    if '/' in device or '\0' in device or device in ('.', '..'):
        raise PartitionSetError('%r names no device' % device)
    return (policy, device,
            PartitionSet.decode(data[at + length:end], count), end)
