# SPDX-License-Identifier: Apache-2.0
"""The calls of index.proto: messages in, messages out.

There is no generated service class: the descriptor names the calls, and a
table tells what each does with an Index.
"""

import logging
import os
import threading
import time

import plyvel
from google.protobuf.message import DecodeError

from swift_losf.format.header import FormatError
from swift_losf.format.values import Location
from swift_losf.index import index_pb2 as pb
from swift_losf.index.call_arguments import InvalidArgument
from swift_losf.index.db import NotDurable, is_full
from swift_losf.index.grpc_server import Refusal
from swift_losf.index.grpc_unary import Status
from swift_losf.index.index import NotFound, Refused
from swift_losf.index.known import NotKnownYet

_SERVICE = pb.DESCRIPTOR.services_by_name['Index']
#: Without an index a call gets UNAVAILABLE, and is made again. With one that
#: cannot tell when it could answer, it gets ABORTED, and is not.
_CODES = {InvalidArgument: Status.INVALID_ARGUMENT,
          DecodeError: Status.INVALID_ARGUMENT,
          NotFound: Status.NOT_FOUND,
          Refused: Status.FAILED_PRECONDITION,
          NotKnownYet: Status.ABORTED,
          NotDurable: Status.RESOURCE_EXHAUSTED}
#: after these, the index has to be recovered
FATAL = (plyvel.Error, FormatError, OSError)
#: seconds without a call after which nobody is served
IDLE = 1.0


def _file(partition, hash_, name, location, metadata=b''):
    return pb.File(partition=partition, hash=hash_, name=name,
                   location=pb.Location(
                       volume=location.volume, offset=location.offset,
                       data_length=location.data_length,
                       metadata_length=location.metadata_length,
                       name_length=location.name_length, metadata=metadata))


def _listing(partition, hash_, files):
    return pb.Listing(files=[_file(partition, hash_, name, location)
                             for name, location in files])


def _volume(number, state):
    return pb.Volume(number=number, type=state.type,
                     watermark=state.watermark, files=state.files,
                     bytes=state.bytes, dead_bytes=state.dead_bytes,
                     held=state.held, held_bytes=state.held_bytes)


def _register(index, request):
    file, at = request.file, request.file.location
    location = Location(at.volume, at.offset, at.data_length,
                        at.metadata_length, at.name_length, at.metadata)
    return _listing(file.partition, file.hash, index.register(
        file.partition, file.hash, file.name, location, request.watermark,
        request.supersedes))


def _remove(index, request):
    removed, left = index.remove(request.partition, request.hash,
                                 request.names)
    return pb.RemoveResponse(removed=removed, left=left)


def _quarantine(index, request):
    return pb.Count(count=index.quarantine(
        request.partition, request.hash, request.suffix))


def _rename(index, request):
    return _listing(request.partition, request.hash, index.rename(
        request.partition, request.hash, request.old, request.new))


def _list_hash(index, request):
    partition, hash_ = request.partition, request.hash
    return pb.Listing(files=[
        _file(partition, hash_, name, location, location.metadata)
        for name, location in index.reader.list_hash(partition, hash_)])


def _list_suffix(index, request):
    hashes, more = index.reader.list_suffix(request.partition, request.suffix,
                                     request.after, request.limit,
                                     request.last_suffix)
    return pb.SuffixListing(more=more, hashes=[
        pb.HashFiles(hash=hash_, names=names) for hash_, names in hashes])


def _list_partition(index, request):
    return pb.Suffixes(suffixes=index.reader.list_partition(request.partition))


def _list_partitions(index, request):
    return pb.Partitions(partitions=index.reader.list_partitions())


def _page(files, after):
    return pb.FileListing(files=[_file(*each) for each in files], next=after)


def _list_files(index, request):
    return _page(*index.reader.list_files(
        *((place.volume, place.offset)
          for place in (request.first, request.end)), request.after))


