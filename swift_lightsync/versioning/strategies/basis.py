# SPDX-License-Identifier: Apache-2.0
"""What a writer has read of an object, and which version is the latest."""

from dataclasses import dataclass
from typing import Optional, Tuple

from swift_lightsync.versioning.core.row_data import Entry, Pointer
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import latest


@dataclass(frozen=True)
class Basis:
    """
    What a writer has read of an object. A writer of Read-Repair reads nothing.

    :param pointer: a ``Pointer``, or None
    :param known: each ``Entry`` that was read, purged ones too
    :param listed_at: the stamp of the object's row in the user's container, or
        None
    :param null: the ``Entry`` of a null version that has no row of its own
        yet; it is in ``known`` too
    :param listed: the ``Entry`` that the object's row in the user's container
        describes, or None
    """
    object: str
    pointer: Optional[Pointer] = None
    known: Tuple[Entry, ...] = ()
    listed_at: Optional[Stamp] = None
    null: Optional[Entry] = None
    listed: Optional[Entry] = None

    @property
    def seen(self):
        """All versions that were read, those of the pointer's frontier too."""
        frontier = self.pointer.frontier if self.pointer else ()
        return frontier + tuple(entry.version for entry in self.known)

    @property
    def latest(self):
        """The latest known ``Entry``, or None if none is known."""
        found = list(self.known)
        if self.pointer and self.pointer.latest:
            found.append(self.pointer.latest)
        return latest_entry(found)

    def points_to(self, entry):
        """
        Check that the pointer and the listing both name an entry as the
        latest.
        """
        pointed = self.pointer.latest if self.pointer else None
        shown = entry and not entry.version.deleted
        return _identity(pointed) == _identity(entry) and \
            not self.null and \
            _identity(self.listed) == _identity(entry if shown else None)


def _identity(entry):
    return entry and (entry.version.id, entry.plain)


def present(entries):
    """
    Return the entries that no purge has removed, newest first, as a list.
    """
    purged = {entry.version.id for entry in entries if entry.purged}
    kept = {entry.version.id: entry for entry in entries
            if entry.version.id not in purged}
    return [kept[stamp] for stamp in sorted(kept, reverse=True)]


def latest_entry(entries):
    """Return the ``Entry`` that reads are answered from, or None."""
    kept = {entry.version.id: entry for entry in present(entries)}
    found = latest(entry.version for entry in kept.values())
    return found and kept[found.id]
