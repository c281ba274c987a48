# SPDX-License-Identifier: Apache-2.0
"""The bytes of a push of many small objects, and of its answer.

PROTOCOL.md, "A push of many".
"""

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, get_args

from swift_lightsync.common.cached import cached_property
from swift_lightsync.common.records import (
    Between,
    Length,
    RecordError,
    load_json,
    read_value,
)

#: of one object's bodies
MAX_BODY = 64 << 10
#: of one object's headers
MAX_HEAD = 256 << 10
MAX_OBJECTS = 1000
#: of a message
MAX_BYTES = 8 << 20
_Method = Literal['PUT', 'POST', 'DELETE', 'ROW']
METHODS = get_args(_Method)

_LENGTHS = struct.Struct('<LL')
_Number = Annotated[int, Between(0, (1 << 32) - 1)]
#: what stands in JSON of an object, and of the answers to objects
_Head = tuple[_Number, str, tuple[tuple[_Method, dict[str, str], _Number],
                                  ...]]
_Answers = tuple[Annotated[tuple[tuple[_Number, str, str], ...],
                           Length(1 << 32, 1)], ...]


class SentChange(NamedTuple):
    """A request that makes one file of an object.

    :param method: one of METHODS
    :param headers: of the request
    :param length: of its body, in bytes
    """
    method: str
    headers: dict[str, str]
    length: int = 0


@dataclass(frozen=True)
class SentObject:
    """An object of a push.

    :param partition: that it is in
    :param path: /account/container/object
    :param changes: in the order in which they are to be made
    :param body: of all of them, one behind the other
    """
    partition: int
    path: str
    changes: tuple[SentChange, ...]
    body: bytes = b''

    @cached_property
    def encoded(self) -> bytes:
        """The bytes of the object in a message."""
        head = json.dumps([self.partition, self.path, self.changes]
                          ).encode('ascii')
        return _LENGTHS.pack(len(head), len(self.body)) + head + self.body

    @classmethod
    def decode(cls, head: bytes, body: bytes) -> 'SentObject':
        """Read an object.

        :raises RecordError: if it is none
        """
        partition, path, changes = read_value(
            _Head, load_json(head, MAX_HEAD, 'object'), 'object')
        found = cls(partition, path, tuple(
            SentChange(*change) for change in changes), body)
        if not found.changes or len(body) != sum(
                change.length for change in found.changes):
            raise RecordError('object: %d changes with %d bytes of bodies' % (
                len(found.changes), len(body)))
        return found


def batch_of(objects: Sequence[SentObject]) -> int:
    """Return how many objects go into one message, 1 or more.

    :param objects: those that are to be sent, one or more
    """
    size = 0
    for count, each in enumerate(objects):
        size += len(each.encoded)
        if count == MAX_OBJECTS or size > MAX_BYTES:
            return max(1, count)
    return len(objects)


def decode_push(data: bytes) -> list[SentObject]:
    """Read a message.

    :param data: at most MAX_BYTES
    :raises RecordError: if it is none
    """
    return list(_objects(data))


def _objects(data: bytes) -> Iterator[SentObject]:
    place = count = 0
    while place < len(data):
        count += 1
        if count > MAX_OBJECTS:
            raise RecordError('more than %d objects' % MAX_OBJECTS)
        if len(data) - place < _LENGTHS.size:
            raise RecordError('it ends within an object')
        head, body = _LENGTHS.unpack_from(data, place)
        for name, length, most in (('head', head, MAX_HEAD),
                                   ('body', body, MAX_BODY)):
            if length > most:
                raise RecordError('%s: %d bytes, at most %d are allowed' % (
                    name, length, most))
        place += _LENGTHS.size
        end = place + head + body
        if end > len(data):
            raise RecordError('it ends within an object')
        yield SentObject.decode(data[place:place + head],
                                data[place + head:end])
        place = end


class Answer(NamedTuple):
    """The answer to one change.

    :param status: of HTTP
    :param timestamp: X-Backend-Timestamp, '' without
    :param reason: a text, if it was refused
    """
    status: int
    timestamp: str = ''
    reason: str = ''


def encode_answers(answers: Iterable[Iterable[Answer]]) -> bytes:
    """Return the bytes of the answer to a push.

    :param answers: of each object the Answers to the changes that were tried
    """
    return json.dumps([list(found) for found in answers]).encode()


def decode_answers(data: bytes, count: int) -> list[list[Answer]]:
    """Read the answer to a push.

    :param count: of objects that were pushed
    :raises RecordError: if it is none
    """
    found = read_value(_Answers, load_json(data, MAX_BYTES, 'answer'),
                       'answer')
    if len(found) != count:
        raise RecordError('answer: %d objects, not %d' % (len(found), count))
    return [[Answer(*each) for each in answers] for answers in found]
