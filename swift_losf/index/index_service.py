# SPDX-License-Identifier: Apache-2.0
"""
The calls of index.proto, served by grpcio: messages in, messages out.

There is no generated service class: the descriptor names the calls, and a
table tells what each does with an Index.
"""

import os
import threading
import time

import grpc
import plyvel
from google.protobuf.message import DecodeError

from swift_losf.format.header import FormatError
from swift_losf.format.values import Location
from swift_losf.index import index_pb2 as pb
from swift_losf.index.call_arguments import InvalidArgument
from swift_losf.index.db import NotDurable, is_full
from swift_losf.index.index import NotFound, Refused
from swift_losf.index.known import NotKnownYet

_SERVICE = pb.DESCRIPTOR.services_by_name['Index']
_CODES = {InvalidArgument: grpc.StatusCode.INVALID_ARGUMENT,
          DecodeError: grpc.StatusCode.INVALID_ARGUMENT,
          NotFound: grpc.StatusCode.NOT_FOUND,
          Refused: grpc.StatusCode.FAILED_PRECONDITION,
          NotKnownYet: grpc.StatusCode.UNAVAILABLE,
          NotDurable: grpc.StatusCode.RESOURCE_EXHAUSTED}
#: after these, the index has to be recovered
FATAL = (plyvel.Error, FormatError, OSError)
#: seconds without a call after which nobody is served
IDLE = 1.0


def _file(partition, hash_, name, location):
    return pb.File(partition=partition, hash=hash_, name=name,
                   location=pb.Location(
                       volume=location.volume, offset=location.offset,
                       data_length=location.data_length,
                       metadata_length=location.metadata_length,
                       name_length=location.name_length))


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
                        at.metadata_length, at.name_length)
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
    return _listing(request.partition, request.hash, index.reader.list_hash(
        request.partition, request.hash))


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
    if not publisher or not publisher.complete:
        return pb.Table()
    return pb.Table(process=os.getpid(), descriptor=publisher.descriptor,
                    buckets=publisher.buckets, key=publisher.key,
                    socket=publisher.socket)


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
}


class IndexService:
    """
    Answers that it is unavailable, and why, until it is given an index.

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

    def handler(self):
        """Return the generic handler that a grpc.Server takes."""
        return grpc.method_handlers_generic_handler(_SERVICE.full_name, {
            method.name: grpc.unary_unary_rpc_method_handler(
                self._answerer(method)) for method in _SERVICE.methods})

    def _answerer(self, method):
        parse = getattr(pb, method.input_type.name).FromString
        call = _CALLS[method.name]

        def answer(data, context):
            index = self._begin(context)
            if index is None:
                context.abort(grpc.StatusCode.UNAVAILABLE, self.state)
            try:
                return call(index, parse(data)).SerializeToString()
            except tuple(_CODES) as err:
                context.abort(_CODES[type(err)], str(err))
            except FATAL as err:
                self._fail(err)
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED
                              if is_full(err)
                              else grpc.StatusCode.UNAVAILABLE,
                              'the index server ends: %s' % err)
        return answer

    def _begin(self, context):
        """Return the index for a call, and count the call until it is over."""
        with self._changed:
            if self.index is None or not context.add_callback(self._end):
                return None
            self._calls += 1
            self._last_call = time.monotonic()
            return self.index

    def _end(self):
        with self._changed:
            self._calls -= 1
            self._changed.notify_all()

    def close(self, seconds):
        """
        Begin no more calls, and wait until those under way are answered.

        :param seconds: for which they are waited for at most
        """
        with self._changed:
            self.index = None
            self.state = 'stopping'
            self._changed.wait_for(lambda: not self._calls, seconds)
