# SPDX-License-Identifier: Apache-2.0
"""
An index server that keeps its files in a dict, and some that misbehave.

    python -m tests.unit.losf.index_stub SOCKET

A file name that names a gRPC status is answered with that status; one that is
among MALFORMED, with these bytes.
"""

import sys
from concurrent import futures

import grpc

from swift_losf.index import index_pb2

#: names of files -> what a reply is then
MALFORMED = {
    'no-protobuf': b'\xff\xff\xff',
    'other-hash': index_pb2.Listing(files=[index_pb2.File(
        partition=1, hash=b'o' * 16, name='x', location=index_pb2.Location(
            volume=1))]).SerializeToString(),
    'no-location': index_pb2.Listing(files=[index_pb2.File(
        partition=1, hash=b'h' * 16, name='x')]).SerializeToString(),
    'no-name': index_pb2.Listing(files=[index_pb2.File(
        partition=1, hash=b'h' * 16, location=index_pb2.Location(
            volume=1))]).SerializeToString(),
}
LARGE = 'large'
PAGE = 2


class Index:
    """The calls of index.proto; nothing here is safe, synced or checked."""

    def __init__(self):
        self.files = {}
        self.quarantined = []
        self.volumes = []

    def _listing(self, partition, object_hash):
        return index_pb2.Listing(files=sorted(
            (file for (part, hash_, _), file in self.files.items()
             if (part, hash_) == (partition, object_hash)),
            key=lambda file: file.name))

    def register(self, request, context):
        file = request.file
        if file.name in grpc.StatusCode.__members__:
            context.abort(grpc.StatusCode[file.name], 'no \u2026 luck')
        if file.name in MALFORMED:
            return MALFORMED[file.name]
        if file.name == LARGE:
            return b'x' * file.location.data_length
        self.files[file.partition, file.hash, file.name] = file
        return self._listing(file.partition, file.hash)

    def remove(self, request, context):
        names = request.names or [
            name for partition, object_hash, name in self.files
            if (partition, object_hash) == (request.partition, request.hash)]
        removed = [name for name in names if self.files.pop(
            (request.partition, request.hash, name), None)]
        return index_pb2.RemoveResponse(removed=removed, left=len(
            self._listing(request.partition, request.hash).files))

    def quarantine(self, request, context):
        keys = [key for key in self.files if key[0] == request.partition
                and (key[1] == request.hash if request.hash
                     else self._suffix(key[1]) == request.suffix)]
        self.quarantined += [self.files.pop(key) for key in keys]
        return index_pb2.Count(count=len(keys))

    def rename(self, request, context):
        file = self.files.pop((request.partition, request.hash, request.old))
        file.name = request.new
        self.files[file.partition, file.hash, file.name] = file
        return self._listing(file.partition, file.hash)

    def list_hash(self, request, context):
        return self._listing(request.partition, request.hash)

    @staticmethod
    def _suffix(object_hash):
        return int.from_bytes(object_hash[-2:], 'big') & 0xfff

    def list_suffix(self, request, context):
        after = request.after and (self._suffix(request.after),
                                   request.after)
        last = request.last_suffix or request.suffix
        hashes = [each for _, each in sorted(
            place for place in {(self._suffix(key[1]), key[1])
                                for key in self.files
                                if key[0] == request.partition}
            if request.suffix <= place[0] <= last
            and (not after or place > after))]
        limit = request.limit or PAGE
        return index_pb2.SuffixListing(more=len(hashes) > limit, hashes=[
            index_pb2.HashFiles(hash=each, names=[
                file.name for file in self._listing(
                    request.partition, each).files])
            for each in hashes[:limit]])

    def list_partition(self, request, context):
        return index_pb2.Suffixes(suffixes=sorted(
            {self._suffix(key[1]) for key in self.files
             if key[0] == request.partition}))

    def list_partitions(self, request, context):
        return index_pb2.Partitions(partitions=sorted(
            {key[0] for key in self.files}))

    def list_files(self, request, context):
        at = int.from_bytes(request.after, 'big')
        first, end = ((each.volume, each.offset)
                      for each in (request.first, request.end))
        hashes = sorted({key[:2] for key in self.files})
        files = [file for key in hashes[at:at + PAGE]
                 for file in self._listing(*key).files]
        wanted = [file for file in files if first <= (
            file.location.volume, file.location.offset) < end]
        more = len(hashes) > at + PAGE
        return index_pb2.FileListing(
            files=wanted, next=(at + PAGE).to_bytes(4, 'big') if more else b'')

    def list_quarantine(self, request, context):
        at = int.from_bytes(request.after, 'big')
        more = len(self.quarantined) > at + PAGE
        return index_pb2.FileListing(
            files=self.quarantined[at:at + PAGE],
            next=(at + PAGE).to_bytes(4, 'big') if more else b'')

    def new_volume(self, request, context):
        volume = index_pb2.Volume(number=len(self.volumes) + 1,
                                  type=request.type, watermark=4096)
        self.volumes.append(volume)
        return volume

    def list_volumes(self, request, context):
        return index_pb2.Volumes(volumes=self.volumes)

    def get_statistics(self, request, context):
        return index_pb2.Statistics(files=len(self.files), recovered=7)


def _serialize(reply):
    return reply if isinstance(reply, bytes) else reply.SerializeToString()


def serve(path):
    """
    :param path: of the socket to serve at
    :returns: a grpc.Server, started
    """
    index = Index()
    service = index_pb2.DESCRIPTOR.services_by_name['Index']
    handlers = {}
    for method in service.methods:
        name = ''.join('_' + each.lower() if each.isupper() else each
                       for each in method.name).strip('_')
        handlers[method.name] = grpc.unary_unary_rpc_method_handler(
            getattr(index, name), response_serializer=_serialize,
            request_deserializer=getattr(
                index_pb2, method.input_type.name).FromString)
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(
        service.full_name, handlers)])
    server.add_insecure_port('unix:' + path)
    server.start()
    return server


if __name__ == '__main__':
    serve(sys.argv[1]).wait_for_termination()
