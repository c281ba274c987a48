# SPDX-License-Identifier: Apache-2.0
"""The calls of index.proto, for Swift's processes.

Arguments and results are plain values and frozen dataclasses. A reply that
does not fit the question raises IndexUnavailable, as no reply does.
"""

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from google.protobuf.message import DecodeError

from swift_losf.errors import IndexUnavailable
from swift_losf.format.header import HASH_LENGTH
from swift_losf.format.keys import MAX_SUFFIX, suffix_of
from swift_losf.format.values import Location, Statistics
from swift_losf.index import index_pb2
from swift_losf.index.channel import Channel
from swift_losf.index.published_places import PublishedPlaces

_SERVICE = index_pb2.DESCRIPTOR.services_by_name['Index']


@dataclass(frozen=True)
class Volume:
    """A volume, as the index counts it."""
    number: int
    type: int
    watermark: int
    files: int
    bytes: int
    dead_bytes: int
    held: int
    held_bytes: int


class MalformedReply(Exception):
    """A reply cannot be the answer to the question."""


def _require(good, what):
    if not good:
        raise MalformedReply(what)


def _location(file):
    _require(file.name, 'a file without a name')
    _require(file.HasField('location'), '%s without a location' % file.name)
    at = file.location
    _require(len(at.metadata) in (0, at.metadata_length),
             '%s with other metadata' % file.name)
    return Location(at.volume, at.offset, at.data_length, at.metadata_length,
                    at.name_length, at.metadata)


def _plain(cls, message):
    return cls(*(getattr(message, name) for name in cls.__annotations__))


