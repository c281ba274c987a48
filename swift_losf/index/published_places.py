# SPDX-License-Identifier: Apache-2.0
"""Finds files in the table that an index server publishes, without a call.

FORMAT.md, "Reads without a call". What the table does not tell, or cannot be
relied upon to tell, is None: then the server is to be asked.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from swift_losf.format.header import FormatError
from swift_losf.format.keys import turn
from swift_losf.format.name_code import decode_name
from swift_losf.format.published import BUCKET, Bucket, bucket_of
from swift_losf.format.values import Location
from swift_losf.index.publisher import KEY, identity

#: seconds between two questions for a table that is not there
RETRY = 1.0
#: how often a bucket is read that is just being written
_READS = 3


@dataclass(frozen=True)
class _Table:
    """A table, as a reader has it open.

    :param fd: of the table; it stays open for as long as the process lives,
        if another thread may be reading from it
    :param buckets: their number
    :param socket: what identifies the socket of its server
    """
    fd: int
    buckets: int
    socket: tuple[int, ...]

    def __del__(self) -> None:
        os.close(self.fd)

    def probe(self, prefix: bytes) -> Any:
        """Return the files of a hash, or None if the table does not tell.

        :raises EOFError: if the table was withdrawn
        """
        number = bucket_of(prefix, self.buckets)
        for _ in range(_READS):
            data = os.pread(self.fd, BUCKET, number * BUCKET)
            if len(data) < BUCKET:
                raise EOFError()
            try:
                return Bucket(data, number).files(prefix)
            except FormatError:
                continue
        return None


class PublishedPlaces:
    """Finds the files of a hash.

    Safe in greenlets, in native threads and after a fork.

    :param socket_path: of the index server
    :param ask: a function that calls GetTable and returns the reply; it may
        raise IndexUnavailable
    :param clock: a function that returns seconds
    """

    def __init__(self, socket_path: str, ask: Callable[[], Any],
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._socket_path = socket_path
        self._ask = ask
        self._clock = clock
        self._table: _Table | None = None
        self._may_ask_at = 0.0
        self._most_metadata = 0

    def find(self, hash_: bytes) -> list[tuple[str, Location]] | None:
        """Return the files of a hash, by name, or None if they are not known.

        :param hash_: 16 bytes
        :raises IndexUnavailable: if the server does not answer
        """
        table = self._current()
        if table is None:
            return None
        try:
            found = table.probe(turn(hash_))
            return None if found is None else sorted(
                (decode_name(code), Location.unpack(value, True))
                for code, value in found.items())
        except EOFError:
            self._table = None
        except FormatError:
            # The server may know better.
            pass
        return None

    def wanted(self, metadata: bytes) -> bytes:
        """Return metadata if the index is to have them; else b''."""
        return metadata if len(metadata) <= self._most_metadata else b''

    def _current(self) -> _Table | None:
        """Return the table of the server that has the socket now."""
        try:
            socket = identity(self._socket_path)
        except OSError:
            return None
        table = self._table
        if table is not None and table.socket == socket:
            return table
        now = self._clock()
        if now < self._may_ask_at:
            return None
        self._may_ask_at = now + RETRY
        reply = self._ask()
        self._most_metadata = reply.most_metadata
        self._table = self._open(reply, socket)
        return self._table

    @staticmethod
    def _open(reply: Any, socket: tuple[int, ...]) -> _Table | None:
        if not reply.buckets or tuple(reply.socket) != socket:
            return None
        try:
            fd = os.open('/proc/%d/fd/%d' % (reply.process, reply.descriptor),
                         os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        table = _Table(fd, reply.buckets, socket)
        try:
            key = os.pread(fd, KEY, reply.buckets * BUCKET)
        except (OSError, OverflowError):
            return None
        return table if key and key == reply.key else None
