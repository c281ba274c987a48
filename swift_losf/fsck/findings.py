# SPDX-License-Identifier: Apache-2.0
"""The kinds of findings of swift-losf-fsck: what is wrong, and its remedy."""

import enum
from dataclasses import dataclass
from typing import Any

from swift_losf.format.layout import volume_name
from swift_losf.volumes.volume import Found


class Kind(enum.Enum):
    """The kinds.

    :param label: the name of the kind
    :param what: what is wrong
    :param remedy: what repair does about it
    """
    NO_INDEX = (
        'no-index', 'the index cannot be read',
        'rebuild it; the index server does so, too, when it is started')
    BAD_ENTRY = (
        'bad-entry', 'an entry of the index cannot be read',
        'drop it; if its record is valid, it is entered anew')
    STATISTICS = (
        'statistics', 'what the index counts in the volume is wrong',
        'put the counted values')
    VOLUME_HEADER = (
        'volume-header', 'a copy of the header of the volume is damaged',
        'write it anew, as the other one')
    LOST_VOLUME = (
        'lost-volume', 'both copies of the header of the volume are damaged',
        'set it aside, as the index server does')
    SET_ASIDE = (
        'set-aside', 'the volume was set aside: both copies of its header are '
        'damaged, and nothing tells its records from what clients sent',
        'remove it when the replicators have brought its objects back')
    READ_ERROR = (
        'read-error', 'the volume cannot be read there',
        'replace the disk')
    NO_VOLUME = (
        'no-volume', 'the volume of a file is not there',
        'drop the entry; the replicator brings the file back')
    NO_RECORD = (
        'no-record', 'there is nothing where the record of a file has to be',
        'drop the entry; the replicator brings the file back')
    OTHER_RECORD = (
        'other-record', 'the record there is not that of the entry',
        'drop the entry; the record itself is entered if it is not')
    INSIDE = (
        'inside', 'an entry points into the midst of a record',
        'drop the entry')
    DAMAGED = (
        'damaged', 'the record of a file is damaged',
        'put the file into quarantine; the replicator brings it back')
    TWICE = (
        'twice', 'a record has another entry, too',
        'drop this one')
    NOT_QUARANTINED = (
        'not-quarantined', 'the record is marked as one in quarantine, and '
        'the index has it as a file', 'put the file into quarantine')
    NOT_MARKED = (
        'not-marked', 'the file is in quarantine, and its record is not '
        'marked so: a rebuilt index would have it as a file',
        'mark the record')
    NOT_DURABLE = (
        'not-durable', 'the record is that of a fragment that is durable, and '
        'the index has one that is not', 'give it its durable name')
    METADATA = (
        'metadata', 'the index has other metadata than the record',
        'drop them: who wants them reads the record')
    MISSING = (
        'missing', 'a valid record has no entry',
        'enter it, as recovery does')
    DEAD_ENTRY = (
        'dead-entry', 'a record is to be given back, and the entry has not '
        'its length', 'correct the entry')

    def __init__(self, label: str, what: str, remedy: str) -> None:
        self.label = label
        self.what = what
        self.remedy = remedy


#: what repair cannot put right
BEYOND_REPAIR = frozenset([Kind.READ_ERROR, Kind.SET_ASIDE])


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    :param kind: a Kind
    :param volume: its number, or None
    :param offset: in the volume, or None
    :param entry: the Entry that it is about, or None
    :param found: the Found record that it is about, or None
    :param length: of the space that it is about, or None
    :param detail: more words about it
    :param put: what mends it: a VolumeHeader, VolumeState or a key
    """
    kind: Kind
    volume: int | None = None
    offset: int | None = None
    entry: Any = None
    found: Found | None = None
    length: int | None = None
    detail: str = ''
    put: Any = None

    def fields(self):
        """Return what there is to say, a dict for JSON."""
        values = {'kind': self.kind.label, 'volume': self.volume,
                  'offset': self.offset, 'length': self.length}
        if self.entry and self.entry.hash:
            values.update(partition=self.entry.partition, name=self.entry.name,
                          hash=self.entry.hash.hex())
        elif self.found:
            values.update(partition=self.found.header.partition,
                          name=self.found.name,
                          hash=self.found.header.hash.hex())
        values.update(what=self.kind.what, detail=self.detail or None,
                      mend=self.kind.remedy)
        return {name: value for name, value in values.items()
                if value is not None}

    def text(self):
        """Return the same as one line."""
        fields = self.fields()
        parts = []
        if self.volume is not None:
            parts.append(volume_name(self.volume))
        parts += ['%s %s' % (name, fields[name]) for name in (
            'offset', 'length', 'partition', 'hash', 'name')
            if name in fields]
        detail = ' (%s)' % self.detail if self.detail else ''
        return '%s: %s: %s%s' % (
            ', '.join(parts) or 'index', fields['kind'], self.kind.what,
            detail)