class IndexClient:
    """Asks the index server of one device and policy.

    Safe in greenlets, in native threads and after a fork; channel.py
    says how.

    :param socket_path: layout.Layout.socket
    :param timeout: seconds within which each call has ended
    :param retry_interval: seconds for which calls fail at once after one that
        was not answered in time
    :param complain: a function of the IndexUnavailable, called each time
        when the server does not answer
    :param waits: whether calls wait for a server that is away, for as long as
        for an answer
    :raises ValueError: if the path is longer than Linux takes
    """

    def __init__(self, socket_path, timeout=5.0, retry_interval=1.0,
                 complain=lambda err: None, waits=False):
        self._channel = Channel(socket_path, timeout, retry_interval,
                                complain, waits)
        self._methods = {
            method.name: (b'/%s/%s' % (_SERVICE.full_name.encode(),
                                       method.name.encode()),
                          getattr(index_pb2, method.output_type.name))
            for method in _SERVICE.methods}
        self._places = PublishedPlaces(
            socket_path, partial(self._ask, 'GetTable'))

    def _ask(self, name):
        return self._call(name, index_pb2.Empty())

    def _call(self, name, request):
        path, reply = self._methods[name]
        answer = self._channel.call(path, request.SerializeToString())
        with self._checked(name):
            return reply.FromString(answer)

    @contextmanager
    def _checked(self, name):
        try:
            yield
        except (DecodeError, MalformedReply, ValueError) as err:
            raise IndexUnavailable(
                'index server at %s: malformed reply to %s: %s'
                % (self._channel.path, name, err),
                cause=self._channel.path) from err

    def _files(self, name, request, partition, object_hash):
        listing = self._call(name, request)
        with self._checked(name):
            _require(all((file.partition, file.hash)
                         == (partition, object_hash)
                         for file in listing.files), 'files of another hash')
            return [(file.name, _location(file)) for file in listing.files]

    def register(self, partition, object_hash, name, at, watermark,
                 supersedes=()):
        """Enter a file whose record is durable, and remove what gives way.

        :param partition: a number
        :param object_hash: 16 bytes
        :param name: of the file
        :param at: the Location of its record, with metadata
        :param watermark: of the record's volume
        :param supersedes: names of files that give way
        :returns: a list of all files of the hash, as (name, Location)
        """
        return self._files('Register', index_pb2.RegisterRequest(
            file=index_pb2.File(
                partition=partition, hash=object_hash, name=name,
                location=index_pb2.Location(
                    volume=at.volume, offset=at.offset,
                    data_length=at.data_length, name_length=at.name_length,
                    metadata_length=at.metadata_length,
                    metadata=self._places.wanted(at.metadata))),
            watermark=watermark, supersedes=supersedes), partition,
            object_hash)

    def remove(self, partition, object_hash, names=()):
        """Take files out of the index, and give their space back some time.

        :param names: of the files; none: all files of the hash
        :returns: (a list of the names that were there, how many files the
            hash still has)
        """
        reply = self._call('Remove', index_pb2.RemoveRequest(
            partition=partition, hash=object_hash, names=names))
        return list(reply.removed), reply.left

    def quarantine(self, partition, object_hash=None, suffix=None):
        """Put all files of a hash, or of a suffix, into quarantine.

        :param object_hash: 16 bytes, or None
        :param suffix: a number, if there is no hash
        :returns: how many files these were
        """
        if (object_hash is None) == (suffix is None):
            raise ValueError('quarantine takes a hash or a suffix: %r, %r'
                             % (object_hash, suffix))
        return self._call('Quarantine', index_pb2.QuarantineRequest(
            partition=partition, hash=object_hash, suffix=suffix)).count

    def rename(self, partition, object_hash, old, new):
        """Rename a file; return all files of its hash, as (name, Location)."""
        return self._files('Rename', index_pb2.RenameRequest(
            partition=partition, hash=object_hash, old=old, new=new),
            partition, object_hash)

    def list_hash(self, partition, object_hash):
        """Return a list of the files of a hash, as (name, Location)."""
        return self._files('ListHash', index_pb2.HashRequest(
            partition=partition, hash=object_hash), partition, object_hash)

    def known_files(self, object_hash):
        """Return what list_hash does, or None if no table tells it."""
        return self._places.find(object_hash)

    def has_files(self, partition, suffix=0, last=MAX_SUFFIX):
        """Return whether a partition has files of some suffixes in a row.

        :param suffix: a number, the first of them
        :param last: the last of them
        """
        return bool(self._suffix_page(partition, suffix, b'', 1, last)[0])

    def list_suffix(self, partition, suffix):
        """List the hashes of a suffix.

        :param suffix: a number
        :returns: an iterator of (hash, a list of its files' names), by hash
        """
        after, more = b'', True
        while more:
            page, more = self._suffix_page(partition, suffix, after, 0)
            yield from page
            after = page[-1][0] if page else after

    def list_onward(self, partition, suffix, limit=0):
        """List a page of the hashes of a suffix and of all behind it.

        :param suffix: a number
        :param limit: most hashes wanted; 0: as many as the server likes
        :returns: (a list of (hash, a list of its files' names), by suffix,
            then by hash; whether there are more)
        """
        return self._suffix_page(partition, suffix, b'', limit, MAX_SUFFIX)

    def _suffix_page(self, partition, suffix, after, limit, last_suffix=0):
        page = self._call('ListSuffix', index_pb2.SuffixRequest(
            partition=partition, suffix=suffix, after=after, limit=limit,
            last_suffix=last_suffix))
        hashes = [(suffix_of(each.hash), each.hash) for each in page.hashes]
        with self._checked('ListSuffix'):
            _require(all(len(each) == HASH_LENGTH for _, each in hashes),
                     'a hash that is not of %d bytes' % HASH_LENGTH)
            _require(all(suffix <= each <= (last_suffix or suffix)
                         for each, _ in hashes), 'a hash of another suffix')
            _require(all(low < high for low, high in
                         zip([(suffix, after)] + hashes, hashes)),
                     'hashes out of order')
            _require(hashes or not page.more, 'an empty page, and more')
        return [(each.hash, list(each.names)) for each in page.hashes], \
            page.more

    def list_partition(self, partition):
        """Return a list of the suffixes, numbers, that have files."""
        return list(self._call('ListPartition', index_pb2.PartitionRequest(
            partition=partition)).suffixes)

    def list_partitions(self):
        """Return a list of the partitions, numbers, that have files."""
        return list(self._ask('ListPartitions').partitions)

    def list_files(self, first, end, after=b''):
        """List a page of the files of the hashes that stand in a range.

        :param first: (volume, offset)
        :param end: the same, behind the last
        :param after: the second value of the page before; empty: none
        :returns: (a list of (partition, hash, a dict of its files' names
            to Locations, first the one where it stands); what to give for
            the next page, empty if there is none)
        """
        files, after = self._file_page('ListFiles', index_pb2.FilesRequest(
            first=index_pb2.Place(volume=first[0], offset=first[1]),
            end=index_pb2.Place(volume=end[0], offset=end[1]), after=after))
        hashes: list[tuple[int, bytes, dict[str, Location]]] = []
        last = None
        for partition, object_hash, name, location in files:
            if (partition, object_hash) != last:
                last = partition, object_hash
                hashes.append((*last, {}))
                with self._checked('ListFiles'):
                    _require(first <= location.spot < end,
                             '%s stands elsewhere' % name)
            hashes[-1][2][name] = location
        return hashes, after

    def list_quarantine(self):
        """Return an iterator of (partition, hash, name, Location)."""
        after = None
        while after != b'':
            files, after = self._file_page(
                'ListQuarantine', index_pb2.PageRequest(after=after))
            yield from files

    def _file_page(self, name, request):
        page = self._call(name, request)
        with self._checked(name):
            files = [(each.partition, each.hash, each.name, _location(each))
                     for each in page.files]
            _require(all(len(each[1]) == HASH_LENGTH for each in files),
                     'a hash that is not of %d bytes' % HASH_LENGTH)
            _require(not page.next or page.next > request.after,
                     'pages out of order')
        return files, page.next

    def new_volume(self, volume_type):
        """Reserve the number of a new volume, and return it.

        :param volume_type: a number, FORMAT.md, "Volumes"
        """
        number = self._call('NewVolume', index_pb2.NewVolumeRequest(
            type=volume_type)).number
        with self._checked('NewVolume'):
            _require(number, 'volume 0')
        return number

    def list_volumes(self):
        """Return a list of the Volumes."""
        return [_plain(Volume, each)
                for each in self._ask('ListVolumes').volumes]

    def statistics(self):
        """Return the Statistics of the index."""
        return _plain(Statistics, self._ask('GetStatistics'))

    def set_part_power(self, part_power):
        """Tell the part power of the ring."""
        self._call('SetPartPower', index_pb2.PartPower(part_power=part_power))
