# SPDX-License-Identifier: Apache-2.0
"""What processes of LOSF read of one another: table and calls of the index."""

import struct

from google_crc32c import value as crc32c

from swift_losf.format import keys
from swift_losf.format.header import FormatError
from swift_losf.format.name_code import decode_name, encode_name
from swift_losf.format.published import BUCKET, Bucket
from swift_losf.format.values import Location
from swift_losf.index import grpc_unary, http2
from swift_losf.index.grpc_server import Peer, Refusal
from swift_losf.index.grpc_unary import CallError, Status
from tools.fuzzing.target import Target

PLACE = keys.turn(bytes(range(16)))
OTHER = keys.turn(bytes(16))
NUMBER = 3
PATH = b'/losf.Index/ListHash'
#: a reply: its headers, a message, its status
HEADERS, OK, REFUSED = (b'\x20\x88', b'\x00\x0bgrpc-status\x010',
                        b'\x20\x88\x00\x0bgrpc-status\x0214')


def buckets():
    """Return buckets of none, one and many hashes."""
    place = Location(7, 8192, 5, 17, 21).pack()
    names = [encode_name('17000000%02d.00001.data' % each)
             for each in range(30)]
    found = []
    for count in (0, 1, 3, 30):
        bucket = Bucket(bytes(BUCKET), NUMBER)
        for prefix in (OTHER, PLACE)[:count + 1]:
            bucket.put(prefix, dict.fromkeys(names[:count], place))
        found.append(bucket.pack())
    return found


def _seal(data):
    """Let the CRC of a bucket be right, whatever is in it."""
    data = data[:BUCKET].ljust(8, b'\0')
    body = struct.pack('<H', len(data)) + data[6:]
    return struct.pack('<I', crc32c(
        struct.pack('<Q', NUMBER) + body)) + body


def read_bucket(data):
    """Look for files as readers do, and as the server before a change."""
    data = data.ljust(BUCKET, b'\0')
    bucket = Bucket(data, NUMBER)
    bucket.put(OTHER, {b'name': b'place'})
    return {decode_name(code): Location.unpack(place, True) for code, place in
            (bucket.files(PLACE) or {}).items()}


class Wire:
    """A socket on which some bytes arrive, and nothing else."""

    def __init__(self, data):
        self._data = data

    def recv(self, size):
        """Return the next bytes, in pieces of odd sizes."""
        piece, self._data = self._data[:min(size, 777)], self._data[777:]
        return piece

    def send(self, data):
        """Take all."""
        return len(data)

    def settimeout(self, seconds):
        """Do nothing."""


#: what ends a connection to a client
GONE = http2.ProtocolError, ConnectionResetError


class Echo:
    """A service that gives each message back."""

    def __init__(self):
        self.messages = []

    def begin(self):
        """Do nothing."""

    end = begin

    def answer(self, path, message):
        """Return the message, but of one call."""
        if path != PATH:
            raise Refusal(Status.UNIMPLEMENTED, 'method not found')
        self.messages.append(message)
        return message


def read_reply(data):
    """Call a server that answers with these bytes."""
    try:
        return grpc_unary.UnaryConnection(Wire(data)).call(
            PATH, b'message', float('inf'))
    except CallError as err:
        if err.status is None:
            raise
        return err.status


def read_requests(data):
    """Serve a client that sends these bytes, and goes."""
    echo = Echo()
    try:
        Peer(Wire(data), echo, {grpc_unary.request_headers(PATH): (
            (b':path', PATH),)}).serve()
    except GONE:
        if not echo.messages:
            raise
    return echo.messages


def _message(number, flags, data):
    return http2.frame(http2.DATA, flags, number,
                       http2.PREFIX.pack(0, len(data)) + data)


def replies():
    """Return answers of servers, most of them valid."""
    head = http2.frame(http2.HEADERS, 4, 1, HEADERS)
    return [http2.settings({}) + b''.join(frames) for frames in (
        (head, _message(1, 0, b'x' * 50),
         http2.frame(http2.HEADERS, 5, 1, OK)),
        (http2.frame(http2.HEADERS, 5, 1, REFUSED),),
        (http2.window_update(5), http2.frame(http2.PING, 0, 0, bytes(8)),
         head, _message(1, 0, b''), http2.frame(http2.HEADERS, 5, 1, OK),
         http2.reset(1, 0)))]


def requests():
    """Return what clients send, most of it valid."""
    head = grpc_unary.request_headers(PATH)
    return [http2.PREFACE + http2.settings({4: 100}) + b''.join(
        http2.frame(http2.HEADERS, 4, number, head)
        + _message(number, 1, b'x' * number) for number in numbers)
        for numbers in ((1,), (1, 3, 5), (1, 199))]


TARGETS = (
    Target('losf-bucket', buckets(), read_bucket, (FormatError,), BUCKET,
           finish=_seal),
    Target('losf-reply', replies(), read_reply,
           (CallError, ConnectionResetError), 1 << 16),
    Target('losf-requests', requests(), read_requests, GONE, 1 << 16),
)
