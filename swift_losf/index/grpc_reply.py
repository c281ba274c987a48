# SPDX-License-Identifier: Apache-2.0
"""The reply to a unary gRPC call: a message, or why there is none."""

import enum
from urllib.parse import unquote

from swift_losf.index.http2 import PREFIX, Stream

#: so many bytes of one reply are taken
MAX_REPLY = 64 * 2 ** 20


class Status(enum.IntEnum):
    """The codes of gRPC that a server may answer with."""
    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class CallError(Exception):
    """A call that failed.

    :param reason: what happened
    :param status: the Status that the server answered with; None if it gave
        no valid answer
    """

    def __init__(self, reason, status=None):
        super().__init__(reason)
        self.status = status


class Reply(Stream):
    """What has arrived of the reply to one call."""

    def add_data(self, data):
        """Take in more of the body.

        :raises CallError: if the reply becomes too long
        """
        self.body += data
        if len(self.body) > MAX_REPLY:
            raise CallError('the reply is longer than %d bytes' % MAX_REPLY)

    def message(self):
        """Return the bytes of the message.

        :raises CallError: if the call failed or the reply is malformed
        """
        self._check_status()
        if len(self.body) < PREFIX.size:
            raise CallError('the reply has no message')
        compressed, length = PREFIX.unpack_from(self.body)
        if compressed:
            raise CallError('the reply is compressed')
        if length != len(self.body) - PREFIX.size:
            raise CallError('the reply has %d bytes, not the %d it names' % (
                len(self.body) - PREFIX.size, length))
        return bytes(self.body[PREFIX.size:])

    def _check_status(self):
        if self.headers.get(b':status') != b'200':
            raise CallError('HTTP status %r' % self.headers.get(b':status'))
        try:
            status = Status(int(self.headers[b'grpc-status']))
        except (KeyError, ValueError) as err:
            raise CallError('grpc-status %r' % self.headers.get(
                b'grpc-status')) from err
        if status is not Status.OK:
            text = unquote(self.headers.get(b'grpc-message', b'').decode(
                'latin-1'), errors='replace')
            raise CallError('%s: %s' % (status.name, text), status)
