# SPDX-License-Identifier: Apache-2.0
"""Shows volumes, records and entries, and changes nothing."""

import contextlib
import errno
import logging
import os
from dataclasses import dataclass

from swift_lightsync.common.command import Exit, UsageError
from swift_lightsync.common.files import opened
from swift_losf.diskfile.vfile import read_metadata
from swift_losf.format.header import FIRST_RECORD, FormatError, VolumeType
from swift_losf.format.keys import partition_of
from swift_losf.fsck.check import find_volume, list_volumes
from swift_losf.fsck.quarantine import Wanted
from swift_losf.fsck.volume_check import read_own_header
from swift_losf.volumes.volume import iter_records

#: a partition is some of the first so many bits of a hash
_BITS = 32

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Unknown:
    """There are no entries: the index cannot be asked.

    :param reason: why
    """
    reason: str


@dataclass
class Tally:
    """How many files were shown, and what their records take."""
    files: int = 0
    bytes: int = 0


class Dump:
    """Shows volumes, records, and files.

    :param layout: a Layout
    :param entries: what entries.entries returns, or Unknown
    :param line: called with each line: its text, and the same as keywords
    """

    def __init__(self, layout, entries, line):
        self.layout = layout
        self.entries = entries
        self.line = line

    def _known(self):
        """Return what answers for the index.

        :raises UsageError: if the index cannot be asked
        """
        if isinstance(self.entries, Unknown):
            raise UsageError(self.entries.reason)
        return self.entries

    def _warn(self):
        if isinstance(self.entries, Unknown):
            logger.warning('what the index has is not shown: %s',
                           self.entries.reason)
            return True
        return False

    def volumes(self):
        """Show each volume, as its header and as the index has it."""
        states = {} if self._warn() else {
            each.number: (each.files, each.bytes, each.dead_bytes)
            for each in self.entries.list_volumes()}
        numbers, set_aside = list_volumes(self.layout)
        for number in sorted({*numbers, *states}):
            self._volume(number, states.get(number))
        for name in set_aside:
            self.line('%s: set aside' % name, set_aside=name)
        return Exit.WELL

    def _volume(self, number, counts):
        values = {'volume': number}
        with _open(self.layout, number) as fd:
            if fd is not None:
                stat = os.fstat(fd)
                values.update(size=stat.st_size, used=512 * stat.st_blocks,
                              **_header_fields(fd, number))
        if counts:
            values.update(zip(('files', 'bytes', 'dead_bytes'), counts))
        self._show(values)

    def _show(self, values):
        values = {name: value for name, value in values.items()
                  if value is not None}
        self.line(', '.join('%s %s' % (name.replace('_', ' '), value)
                            for name, value in values.items()), **values)

    def volume(self, number):
        """Show all records of a volume."""
        self._warn()
        with _open(self.layout, number) as fd:
            if fd is None:
                raise FileNotFoundError(
                    errno.ENOENT, 'there is no such volume',
                    self.layout.volume(number))
            self._show({'volume': number, **_header_fields(fd, number)})
            try:
                header, _ = read_own_header(fd, number)
            except FormatError:
                return Exit.NOT_WELL
            for found in iter_records(fd, header, FIRST_RECORD,
                                      os.fstat(fd).st_size, self._damaged):
                self._record(found)
        return Exit.WELL

    def _damaged(self, offset, error):
        self._show({'offset': offset, 'damaged': str(error)})

    def _record(self, found):
        location, header = found.location, found.header
        self._show({
            'offset': location.offset, 'length': location.length,
            'partition': header.partition, 'hash': header.hash.hex(),
            'name': found.name, 'data': location.data_length,
            'metadata': location.metadata_length, 'written': header.written,
            'quarantined': header.quarantined, 'durable': header.durable,
            'index': self._known_as(found)})

    def _known_as(self, found):
        if isinstance(self.entries, Unknown):
            return None
        for name, location in self.entries.list_hash(
                found.header.partition, found.header.hash):
            if location.spot == found.location.spot:
                return name
        return 'no file'

    def hash(self, hash_):
        """Show the files of an object."""
        status = Exit.NOT_WELL
        for partition in partitions_of(
                hash_, self._known().statistics().part_power):
            for name, location in self._known().list_hash(
                    partition, hash_):
                status = Exit.WELL
                self._file(partition, hash_, name, location)
        if self.quarantined(Wanted(hash_)).files:
            status = Exit.WELL
        if status == Exit.NOT_WELL:
            self.line('hash %s: no file' % hash_.hex(), hash=hash_.hex(),
                      files=0)
        return status

    def quarantined(self, wanted):
        """Show files in quarantine.

        :param wanted: a Wanted
        :returns: their Tally
        """
        tally = Tally()
        for partition, hash_, name, location in (
                self._known().list_quarantine()):
            if wanted.has(hash_, name):
                self._file(partition, hash_, name, location,
                           quarantined=True)
                tally.files += 1
                tally.bytes += location.length
        return tally

    def _file(self, partition, hash_, name, location, quarantined=False):
        values = {'partition': partition, 'hash': hash_.hex(), 'name': name,
                  'quarantined': quarantined, 'volume': location.volume,
                  'offset': location.offset, 'length': location.length}
        try:
            metadata, written = read_metadata(self.layout, location, hash_,
                                              name)
            values.update(written=written, metadata=metadata)
        except OSError as err:
            values.update(damaged=str(err))
        self._show(values)


@contextlib.contextmanager
def _open(layout, number):
    path = find_volume(layout, number)
    with opened(path) if path else contextlib.nullcontext() as fd:
        yield fd


def _header_fields(fd, number):
    try:
        header, _ = read_own_header(fd, number)
    except FormatError as err:
        return {'damaged': str(err)}
    return {'type': VolumeType(header.type).name.lower(),
            'alignment': header.alignment, 'created': header.created,
            'policy': header.policy}


def partitions_of(hash_, part_power=None):
    """Return all partitions that an object may be in, a list.

    :param hash_: of the object, 16 bytes
    :param part_power: None or 0: it is not known, so any may be it
    """
    if part_power:
        return [partition_of(hash_, part_power)]
    head = int.from_bytes(hash_[:4], 'big')
    return sorted({head >> _BITS - power for power in range(_BITS + 1)})
