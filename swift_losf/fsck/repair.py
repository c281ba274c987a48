# SPDX-License-Identifier: Apache-2.0
"""Puts right what a check has found. Kind has the remedy of each finding.

1. What the index counts in a volume is corrected before anything of it is
   changed: counts go up and down with each change.
2. Each change of an entry is one batch. The suffix of a file that is taken
   out is put down for rehashing before, so that the replicator brings the
   file back.
3. At last, the checkpoints of volumes with records that have no entry are
   lowered, and recovery goes over them: nothing else enters a record.

Interrupted anywhere, it can be done again. An entry whose record is valid
stays, and what is marked as quarantined is never entered as a file.
"""

import os
from dataclasses import replace

from swift_lightsync.common.files import opened, sync_directory
from swift_losf.format import keys
from swift_losf.format.name_code import durable_name
from swift_losf.fsck.check import find_volume
from swift_losf.fsck.findings import BEYOND_REPAIR, Kind
from swift_losf.upkeep.partitions import invalidate
from swift_losf.upkeep.recovery import Recovery
from swift_losf.volumes.volume import mark_quarantined, mend_copies


class Repair:
    """Puts right one Finding after the other.

    :param layout: a Layout
    :param index: the Index, which nobody else uses
    """

    def __init__(self, layout, index):
        self.layout = layout
        self.index = index
        self.fixed = 0
        #: number of a volume -> offset of its first record without entry
        self._missing = {}
        #: whether recovery has to set a volume aside
        self._lost = False

    def fix(self, finding):
        """Put right what was found."""
        if finding.kind in BEYOND_REPAIR:
            return False
        _FIXES[finding.kind](self, finding)
        self.fixed += 1
        return True

    def finish(self, progress=lambda state: None):
        """Enter what is missing, and make all durable.

        :returns: how many records recovery has entered
        """
        if self._missing or self._lost:
            with self.index.db.change() as change:
                for number, offset in self._missing.items():
                    if number not in self.index.db.volumes:
                        continue  # it is scanned as a whole
                    state = change.volume(number)
                    change.put_volume(number, replace(
                        state, checkpoint=min(state.checkpoint, offset)))
            Recovery(self.layout, self.index, progress).run()
        self.index.sync()
        return self.index.adopter.recovered

    def _drop_bad_entry(self, finding):
        with self.index.db.change() as change:
            change.delete(finding.put)

    def _put_state(self, finding):
        with self.index.db.change() as change:
            change.put_volume(finding.volume, finding.put)

    def _write_header(self, finding):
        path = find_volume(self.layout, finding.volume)
        with opened(path, os.O_RDWR) as fd:
            mend_copies(fd, finding.put)
        if path != self.layout.volume(finding.volume):
            os.rename(path, self.layout.volume(finding.volume))
            sync_directory(self.layout.volumes)

    def _set_volume_aside(self, finding):
        self._lost = True

    def _note_missing(self, finding):
        lowest = self._missing.setdefault(finding.volume, finding.offset)
        self._missing[finding.volume] = min(lowest, finding.offset)

    def _drop(self, finding):
        entry = finding.entry
        if entry.letter == keys.DEAD:
            with self.index.db.change() as change:
                change.reclaimed(entry.volume, entry.offset, entry.length)
            return
        self._take_out(entry)

    def _take_out(self, entry, quarantine=False):
        if entry.letter == keys.FILE:
            invalidate(self.layout, self.index.part_power.view.partition(
                entry.partition, entry.hash), [keys.suffix_of(entry.hash)])
        with self.index.db.change() as change:
            if entry.letter == keys.FILE:
                change.remove_file(entry.key, entry.location)
            else:
                change.remove_quarantined(entry.key, entry.location)
            if quarantine:
                change.add_quarantined(keys.quarantine_key(
                    entry.partition, entry.hash, entry.name,
                    entry.location), entry.location)

    def _quarantine(self, finding):
        header = finding.put
        if header and header.hash == finding.entry.hash:
            mark_quarantined(self.layout, finding.entry.location)
        self._take_out(finding.entry, quarantine=True)

    def _drop_metadata(self, finding):
        with self.index.db.change() as change:
            change.put(finding.entry.key, finding.entry.location.pack())

    def _mark(self, finding):
        mark_quarantined(self.layout, finding.entry.location)

    def _make_durable(self, finding):
        entry, name = finding.entry, durable_name(finding.entry.name)
        with self.index.db.change() as change:
            files = self.index.reader.files(entry.partition, entry.hash)
            change.remove_file(entry.key, entry.location)
            change.replace_file(files, keys.file_key(
                entry.partition, entry.hash, name), name, entry.location)

    def _correct_dead(self, finding):
        place = finding.volume, finding.offset
        with self.index.db.change() as change:
            change.reclaimed(*place, finding.entry.length)
            change.reclaim_range(*place, finding.length)


_FIXES = {
    Kind.BAD_ENTRY: Repair._drop_bad_entry,
    Kind.STATISTICS: Repair._put_state,
    Kind.VOLUME_HEADER: Repair._write_header,
    Kind.LOST_VOLUME: Repair._set_volume_aside,
    Kind.NO_VOLUME: Repair._drop,
    Kind.NO_RECORD: Repair._drop,
    Kind.OTHER_RECORD: Repair._drop,
    Kind.INSIDE: Repair._drop,
    Kind.TWICE: Repair._drop,
    Kind.DAMAGED: Repair._quarantine,
    Kind.NOT_QUARANTINED: Repair._quarantine,
    Kind.NOT_MARKED: Repair._mark,
    Kind.NOT_DURABLE: Repair._make_durable,
    Kind.METADATA: Repair._drop_metadata,
    Kind.MISSING: Repair._note_missing,
    Kind.DEAD_ENTRY: Repair._correct_dead,
}
