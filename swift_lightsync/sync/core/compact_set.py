# SPDX-License-Identifier: Apache-2.0
"""A set of partitions in little memory: items are found by their place."""

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict

from swift_lightsync.sync.core.shared_set import SharedItem, SharedSet


class CompactSet:
    """The partitions of devices and policies, five bytes each.

    :param items: the set
    """

    def __init__(self, items: SharedSet) -> None:
        self.encoded = items.encoded
        self.digest = items.digest
        self.devices = items.devices
        sections: dict[tuple[int, str], array[int]] = defaultdict(
            lambda: array('I'))
        for policy, device, partition in items:
            sections[policy, device].append(partition)
        #: The partitions of each policy and device, ascending.
        self.sections = dict(sections)
        self._names = list(self.sections)
        #: The place of each section's first item.
        self._begins: list[int] = []
        self._length = 0
        for numbers in self.sections.values():
            self._begins.append(self._length)
            self._length += len(numbers)
        self._begin_of = dict(zip(self._names, self._begins))

    def __len__(self) -> int:
        return self._length

    def place(self, policy: int, device: str,
              partition: int) -> int | None:
        """Return an item's place in the set, or None if it is not there."""
        numbers = self.sections.get((policy, device))
        if numbers is None:
            return None
        at = bisect_left(numbers, partition)
        if at == len(numbers) or numbers[at] != partition:
            return None
        return self._begin_of[policy, device] + at

    def item(self, place: int) -> SharedItem:
        """Return the item at a place."""
        section = bisect_right(self._begins, place) - 1
        name = self._names[section]
        return (*name, self.sections[name][place - self._begins[section]])
