# SPDX-License-Identifier: Apache-2.0
"""The bytes of the table in which readers find files without a call.

FORMAT.md, "Reads without a call". The table is a row of buckets. A hash
belongs into one of them, and a bucket is written and read at once; what is
read while it is written does not verify. Nothing here reads or writes.
"""

import struct
from collections.abc import Iterable

from google_crc32c import value as crc32c

from swift_losf.format.header import HASH_LENGTH, FormatError
from swift_losf.format.keys import split_code
from swift_losf.format.values import withhold_metadata

#: bytes of a bucket
BUCKET = 4096
#: bytes of what a hash is found by: keys.turn
PREFIX = HASH_LENGTH

_HEADER = struct.Struct('<IHBB')
_NUMBER = struct.Struct('<Q')
_LENGTH = struct.Struct('<H')
_START = _HEADER.size
#: most bytes of the files of one hash, and of the code of a name
_MOST, _MOST_NAME = BUCKET // 4, 255
#: most hashes of a bucket
_MOST_HASHES = 255
#: bytes of a file whose metadata are left out, unless its name is a long one
_BARE = 32

#: codes of names to the values of their entries
Files = dict[bytes, bytes]


def bucket_of(prefix: bytes, buckets: int) -> int:
    """Return the number of the bucket that a hash belongs into."""
    return int.from_bytes(prefix[4:12], 'big') % buckets


def _split(coded: bytes) -> Files:
    files, at = {}, 0
    try:
        while at < len(coded):
            middle = at + 3 + coded[at]
            end = middle + (coded[middle - 2] | coded[middle - 1] << 8)
            files[coded[at + 1:middle - 2]] = coded[middle:end]
            at = end
        if at == len(coded):
            return files
    except IndexError:
        pass
    raise FormatError('files of a hash that are cut off')


def _join(files: Files) -> bytes:
    return b''.join(
        b'%c%b%b%b' % (len(name), name, _LENGTH.pack(len(value)), value)
        for name, value in files.items())


def _without_metadata(files: Files) -> Files:
    return {name: withhold_metadata(value) for name, value in files.items()}


def _coded(files: Files) -> bytes | None:
    """Return the code of some files, or None if it is too long."""
    if max(map(len, files)) > _MOST_NAME:
        return None
    if sum(map(len, files.values())) > _MOST:
        files = _without_metadata(files)
        if sum(map(len, files.values())) > _MOST:
            return None
    coded = _join(files)
    return coded if len(coded) <= _MOST else None


class Bucket:
    """A bucket, which may be looked into and changed.

    :param data: its bytes, BUCKET of them
    :param number: of the bucket
    :raises FormatError: if they are not those of a bucket: it is being
        written
    """

    def __init__(self, data: bytes, number: int) -> None:
        crc, end, count, partial = _HEADER.unpack_from(data)
        self._number = number
        self._partial = bool(partial)
        #: of the hashes, the one changed last is the last
        self._prefixes = self._files = b''
        self._lengths: list[int] = []
        if not end and not crc:
            return  # nothing was ever written to it
        lengths, start = _START + PREFIX * count, _START + 18 * count
        if not start <= end <= len(data) or crc != crc32c(
                _NUMBER.pack(number) + data[4:end]):
            raise FormatError('bucket %d: is being written' % number)
        self._prefixes = data[_START:lengths]
        self._lengths = list(struct.unpack_from('<%dH' % count, data,
                                                lengths))
        self._files = data[start:end]
        if sum(self._lengths) != end - start:
            raise FormatError('bucket %d: its lengths are wrong' % number)

    def _find(self, prefix: bytes) -> int:
        """Return which of the hashes this is; -1 if it is none."""
        at = self._prefixes.find(prefix)
        while at % PREFIX and at >= 0:
            at = self._prefixes.find(prefix, at + 1)
        return at // PREFIX

    def _range(self, which: int) -> tuple[int, int]:
        start = sum(self._lengths[:which])
        return start, start + self._lengths[which]

    def files(self, prefix: bytes) -> Files | None:
        """Return the files of a hash.

        :returns: none if it has none; None if the bucket does not tell
        """
        which = self._find(prefix)
        if which < 0:
            return None if self._partial else {}
        start, end = self._range(which)
        return _split(self._files[start:end])

    def put(self, prefix: bytes, files: Files) -> None:
        """Enter all files of a hash, or take it out if there are none.

        Where there is no room, others give way: those first that were not
        changed for longest.
        """
        which = self._find(prefix)
        if which >= 0:
            self._drop(which)
        coded = _coded(files) if files else b''
        if coded:
            self._prefixes += prefix
            self._lengths.append(len(coded))
            self._files += coded
            self._make_room()
        elif coded is None:
            self._partial = True

    def _drop(self, which: int) -> None:
        start, end = self._range(which)
        self._files = self._files[:start] + self._files[end:]
        at = which * PREFIX
        self._prefixes = self._prefixes[:at] + self._prefixes[at + PREFIX:]
        del self._lengths[which]

    def _make_room(self) -> None:
        which = 0
        while self._length() > BUCKET and which < len(self._lengths):
            if self._lengths[which] > _BARE:
                start, end = self._range(which)
                bare = _join(_without_metadata(
                    _split(self._files[start:end])))
                self._files = self._files[:start] + bare + self._files[end:]
                self._lengths[which] = len(bare)
            which += 1
        while (self._length() > BUCKET
               or len(self._lengths) > _MOST_HASHES):
            self._drop(0)
            self._partial = True

    def _length(self) -> int:
        return _START + 18 * len(self._lengths) + len(self._files)

    def pack(self) -> bytes:
        """Return the bytes of the bucket, without what is unused."""
        count = len(self._lengths)
        head = _HEADER.pack(0, self._length(), count, self._partial)[4:]
        covered = b'%b%b%b%b' % (
            head, self._prefixes, struct.pack('<%dH' % count, *self._lengths),
            self._files)
        return struct.pack('<I', crc32c(
            _NUMBER.pack(self._number) + covered)) + covered


def grouped(entries: Iterable[tuple[bytes, bytes]]
            ) -> list[tuple[bytes, Files]]:
    """Gather the files of each hash.

    :param entries: keys of files, in their order, and their values
    :returns: a list of (place, Files)
    """
    hashes: list[tuple[bytes, Files]] = []
    for key, value in entries:
        place, name = split_code(key)
        if not hashes or hashes[-1][0] != place:
            hashes.append((place, {}))
        hashes[-1][1][name] = value
    return hashes
