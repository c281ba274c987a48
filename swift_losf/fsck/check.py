# SPDX-License-Identifier: Apache-2.0
"""Compares an index with its volumes, in the order of the volumes.

Nothing is changed here.
"""

import os
from dataclasses import dataclass, field

from swift_lightsync.common.files import opened
from swift_losf.format import keys
from swift_losf.format.layout import volume_number
from swift_losf.fsck.entry_order import Count
from swift_losf.fsck.findings import Finding, Kind
from swift_losf.fsck.volume_check import VolumeCheck, compare_state
from swift_losf.upkeep.recovery import BROKEN


@dataclass
class Totals:
    """Counts of what a check has seen."""
    volumes: int = 0
    records: int = 0
    #: files in quarantine whose records are damaged, as they may be
    damaged_in_quarantine: int = 0
    #: numbers of volumes that a process may be writing to
    in_use: list = field(default_factory=list)
    #: names of volumes that were set aside
    set_aside: list = field(default_factory=list)


def find_volume(layout, number):
    """Return the path of a volume, even of one that was set aside, or None."""
    path = layout.volume(number)
    for each in (path, path + BROKEN):
        if os.path.exists(each):
            return each
    return None


def list_volumes(layout):
    """Return the numbers of the volumes, and the names of those set aside."""
    names = os.listdir(layout.volumes)
    return (sorted(filter(None, map(volume_number, names))),
            sorted(name for name in names if name.endswith(BROKEN)
                   and volume_number(name[:-len(BROKEN)])))


class Check:
    """Compares an index with all its volumes.

    :param layout: a Layout
    :param index: the Index
    :param order: the EntryOrder, filled from it
    :param progress: a Progress
    :param check_data: whether to verify all data too
    """

    def __init__(self, layout, index, order, progress, check_data=False):
        self.layout = layout
        self.order = order
        self.progress = progress
        self.check_data = check_data
        self.totals = Totals()
        self.key_partition_of = index.part_power.key_partition_of
        self._states = index.db.volumes.copy()

    def run(self):
        """Return an iterator of Findings, by volume and offset."""
        numbers, self.totals.set_aside = list_volumes(self.layout)
        numbers += [volume_number(name[:-len(BROKEN)])
                    for name in self.totals.set_aside]
        for number in sorted({*numbers, *self.order.counts, *self._states}):
            yield from self._check(number)

    def _check(self, number):
        state = self._states.get(number)
        count = self.order.counts.get(number, Count())
        path = find_volume(self.layout, number)
        if path is None:
            yield from compare_state(number, state, count)
            yield from self.without_volume(number)
            return
        self.totals.volumes += 1
        with opened(path) as fd:
            yield from VolumeCheck(self, fd, number, state, count,
                                   path.endswith(BROKEN)).run()

    def without_volume(self, number):
        """Yield a Finding for each entry of a volume that is lost."""
        for offset, entries in self.order.volume(number):
            for entry in entries:
                # The index server forgets of a volume that is gone what was
                # to be given back.
                if entry.letter != keys.DEAD:
                    yield Finding(Kind.NO_VOLUME, number, offset, entry)
