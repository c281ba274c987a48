# SPDX-License-Identifier: Apache-2.0
"""Lists what is in an index, for the calls of index.proto and for upkeep.

Each call sees the index as it was when the call began. Suffixes and
partitions are found by seeking from one to the next, so their number of files
does not matter. The methods that upkeep and other calls use (files,
is_entered, find) take the partition that stands in keys; lists are by that of
the ring.
"""

import heapq
from itertools import groupby

from swift_losf.format import keys
from swift_losf.format.header import HASH_LENGTH
from swift_losf.format.name_code import other_name
from swift_losf.format.values import MAX_NUMBER, Location, unpack_spot
from swift_losf.index.call_arguments import (
    check,
    check_hash,
    check_range,
    check_suffix,
)

#: the most hashes or files that one answer has, so that its size is bounded
PAGE = 4096
#: the files that list_files looks at for one answer: few of them may be in
#: the range that is asked for
SEARCHED = 2048


def _leader_first(files):
    """Put the file that says where a hash stands before its other files.

    :param files: of a hash: a list of (name, value), by key
    :returns: the newest data file, or else the first file; then the others
    """
    data = [each for each in files if each[0].endswith('.data')]
    leader = max(data or files[:1])
    return [leader] + [each for each in files if each is not leader]


class EntryReader:
    """Lists the files, hashes, suffixes and partitions of an index.

    :param db: a Database
    :param part_power: its PartPower
    """

    def __init__(self, db, part_power):
        self.db = db
        self._part_power = part_power

    def files(self, partition, hash_):
        """Return the files of a hash: a dict of name to Location."""
        return {keys.split_file_key(key)[2]: Location.unpack(value)
                for key, value in self.db.scan(
                    *keys.hash_range(partition, hash_))}

    def is_entered(self, partition, hash_, location, files=None):
        """Return whether a record has an entry.

        The entry may be in quarantine, or have another name.

        :param location: the Location of the record
        :param files: of the hash, if the caller has read them already
        """
        if files is None:
            files = self.files(partition, hash_)
        entered = list(files.values())
        if self.db.quarantined:
            entered += [Location.unpack(value) for _, value in self.db.scan(
                *keys.hash_range(partition, hash_, keys.QUARANTINED))]
        return any(each.spot == location.spot for each in entered)

    def find(self, partition, hash_, location, name):
        """Return the key of the entry of a record, in quarantine or not.

        Only the keys that it may have are looked up: a scan that finds
        nothing goes on through all that was deleted behind it.

        :param location: the Location of the record
        :param name: that the record has, of which a fragment has two
        :returns: the key, or None if no entry has the record
        :raises FormatError: if no file can have that name
        """
        for each in filter(None, (name, other_name(name))):
            key = keys.file_key(partition, hash_, each)
            value = self.db.get(key)
            if value is not None and unpack_spot(value) == location.spot:
                return key
            key = keys.quarantine_key(partition, hash_, each, location)
            if self.db.quarantined and self.db.get(key) is not None:
                return key
        return None

    def list_hash(self, partition, hash_):
        """Return the files of a hash: a list of (name, Location), by name."""
        check_hash(partition, hash_)
        return sorted(self.files(self._part_power.key_partition(
            partition, hash_), hash_).items())

    def list_suffix(self, partition, suffix, after=b'', limit=0,
                    last_suffix=0):
        """List the hashes of a suffix, or of some in a row, page by page.

        :param after: the last hash of the page before
        :param limit: most hashes wanted; 0: as many as a page has
        :param last_suffix: the last of them; 0: there is but the one
        :returns: (a list of (hash, names), whether there are more)
        """
        check_suffix(partition, suffix)
        last = last_suffix or suffix
        check_range('last_suffix', last, suffix, keys.MAX_SUFFIX)
        check('after', after.hex(), 'empty or %d bytes' % HASH_LENGTH,
              len(after) in (0, HASH_LENGTH))
        if after:
            check('after', after.hex(), 'a hash of suffix %03x to %03x' % (
                suffix, last), suffix <= keys.suffix_of(after) <= last)
        limit = min(limit or PAGE, PAGE)
        page: list[tuple[bytes, list[str]]] = []
        for key, _ in self.entries(partition, suffix, last, after):
            _, hash_, name = keys.split_file_key(key)
            if not page or page[-1][0] != hash_:
                if len(page) == limit:
                    return page, True
                page.append((hash_, []))
            page[-1][1].append(name)
        return page, False

    def list_partition(self, partition):
        """Return the suffixes, numbers, of a partition that have files."""
        check_range('partition', partition, 0, keys.MAX_PARTITION)
        return sorted({piece.read(key)[0] for piece in self._slices(partition)
                       for key, _ in self._walk(piece, skim=True)})

    def list_partitions(self):
        """Return the partitions, numbers, that have files."""
        view = self._part_power.view
        # One seek for each group, however many files are in it.
        entries = self.db.scan(*keys.prefix_range(keys.FILE))
        found: set[int] = set()
        for key, _ in entries:
            group = keys.split_place(key)[0]
            entries.seek(keys.partition_range(group)[1])
            several = view.partitions(group)
            found.update(several if len(several) == 1 else (
                partition for partition in several
                if any(True for _ in self.entries(partition))))
        return sorted(found)

    def _slices(self, partition):
        return self._part_power.view.slices(partition)

    def entries(self, partition, suffix=0, last=keys.MAX_SUFFIX, after=b''):
        """Return an iterator of the entries of suffixes in a row, by hash.

        :param suffix: the first of them
        :param last: the last of them
        :param after: a hash before the first one that is wanted; empty: none
        """
        walks = [self._walk(each, suffix, last, after)
                 for each in self._slices(partition)]
        return walks[0] if len(walks) == 1 else heapq.merge(
            *walks, key=lambda entry: keys.turned(
                keys.hash_prefix(entry[0])[1:]))

    def _walk(self, piece, suffix=0, last=keys.MAX_SUFFIX, after=b'', *,
              skim=False):
        """Yield the entries of a Slice, some suffixes of it.

        Where it is but a part of the suffixes, one is sought after the other.

        :param skim: whether one entry of each suffix is enough
        """
        start = keys.hash_range(piece.group, after)[1] if after \
            else piece.first(suffix)
        stop = keys.suffix_range(piece.group, last)[1]
        entries = self.db.scan(start, stop)
        for entry in entries:
            if not piece.bits and not skim:
                yield entry
                continue
            found, head = piece.read(entry[0])
            if head == piece.head:
                yield entry
                if not skim:
                    continue
            behind = head >= piece.head
            if behind and found == last:
                return
            entries.seek(piece.first(found + behind))

    def list_files(self, first, end, after=b''):
        """List the files of the hashes that stand in a range, page by page.

        A hash stands where its newest data file does, or, if it has none,
        its first file; that one comes first among its files.

        :param first: where the range begins: (volume, offset)
        :param end: the same of what comes behind the range
        :param after: the second value of the page before
        :returns: as list_quarantine; all files of a hash on one page
        """
        for place in (first, end):
            check_range('volume', place[0], 0, MAX_NUMBER)
            check_range('offset', place[1], 0, MAX_NUMBER)
        check('after', after.hex(), 'empty or what came with a page',
              after[:1] in (b'', keys.FILE))
        start, stop = keys.prefix_range(keys.FILE)
        page: list[tuple[int, bytes, str, Location]] = []
        searched = 0
        for _, entries in groupby(
                self.db.scan(after or start, stop),
                lambda entry: keys.hash_prefix(entry[0])):
            key, value = next(entries)
            if searched >= SEARCHED:
                return page, key
            others = list(entries)
            searched += 1 + len(others)
            if others or first <= unpack_spot(value) < end:
                page += self._standing([(key, value)] + others, first, end)
        return page, b''

    def _standing(self, entries, first, end):
        # The files of a hash, if it stands in that range.
        partition, hash_, _ = self._split(entries[0][0])
        files = _leader_first([(keys.split_file_key(key)[2], value)
                               for key, value in entries])
        if not first <= unpack_spot(files[0][1]) < end:
            return []
        return [(partition, hash_, name, Location.unpack(value))
                for name, value in files]

    def list_quarantine(self, after=b''):
        """List the files in quarantine, page by page.

        :param after: the second value of the page before
        :returns: (a list of (partition, hash, name, Location), what to give
            for the next page; empty if there is none)
        """
        check('after', after.hex(), 'empty or what came with a page',
              after[:1] in (b'', keys.QUARANTINED))
        page = []
        start, stop = keys.prefix_range(keys.QUARANTINED)
        for key, value in self.db.scan(after and after + b'\0' or start,
                                       stop):
            page.append((*self._split(key), Location.unpack(value)))
            if len(page) == PAGE:
                return page, key
        return page, b''

    def _split(self, key):
        """Return what split_file_key does, with the partition of the ring."""
        group, hash_, name = keys.split_file_key(key)
        return self._part_power.view.partition(group, hash_), hash_, name
