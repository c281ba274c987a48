# SPDX-License-Identifier: Apache-2.0
"""How Write-Repair moves its pointer (VERSIONING.md §3, timestamps)."""

from typing import Callable, Optional, Sequence

from swift_lightsync.versioning.core.row_data import Entry, Pointer
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import frontier


def pointer_after(read: Optional[Pointer], entries: Sequence[Entry],
                  tick: Callable[[], Stamp],
                  listed_at: Optional[Stamp] = None) -> Pointer:
    """
    Return the pointer to write after an update.

    :param read: the ``Pointer`` that was read, or None
    :param entries: each known ``Entry`` of the object: the new version, the
        pointer's latest and everything else that was read
    :param tick: a function that gives a new ``Stamp``
    :param listed_at: the ``Stamp`` of the object's row if something else than
        this filter wrote it, or None
    :returns: the ``Pointer`` to write; it is newer than the one that was read
    :raises KeyError: if the latest is known only as a member of the frontier
        that was read; give the entries of all versions then
    """
    purged = {entry.version.id for entry in entries if entry.purged}
    known = {entry.version.id: entry for entry in entries
             if not entry.purged and entry.version.id not in purged}
    versions = {version.id: version for version in read.frontier
                if version.id not in purged} if read else {}
    versions.update((entry.version.id, entry.version)
                    for entry in known.values())
    members = tuple(frontier(versions.values()))
    before = [stamp for stamp in (read and read.stamp, listed_at) if stamp]
    if not members:
        return Pointer(max(before).revised(tick()) if before else tick())
    stamp = members[0].id
    if before and stamp <= max(before):
        # Not a tick: who writes a version now must win.
        stamp = max(before).revised(tick())
    if read and read.latest and members[0].id == read.latest.version.id:
        latest = known.get(members[0].id, read.latest)
    else:
        latest = known[members[0].id]
    return Pointer(stamp, latest, members)
