# SPDX-License-Identifier: Apache-2.0
"""
What the rows of versions say: stamps, names, etags, whole rows.

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
from tools.fuzzing.mutate import edit, edit_text
from tools.fuzzing.sites import SITES, make_entry, make_stamp, make_version
from tools.fuzzing.target import Target

MODIFIED = '2026-01-02T03:04:05.678900'
KEYS = (WriteRepairKeys, ReadRepairKeys)
LONGEST = 1 << 14


def edit_line(rng, data):
    """One line of a row is edited."""
    lines = data.decode('utf8', 'replace').split('\n')
    at = rng.randrange(len(lines))
    lines[at] = edit(rng, lines[at])
    return '\n'.join(lines).encode('utf8', 'surrogatepass')


def _lines(row):
    """:returns: the bytes of a row as a container server lists it"""
    headers = put_headers(row)
    return '\n'.join((row.name, headers['X-Etag'], row.content_type,
                      MODIFIED)).encode('utf8')


def _row(data):
    name, etag, content_type, modified = (
        data.decode('utf8', 'replace') + '\n\n\n').split('\n')[:4]
    return row_of_record({'name': name, 'hash': etag, 'bytes': 7,
                          'content_type': content_type,
                          'last_modified': modified})


def make_name(rng):
    keys = rng.choice(KEYS)
    version = make_version(rng)
    return keys.version('o' * rng.randrange(9), version).encode()


def _place(name):
    keys = next((each for each in KEYS
                 if name.startswith(each.all_versions)), WriteRepairKeys)
    return keys, keys.parse(name)


def parse_name(data):
    return _place(data.decode('latin-1'))


def encode_name(found):
    keys, place = found
    return keys.version(place.object, _Version(place)).encode('latin-1')


class _Version:
    """What of a version is in a name."""

    def __init__(self, place):
        self.id = place.id
        self.site = place.site


def make_version_row(rng):
    entry = make_entry(rng)
    name = rng.choice(KEYS).version('o', entry.version)
    return _lines(row_of(entry, name))


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


def make_pointer_row(rng):
    entries = [make_entry(rng) for _ in range(rng.choice((1, 1, 2, 3)))]
    pointer = pointer_after(None, entries, lambda: make_stamp(rng))
    make = rng.choice((history_row, latest_row))
    row = make('o', pointer) if make is history_row else \
        make(pointer, 'o')
    return _lines(history_row('o', pointer) if row.deleted else row)


def parse_pointer_row(data):
    """
    Read it as the row of a pointer, or as that of the object itself, which
    has no frontier.
    """
    row = _row(data)
    if row.content_type != PURGE_MARKER and \
            'frontier' not in parameters_of(row.etag)[1]:
        found = listed_entry(row)
        if (found is None) != (null_of(row, SITES[0]) is not None):
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


def _exact(name, make, parse, encode=str):
    """A target of which no two texts may say the same."""
    return Target(
        name, lambda rng: str(make(rng)).encode(),
        lambda data: parse(data.decode('latin-1')), (ValueError,), LONGEST,
        64, encode=lambda found: encode(found).encode('latin-1'),
        mutations=(edit_text,))


def _target(name, make, parse):
    # What is quoted is 8 bytes long in a text of wide characters.
    return Target(name, make, parse, (ValueError,), LONGEST, 256,
                  mutations=(edit_line,))


TARGETS = (
    _exact('stamp', make_stamp, Stamp.parse),
    _exact('vector', lambda rng: make_version(rng).vector, Vector.parse),
    _exact('hidden-container',
           lambda rng: hidden_container('c' * rng.randrange(MAX_NAME)),
           user_container, hidden_container),
    Target('row-name', make_name, parse_name, (ValueError,), LONGEST, 64,
           encode=encode_name, mutations=(edit_text,)),
    _target('version-row', make_version_row, parse_version_row),
    _target('pointer-row', make_pointer_row, parse_pointer_row),
)
