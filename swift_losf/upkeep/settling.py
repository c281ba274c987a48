# SPDX-License-Identifier: Apache-2.0
"""Decides which of all records of a hash are files when an index was lost.

FORMAT.md, "Recovery", step 4; as index/adopter.py decides it for one record
after the other, but all of them are known here, and none has an entry.
"""


from swift_losf.format.name_code import decode_name, durable_code, supersedes
from swift_losf.upkeep.sorted_runs import Entry

#: files, files in quarantine, records to be given back
Settled = tuple[list[Entry], list[Entry], list[Entry]]


def settle(entries: list[Entry]) -> Settled:
    """Sort the records of a hash by what becomes of them.

    :param entries: all valid records of one hash
    :returns: (files, files in quarantine, what is given back)
    """
    if len(entries) == 1:
        # As it is with most hashes.
        return ([], entries, []) if entries[0].quarantined else (
            entries, [], [])
    held = [each for each in entries if each.quarantined]
    files: dict[bytes, Entry] = {}
    dead = []
    for each in entries:
        if each.quarantined:
            continue
        other = files.get(each.code)
        if any(_gives_way(each, to) for to in held):
            dead.append(each)
        elif other is None:
            files[each.code] = each
        else:
            older, newer = sorted((other, each), key=lambda one: (
                one.written, -one.volume, -one.offset))
            files[each.code] = newer
            dead.append(older)
    dead += [files.pop(code) for code, each in list(files.items())
             if _is_copy(each, files.get(durable_code(code)))]
    return list(files.values()), held, dead


def _is_copy(entry: Entry, durable: Entry | None) -> bool:
    """Return whether a fragment was copied before it was made durable."""
    return (durable is not None and durable.code != entry.code
            and durable.written == entry.written)


def _gives_way(entry: Entry, held: Entry) -> bool:
    name, other = decode_name(entry.code), decode_name(held.code)
    return supersedes(other, name) or (
        name == other and entry.written == held.written)
