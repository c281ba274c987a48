# SPDX-License-Identifier: Apache-2.0
"""
The rows of versions: stamps, names, etags, whole rows, and how they are read.

A row is given as four lines: its name, hash, content type and when it was
modified, as a listing of a container has them.
"""

from swift_lightsync.versioning.core.keys import (
    ReadRepairKeys,
    WriteRepairKeys,
    hidden_container,
    user_container,
)
from swift_lightsync.versioning.core.pointer import pointer_after
from swift_lightsync.versioning.core.row_data import (
    PURGE_MARKER,
    entry_of,
    history_row,
    latest_row,
    listed_entry,
    null_of,
    parameters_of,
    pointer_of,
    row_of,
)
from swift_lightsync.versioning.core.shipping import MAX_NAME
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector
from swift_lightsync.versioning.rows.row_wire import (
    put_headers,
    row_of_record,
)
from tools.fuzzing.mutate import edit_part, edit_text
from tools.fuzzing.sites import ENTRIES, STAMPS, VERSIONS
from tools.fuzzing.target import Target, as_text

MODIFIED = '2026-01-02T03:04:05.678900'
KEYS = (WriteRepairKeys, ReadRepairKeys)
LONGEST = 1 << 14


def _lines(row):
    """Return the bytes of a row, as a container server lists it."""
    headers = put_headers(row)
    return '\n'.join((row.name, headers['X-Etag'], row.content_type,
                      MODIFIED)).encode('utf8')


def _row(data):
    name, etag, content_type, modified = (
        data.decode('utf8', 'replace') + '\n\n\n').split('\n')[:4]
    return row_of_record({'name': name, 'hash': etag, 'bytes': 7,
                          'content_type': content_type,
                          'last_modified': modified})


def _place(name):
    keys = next((each for each in KEYS
                 if name.startswith(each.all_versions)), WriteRepairKeys)
    return keys, keys.parse(name)


def _name(found):
    keys, place = found
    return keys.version(place.object, place)


def parse_version_row(data):
    """Read it, and see that what it says can be written and read again."""
    row = _row(data)
    keys, place = _place(row.name)
    entry = entry_of(row, place)
    again = row_of(entry, keys.version(entry.object, entry.version))
    found = entry_of(_row(_lines(again)), place)
    if found.version != entry.version or found.etag != entry.etag or \
            found.kind != entry.kind or found.plain != entry.plain:
        raise AssertionError('is read as %r' % (found,))
    return entry


def pointer_rows():
    """Return rows of pointers, and of the objects themselves."""
    pointers = [pointer_after(None, ENTRIES[first:last], lambda: STAMPS[1])
                for first in range(4) for last in range(first + 1, 5)]
    latest = [latest_row(each, 'o') for each in pointers]
    return [_lines(row) for row in (
        *(history_row('o', each) for each in pointers),
        *(row for row in latest if not row.deleted))]


def parse_pointer_row(data):
    """Read it as a pointer's row, or without a frontier as an object's."""
    row = _row(data)
    if row.content_type != PURGE_MARKER and \
            'frontier' not in parameters_of(row.etag)[1]:
        found = listed_entry(row)
        if (found is None) != (null_of(row, 'paris') is not None):
            raise AssertionError('is of two, or of none')
        if found and found.size < 0:
            raise AssertionError('has %d bytes' % found.size)
        return found
    pointer = pointer_of(row, 'o')
    again = pointer_of(_row(_lines(history_row('o', pointer))), 'o')
    if again != pointer:
        raise AssertionError('is read as %r' % (again,))
    if pointer.latest and pointer.latest.size < 0:
        raise AssertionError('has %d bytes' % pointer.latest.size)
    return pointer


def _exact(name, values, parse, encode=str):
    """Return a target for which no two texts may say the same."""
    return Target(
        name, as_text(*values), lambda data: parse(data.decode('latin-1')),
        (ValueError,), LONGEST,
        encode=lambda found: encode(found).encode('latin-1'),
        mutations=(edit_text,))


def _target(name, rows, parse):
    # What is quoted is 8 bytes long in a text of wide characters.
    return Target(name, rows, parse, (ValueError,), LONGEST, 256,
                  mutations=(edit_part('\n'),))


TARGETS = (
    _exact('stamp', STAMPS, Stamp.parse),
    _exact('vector', [each.vector for each in VERSIONS], Vector.parse),
    _exact('hidden-container',
           [hidden_container('c' * length)
            for length in (0, 1, 256, MAX_NAME - 1)],
           user_container, hidden_container),
    _exact('row-name', [keys.version('o' * length, version) for keys in KEYS
                        for version in VERSIONS for length in (0, 1, 9)],
           _place, _name),
    _target('version-row', [
        _lines(row_of(entry, keys.version('o', entry.version)))
        for keys in KEYS for entry in ENTRIES], parse_version_row),
    _target('pointer-row', pointer_rows(), parse_pointer_row),
)
