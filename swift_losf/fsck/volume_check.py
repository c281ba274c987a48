# SPDX-License-Identifier: Apache-2.0
"""Compares one volume with the entries of the index that point to it.

Each entry is looked up at its place, which costs two reads and leaves out
the data. Only what no valid record covers is searched for records.
"""

import os
from dataclasses import replace
from typing import Any

from swift_lightsync.common.files import try_lock
from swift_losf.format import keys
from swift_losf.format.header import (
    FIRST_RECORD,
    FormatError,
    VolumeType,
    aligned,
    expect,
)
from swift_losf.format.name_code import durable_name, other_name
from swift_losf.format.values import VolumeState
from swift_losf.fsck.entry_order import Count
from swift_losf.fsck.findings import Finding, Kind
from swift_losf.fsck.record_state import probe
from swift_losf.volumes.volume import UNREADABLE, iter_records, read_copies


def read_own_header(fd, number):
    """Return the VolumeHeader of a volume, and what is wrong with it, or None.

    :raises FormatError: if it has none, or that of another
    """
    header, flaw = read_copies(fd)
    expect('the number in the header', header.number, number,
           header.number == number)
    return header, flaw


def compare_state(number, state, count, type_=None, end=None):
    """Compare what the index counts in a volume with its entries.

    :param state: the VolumeState that the index has, or None
    :param count: the Count of its entries
    :param type_: of the volume, if it is there
    :param end: where the volume ends, aligned, if it is there
    :returns: an iterator of a Finding, if that is not right
    """
    if state is None and count == Count():
        return
    right = state or VolumeState(type_ or VolumeType.DATA,
                                 FIRST_RECORD, FIRST_RECORD)
    right = replace(right, type=type_ or right.type, files=count.files,
                    bytes=count.bytes, dead_bytes=count.dead_bytes,
                    held=count.held, held_bytes=count.held_bytes)
    if end is not None:
        end = max(end, FIRST_RECORD)
        right = replace(right, watermark=min(right.watermark, end),
                        checkpoint=min(right.checkpoint, end))
    if right != state:
        names = [name for name in vars(right)
                 if getattr(right, name) != getattr(state, name, None)]
        yield Finding(Kind.STATISTICS, number, put=right, detail=', '.join(
            '%s %s, not %s' % (name, getattr(right, name),
                               getattr(state, name, 'known'))
            for name in names))