def _list_quarantine(index, request):
    return _page(*index.reader.list_quarantine(request.after))


def _new_volume(index, request):
    number = index.new_volume(request.type)
    return _volume(number, index.db.volumes[number])


def _list_volumes(index, request):
    return pb.Volumes(volumes=[_volume(*each)
                               for each in index.list_volumes()])


def _get_statistics(index, request):
    index.db.known.require_all()
    return pb.Statistics(**vars(index.statistics()))


def _get_table(index, request):
    publisher = index.db.publisher
    # It has hashes: they tell nothing where writers say their partitions.
    if not publisher or not publisher.complete or \
            index.part_power.view.keyed is None:
        return pb.Table(most_metadata=index.db.most_metadata)
    return pb.Table(process=os.getpid(), descriptor=publisher.descriptor,
                    buckets=publisher.buckets, key=publisher.key,
                    socket=publisher.socket,
                    most_metadata=index.db.most_metadata)


def _set_part_power(index, request):
    index.part_power.set(request.part_power)
    return pb.Empty()


_CALLS = {
    'Register': _register,
    'Remove': _remove,
    'Quarantine': _quarantine,
    'Rename': _rename,
    'ListHash': _list_hash,
    'ListSuffix': _list_suffix,
    'ListPartition': _list_partition,
    'ListPartitions': _list_partitions,
    'ListFiles': _list_files,
    'ListQuarantine': _list_quarantine,
    'NewVolume': _new_volume,
    'ListVolumes': _list_volumes,
    'GetStatistics': _get_statistics,
    'GetTable': _get_table,
    'SetPartPower': _set_part_power,
}
#: paths to what parses a request, and answers it
_METHODS = {
    b'/%s/%s' % (_SERVICE.full_name.encode(), method.name.encode()): (
        getattr(pb, method.input_type.name).FromString, _CALLS[method.name])
    for method in _SERVICE.methods}

logger = logging.getLogger(__name__)


class IndexService:
    """Answers that it is unavailable, and why, until it is given an index.

    :param fail: called with the exception after which the index has to be
        recovered
    """

    def __init__(self, fail):
        self.index = None
        #: what the server does while it has no index
        self.state = 'starting'
        self._fail = fail
        self._calls = 0
        self._last_call = -IDLE
        self._changed = threading.Condition()

    def is_busy(self):
        """Return whether there was a call not long ago."""
        return time.monotonic() - self._last_call < IDLE

    @property
    def paths(self):
        """The paths of all calls."""
        return frozenset(_METHODS)

    def begin(self):
        """Count a call as being under way."""
        with self._changed:
            self._calls += 1
            self._last_call = time.monotonic()

    def end(self):
        """Count a call as answered."""
        with self._changed:
            self._calls -= 1
            self._changed.notify_all()

    def answer(self, path, data):
        """Answer a call.

        :param path: of the method
        :param data: the bytes of the request
        :returns: the bytes of the reply
        :raises Refusal: if there is none
        """
        if path not in _METHODS:
            raise Refusal(Status.UNIMPLEMENTED, 'method not found')
        parse, call = _METHODS[path]
        index = self.index
        if index is None:
            raise Refusal(Status.UNAVAILABLE, self.state)
        try:
            return call(index, parse(data)).SerializeToString()
        except tuple(_CODES) as err:
            raise Refusal(_CODES[type(err)], str(err)) from err
        except FATAL as err:
            self._fail(err)
            raise Refusal(
                Status.RESOURCE_EXHAUSTED if is_full(err)
                else Status.ABORTED,
                'the index server ends: %s' % err) from err
        except Exception as err:
            logger.exception('%s', path)
            raise Refusal(Status.UNKNOWN, repr(err)) from err

    def close(self, seconds):
        """Begin no more calls, and wait until those under way are answered.

        :param seconds: for which they are waited for at most
        """
        with self._changed:
            self.index = None
            self.state = 'stopping'
            self._changed.wait_for(lambda: not self._calls, seconds)
