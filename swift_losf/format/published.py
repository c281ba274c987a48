# SPDX-License-Identifier: Apache-2.0
"""The bytes of the table in which readers find files without a call.

FORMAT.md, "Reads without a call". The table is a row of buckets. A hash
belongs into one of them, and a bucket is written and read at once; what is
read while it is written does not verify. Nothing here reads or writes.
"""

import struct
from typing import Dict, Iterable, List, Optional, Tuple

from google_crc32c import value as crc32c

from swift_losf.format.header import HASH_LENGTH, FormatError
from swift_losf.format.keys import split_code

#: bytes of a bucket
BUCKET = 512
#: bytes of what a hash is found by: keys.turn
PREFIX = HASH_LENGTH

_HEADER = struct.Struct('<IHB')
_NUMBER = struct.Struct('<Q')
_START = 8
#: a flag: files of hashes that belong into the bucket are not in it
_PARTIAL = 1
#: most bytes of the files of one hash
_MOST = 255

#: codes of names to packed locations
Files = Dict[bytes, bytes]


def bucket_of(prefix: bytes, buckets: int) -> int:
    """Return the number of the bucket that a hash belongs into."""
    return int.from_bytes(prefix[4:12], 'big') % buckets


def _checked(data: bytes, number: int) -> int:
    """Return where a bucket ends; 0 if nothing was ever written to it."""
    crc: int
    end: int
    crc, end, _ = _HEADER.unpack_from(data)
    if not end and not crc:
        return 0
    if not _START <= end <= len(data) or crc != crc32c(
            _NUMBER.pack(number) + data[4:end]):
        raise FormatError('bucket %d: is being written' % number)
    return end


def _split(coded: bytes) -> Files:
    files, at = {}, 0
    try:
        while at < len(coded):
            middle = at + 1 + coded[at]
            end = middle + 1 + coded[middle]
            files[coded[at + 1:middle]] = coded[middle + 1:end]
            at = end
    except IndexError:
        raise FormatError('files of a hash that are cut off') from None
    return files


def _join(files: Files) -> Optional[bytes]:
    """Return the code of some files, or None if it is too long."""
    if max(map(len, (*files, *files.values())), default=0) > _MOST:
        return None
    coded = b''.join(
        b'%c%b%c%b' % (len(name), name, len(place), place)
        for name, place in files.items())
    return coded if len(coded) <= _MOST else None


def probe(data: bytes, number: int, prefix: bytes) -> Optional[Files]:
    """Look for a hash in the bytes of its bucket.

    :param data: of the bucket, as they were read
    :param number: of the bucket
    :param prefix: of the hash
    :returns: its files, none if it has none; None if the bucket does not tell
    :raises FormatError: if the bucket was being written
    """
    end, at = _checked(data, number), _START
    while at < end:
        start = at + 1 + PREFIX
        if data[at + 1:start] == prefix:
            return _split(data[start:start + data[at]])
        at = start + data[at]
    return None if data[6] & _PARTIAL else {}


class Bucket:
    """A bucket that is about to be changed.

    :param data: its bytes, BUCKET of them
    :param number: of the bucket
    :raises FormatError: if they are not those of a bucket
    """

    def __init__(self, data: bytes, number: int) -> None:
        self._number = number
        self._partial = bool(data[6] & _PARTIAL)
        # By prefix, the last one changed last.
        self._entries: Dict[bytes, bytes] = {}
        end, at = _checked(data, number), _START
        while at < end:
            start = at + 1 + PREFIX
            self._entries[data[at + 1:start]] = data[start:start + data[at]]
            at = start + data[at]

    def files(self, prefix: bytes) -> Optional[Files]:
        """Return what probe does."""
        coded = self._entries.get(prefix)
        if coded is not None:
            return _split(coded)
        return None if self._partial else {}

    def put(self, prefix: bytes, files: Files) -> None:
        """Enter all files of a hash, or take it out if there are none.

        Other hashes, those first that were not changed for longest, give way
        if there is no room.
        """
        self._entries.pop(prefix, None)
        if not files:
            return
        coded = _join(files)
        if coded is None:
            self._partial = True
            return
        self._entries[prefix] = coded
        while self._length() > BUCKET:
            del self._entries[next(iter(self._entries))]
            self._partial = True

    def _length(self) -> int:
        return _START + sum(1 + PREFIX + len(each)
                            for each in self._entries.values())

    def pack(self) -> bytes:
        """Return the bytes of the bucket, without what is unused."""
        body = b''.join(b'%c%b%b' % (len(coded), prefix, coded)
                        for prefix, coded in self._entries.items())
        head = _HEADER.pack(0, _START + len(body), self._partial)[4:]
        covered = head + b'\0' + body
        return struct.pack('<I', crc32c(
            _NUMBER.pack(self._number) + covered)) + covered


def grouped(entries: Iterable[Tuple[bytes, bytes]]
            ) -> List[Tuple[bytes, Files]]:
    """Gather the files of each hash.

    :param entries: keys of files, in their order, and packed locations
    :returns: a list of (place, Files)
    """
    hashes: List[Tuple[bytes, Files]] = []
    for key, value in entries:
        place, name = split_code(key)
        if not hashes or hashes[-1][0] != place:
            hashes.append((place, {}))
        hashes[-1][1][name] = value
    return hashes