class VolumeCheck:
    """Compares one volume with its entries, from its beginning to its end.

    :param check: the Check
    :param fd: of the volume
    :param number: of the volume
    :param state: its VolumeState in the index, or None
    :param count: the Count of its entries
    :param set_aside: whether it was set aside
    """

    def __init__(self, check, fd, number, state, count, set_aside):
        self.check = check
        self.fd = fd
        self.number = number
        self.state = state
        self.count = count
        self.set_aside = set_aside
        self.end = os.fstat(fd).st_size
        self.free = try_lock(fd)
        self.header: Any = None
        #: behind the last valid record, or what was searched for one
        self.scanned = FIRST_RECORD

    def run(self):
        """Return an iterator of Findings."""
        if not self.free:
            self.check.totals.in_use.append(self.number)
        header_finding = self._read_header()
        yield from compare_state(
            self.number, self.state, self.count,
            self.header and self.header.type,
            self.header and aligned(self.end, self.header.alignment))
        if header_finding:
            yield header_finding
        if not self.header:
            yield from self.check.without_volume(self.number)
            return
        for offset, entries in self.check.order.volume(self.number):
            yield from self._advance(offset)
            yield from self._look_at(offset, entries)
            self.check.progress.step(len(entries))
        yield from self._advance(self.end)

    def _read_header(self):
        """Read the header; return a Finding about it, or None."""
        try:
            self.header, flaw = read_own_header(self.fd, self.number)
        except (FormatError, OSError) as err:
            if isinstance(err, OSError) and err.errno not in UNREADABLE:
                raise
            return Finding(
                Kind.SET_ASIDE if self.set_aside else Kind.LOST_VOLUME,
                self.number, 0, detail=str(err))
        if not flaw and not self.set_aside:
            return None
        return Finding(
            Kind.VOLUME_HEADER, self.number, 0, put=self.header,
            detail=str(flaw or 'the volume was set aside, and is sound'))

    def _probe(self, offset):
        return probe(self.fd, self.number, self.header, offset,
                     self.check.check_data)

    # The space between what the index knows.

    def _advance(self, to):
        if to <= self.scanned:
            return
        suspects = []
        try:
            for found in iter_records(
                    self.fd, self.header, self.scanned, to,
                    lambda offset, _: suspects.append(offset)):
                yield from self._missing(found)
            for offset in suspects:
                # It may be valid, and an entry point into its midst.
                found = probe(self.fd, self.number, self.header, offset,
                              True).found
                if found and offset >= self.scanned:
                    yield from self._missing(found)
        except OSError as err:
            if err.errno not in UNREADABLE:
                raise
            yield Finding(Kind.READ_ERROR, self.number, self.scanned,
                          length=to - self.scanned, detail=str(err))
        self.scanned = max(self.scanned, to)

    def _missing(self, found):
        yield self._missing_finding(found)
        self._cover(found.location.offset, found.location.length)

    def _missing_finding(self, found):
        self.check.totals.records += 1
        return Finding(
            Kind.MISSING, self.number, found.location.offset, found=found,
            length=found.location.length,
            detail='one in quarantine' if found.header.quarantined else '')

    def _cover(self, offset, length):
        """Note that a range has a valid record."""
        end = offset + length
        self.scanned = max(self.scanned,
                           aligned(end, self.header.alignment))

    # What the index knows.

    def _look_at(self, offset, entries):
        seen = self._probe(offset)
        if seen.found:
            self.check.totals.records += 1
            yield from self._valid(offset, entries, seen.found)
            self._cover(offset, seen.found.location.length)
        elif offset < self.scanned:
            for entry in entries:
                yield Finding(Kind.INSIDE, self.number, offset, entry)
        else:
            yield from self._invalid(offset, entries, seen)

    def _valid(self, offset, entries, found):
        files = []
        for entry in entries:
            if entry.location and _is_of(entry, found):
                files.append(entry)
            elif entry.location:
                yield Finding(Kind.OTHER_RECORD, self.number, offset, entry,
                              found)
        files.sort(key=lambda each: self._rank(each, found))
        dead = [each for each in entries if not each.location]
        if files:
            yield from self._known(offset, files[-1], found)
            for entry in files[:-1] + dead:
                yield Finding(Kind.TWICE, self.number, offset, entry)
        elif not dead:
            yield self._missing_finding(found)
        elif dead[0].length != found.location.length:
            yield Finding(Kind.DEAD_ENTRY, self.number, offset, dead[0],
                          length=found.location.length)

    def _rank(self, entry, found):
        """Return the rank of an entry: of two of a record the higher stays."""
        return (entry.letter == keys.QUARANTINED,
                entry.partition == self.check.key_partition_of(
                    found.header),
                (entry.name != found.name) == found.header.durable)

    def _known(self, offset, entry, found):
        in_quarantine = entry.letter == keys.QUARANTINED
        if found.header.quarantined and not in_quarantine:
            yield Finding(Kind.NOT_QUARANTINED, self.number, offset, entry,
                          found)
        elif in_quarantine and not found.header.quarantined:
            yield Finding(Kind.NOT_MARKED, self.number, offset, entry, found)
        elif not in_quarantine and found.header.durable and \
                entry.name != durable_name(entry.name) and other_name(
                    entry.name):
            yield Finding(Kind.NOT_DURABLE, self.number, offset, entry, found)
        elif entry.location.metadata not in (b'', found.location.metadata):
            yield Finding(Kind.METADATA, self.number, offset, entry, found)

    def _invalid(self, offset, entries, seen):
        files = [each for each in entries if each.location]
        for entry in files:
            if seen.empty:
                yield Finding(Kind.NO_RECORD, self.number, offset, entry)
                continue
            if entry.letter == keys.QUARANTINED:
                self.check.totals.damaged_in_quarantine += 1
            else:
                yield Finding(Kind.DAMAGED, self.number, offset, entry,
                              detail=seen.error, put=seen.header)
        for entry in entries:
            if not entry.location:
                if files and not seen.empty:
                    yield Finding(Kind.TWICE, self.number, offset, entry)


def _is_of(entry, found):
    """Return whether a reader of an entry takes a record for its file."""
    return (entry.hash == found.header.hash
            and entry.location == found.location
            and entry.name in (found.name, durable_name(found.name)))
