# SPDX-License-Identifier: Apache-2.0
"""What one device holds for one storage policy: its index and its volumes.

Hashes are hex digits here, and suffixes their last three, as in Swift's paths.
"""

import errno
import os
from contextlib import suppress

from swift.common.concurrency import tpool

from swift_losf.diskfile.complaints import complaints_of
from swift_losf.diskfile.vfile import VFileReader, VFileWriter, read_metadata
from swift_losf.errors import IndexUnavailable
from swift_losf.format.header import VolumeType
from swift_losf.format.keys import MAX_SUFFIX, suffix_of
from swift_losf.index.index_client import IndexClient
from swift_losf.volumes.appender import Appender
from swift_losf.volumes.volume import mark_durable, mark_quarantined


class Store:
    """The index and the volumes of one device and storage policy.

    :param layout: a :class:`Layout`
    :param options: a :class:`LosfOptions`
    :param logger: a logger
    :param index: what answers for the index; None: its server, by an
        IndexClient
    """

    def __init__(self, layout, options, logger, index=None):
        self.layout = layout
        self.index = index or IndexClient(
            layout.socket, options.index_timeout,
            options.index_retry_interval, complaints_of(logger).of,
            waits=True)
        self._appenders = {
            kind: Appender(layout, kind, options,
                           lambda kind=kind: self.index.new_volume(kind))
            for kind in VolumeType}

    def list_partition(self, partition):
        """Return a list of the suffixes of a partition that have files."""
        return ['%03x' % each for each in
                self.index.list_partition(partition)]

    def list_suffix(self, partition, suffix):
        """Return an iterator of (hash, a list of its files' names)."""
        for object_hash, names in self.index.list_suffix(
                partition, int(suffix, 16)):
            yield object_hash.hex(), names

    def list_onward(self, partition, suffix, limit):
        """List the suffixes from one on, up to a number of hashes.

        :returns: (a dict of suffixes to dicts of hashes to file names, the
            suffix behind those that are complete: maybe the first)
        """
        first = int(suffix, 16)
        hashes, more = self.index.list_onward(partition, first, limit)
        end = suffix_of(hashes[-1][0]) if more else MAX_SUFFIX + 1
        suffixes: dict[str, dict[str, list[str]]] = {}
        for object_hash, names in hashes:
            number = suffix_of(object_hash)
            if number < end:
                suffixes.setdefault('%03x' % number, {})[
                    object_hash.hex()] = names
        return suffixes, end

    def has_files(self, partition, suffix=None):
        """Return whether a suffix, or a whole partition, has files."""
        return self.index.has_files(
            partition, *[int(suffix, 16)] * 2 if suffix else ())

    def list_hash(self, partition, object_hash):
        """Return the files of a hash: a list of (name, Location)."""
        files = self.known_files(object_hash)
        return self.ask_for_hash(partition, object_hash) if files is None \
            else files

    def known_files(self, object_hash):
        """Do what list_hash does, but return None where it would ask."""
        return self.index.known_files(bytes.fromhex(object_hash))

    def ask_for_hash(self, partition, object_hash):
        """Do what list_hash does, but call the index in any case."""
        return self.index.list_hash(partition, bytes.fromhex(object_hash))

    def open(self, where, location):
        """Open a data file.

        :param where: the ObjectPath of a data file
        :param location: where the index says that it is
        :returns: a :class:`VFileReader`
        :raises FileNotFoundError: if it is no longer there
        :raises OSError: if it is damaged
        """
        return VFileReader.open(self.layout, location,
                                bytes.fromhex(where.object_hash), where.name)

    def read_metadata(self, where, location):
        """Read a file's metadata, without its data.

        :raises OSError: as open
        """
        return read_metadata(self.layout, location,
                             bytes.fromhex(where.object_hash), where.name)

    def writer(self, extension, bytes_per_sync, run=tpool.execute):
        """Begin a new file.

        :param extension: of the file
        :param bytes_per_sync: how much may be written without a sync
        :param run: as VFileWriter takes it
        :returns: a :class:`VFileWriter`
        """
        kind = VolumeType.TOMBSTONES if extension == '.ts' \
            else VolumeType.DATA
        return VFileWriter(self._appenders[kind], bytes_per_sync, run)

    def register(self, where, name, pending, supersedes=(), is_last=True):
        """Make a file that was written exist.

        :param where: the ObjectPath of its hash directory
        :param pending: what the writer's finish() returned
        :param supersedes: names of files that give way to it
        :param is_last: whether it is registered for the last time; else its
            record stays outstanding
        :returns: a list of (name, Location) of all files of the hash
        :raises IndexUnavailable: if it does not exist, or may not
        """
        try:
            self._require_in_place(pending)
            return self.index.register(
                where.partition, bytes.fromhex(where.object_hash), name,
                pending.location, pending.watermark(is_last), supersedes)
        finally:
            if is_last:
                pending.done()

    def mark_durable(self, pending):
        """Note in the record of a fragment that it is durable, durably.

        :param pending: what the writer's finish() returned
        :raises IndexUnavailable: if its volume is not there any more
        """
        self._require_in_place(pending)
        mark_durable(self.layout, pending.location)

    def _require_in_place(self, pending):
        path = self.layout.volume(pending.location.volume)
        if not pending.is_in_place(path):
            raise IndexUnavailable(
                '%s is not what has been written to: another device has '
                'been mounted' % path)

    def remove(self, partition, object_hash, names=()):
        """Remove files of a hash.

        :param names: of the files; none: all of them
        """
        self.index.remove(partition, bytes.fromhex(object_hash), names)

    def make_durable(self, where, name):
        """Give a fragment the name by which it is durable, durably.

        Its record is marked before, and once more if the compactor has moved
        it meanwhile. It may have been renamed already.

        :param where: the ObjectPath of the fragment
        :param name: its durable name
        :raises FileNotFoundError: if the fragment was removed
        """
        files = dict(self.list_hash(where.partition, where.object_hash))
        marked, location = None, files.get(where.name) or files.get(name)
        while location and location != marked:
            # Of a volume that was compacted, the copy is marked next.
            with suppress(FileNotFoundError):
                mark_durable(self.layout, location)
            marked, location = location, self._rename(where, name).get(name)
        if not location:
            raise FileNotFoundError(
                errno.ENOENT, os.strerror(errno.ENOENT), where.name)

    def _rename(self, where, name):
        """Return the files after a rename; {} if it was removed before."""
        try:
            return dict(self.index.rename(
                where.partition, bytes.fromhex(where.object_hash),
                where.name, name))
        except IndexUnavailable:
            if {where.name, name}.intersection(dict(self.list_hash(
                    where.partition, where.object_hash))):
                raise
            return {}

    def quarantine(self, where):
        """
        Put the files of a hash, or of all hashes of a suffix, into quarantine.

        :param where: the ObjectPath of the hash or suffix
        """
        hashes = [where.object_hash] if where.object_hash else [
            object_hash for object_hash, _ in self.list_suffix(
                where.partition, where.suffix)]
        for object_hash in hashes:
            self._mark(where.partition, object_hash)
            self.index.quarantine(where.partition,
                                  bytes.fromhex(object_hash))

    def _mark(self, partition, object_hash):
        """Mark the records of a hash, wherever the compactor moves them."""
        marked, files = None, self.ask_for_hash(partition, object_hash)
        while files != marked:
            for _, location in files:
                # What cannot be marked cannot be read by a recovery either.
                with suppress(OSError):
                    mark_quarantined(self.layout, location)
            marked, files = files, self.ask_for_hash(partition, object_hash)
