# SPDX-License-Identifier: Apache-2.0
"""How far the log of a device was, as another device remembers it.

A log that is not that far any more is one that went back in time: the image
of a disk was restored. PROTOCOL.md, "A log that went back".
"""

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated

from swift_lightsync.common.records import Between, Length, Record

#: Segments of a log that are told and remembered, the newest ones.
NEWEST = 8
SIZE = 128
_BODY = struct.Struct('<16sQ' + NEWEST * 'QH')
_SUM = struct.Struct('<L')

Number = Annotated[int, Between(0, (1 << 63) - 1)]
Index = Annotated[int, Between(0, 0x3fff)]


@dataclass(frozen=True)
class LogPosition(Record):
    """How far a log is.

    :param identity: of the log, 32 hexadecimal digits
    :param segments: (number, index of the last record that is durable for
        sure, index of the last one that is there) of the newest ones
    """
    identity: Annotated[str, Length(32)]
    segments: Annotated[tuple[tuple[Number, Index, Index], ...],
                        Length(NEWEST)]

    @property
    def key(self) -> bytes:
        """The identity in bytes; of what is none, empty."""
        try:
            return bytes.fromhex(self.identity)
        except ValueError:
            return b''


@dataclass(frozen=True)
class Remembered:
    """What a device remembers of the log of another one.

    :param identity: of the log, 16 bytes
    :param older_since: when it was seen to be older than remembered, Unix
        time in seconds; 0: it is not
    :param segments: number -> index of a record that was durable
    """
    identity: bytes = bytes(16)
    older_since: int = 0
    segments: dict[int, int] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Return SIZE bytes."""
        newest = sorted(self.segments.items())[-NEWEST:]
        newest += [(0, 0)] * (NEWEST - len(newest))
        body = _BODY.pack(self.identity, self.older_since, *(
            number for each in newest for number in each))
        return (_SUM.pack(zlib.crc32(body)) + body).ljust(SIZE, b'\0')

    @classmethod
    def decode(cls, data: bytes) -> 'Remembered':
        """Return what was encoded; of anything else, nothing."""
        body = data[_SUM.size:_SUM.size + _BODY.size]
        if len(body) != _BODY.size or \
                _SUM.unpack(data[:_SUM.size])[0] != zlib.crc32(body):
            return cls()
        identity, older_since, *numbers = _BODY.unpack(body)
        return cls(identity, older_since, {
            number: index for number, index
            in zip(numbers[::2], numbers[1::2]) if number})

    def is_newer_than(self, position: LogPosition) -> bool:
        """Return whether a log is not as far as it was."""
        if self.identity != position.key or not self.segments:
            return False
        there = {number: last for number, _, last in position.segments}
        return max(there, default=0) < max(self.segments) or any(
            there[number] < index for number, index in self.segments.items()
            if number in there)

    def after(self, position: LogPosition, now: int,
              is_filled: Callable[[int], bool]) -> 'Remembered':
        """Return what is remembered when a log has told how far it is.

        :param now: Unix time in seconds
        :param is_filled: whether what the device lacked was brought to it
            since a Unix time
        """
        if self.is_newer_than(position):
            if not self.older_since:
                return replace(self, older_since=now)
            if not is_filled(self.older_since):
                return self
            known: dict[int, int] = {}
        elif self.older_since and not is_filled(self.older_since):
            return self
        else:
            known = self.segments if self.identity == position.key else {}
        found = dict(known)
        for number, durable, _ in position.segments:
            found[number] = max(durable, found.get(number, 0))
        return Remembered(position.key, 0,
                          dict(sorted(found.items())[-NEWEST:]))
