# SPDX-License-Identifier: Apache-2.0
"""The bytes of a push of many small objects, and of its answer.

PROTOCOL.md, "A push of many".
"""

import json
import struct
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Dict, Iterable, Iterator, List, Sequence, Tuple

#: of one object's bodies
MAX_BODY = 64 << 10
#: of one object's headers
MAX_HEAD = 256 << 10
MAX_OBJECTS = 1000
#: of a message
MAX_BYTES = 8 << 20
METHODS = ('PUT', 'POST', 'DELETE', 'ROW')

_LENGTHS = struct.Struct('<LL')


class PushError(ValueError):
    """Bytes that are no push, or no answer to one."""


@dataclass(frozen=True)
class SentChange:
    """A request that makes one file of an object.

    :param method: one of METHODS
    :param headers: of the request
    :param length: of its body, in bytes
    """
    method: str
    headers: Dict[str, str]
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
    changes: Tuple[SentChange, ...]
    body: bytes = b''

    def encode(self) -> bytes:
        """Return the bytes of the object in a message."""
        return self._encoded

    @cached_property
    def _encoded(self) -> bytes:
        head = json.dumps([self.partition, self.path, [
            [change.method, change.headers, change.length]
            for change in self.changes]]).encode('ascii')
        return _LENGTHS.pack(len(head), len(self.body)) + head + self.body

    @classmethod
    def decode(cls, head: bytes, body: bytes) -> 'SentObject':
        """Read an object.

        :raises PushError: if it is none
        """
        try:
            partition, path, changes = json.loads(head)
            found = cls(_int(partition), _text(path), tuple(
                SentChange(_method(method), _headers(headers), _int(length))
                for method, headers, length in changes), body)
        except (ValueError, TypeError, RecursionError) as err:
            raise PushError('object: %s' % str(err)[:200])
        if not found.changes or len(body) != sum(
                change.length for change in found.changes):
            raise PushError('object: %d changes with %d bytes of bodies' % (
                len(found.changes), len(body)))
        return found


def batch_of(objects: Sequence[SentObject]) -> int:
    """Return how many objects go into one message, 1 or more.

    :param objects: those that are to be sent, one or more
    """
    size = 0
    for count, each in enumerate(objects):
        size += len(each.encode())
        if count == MAX_OBJECTS or size > MAX_BYTES:
            return max(1, count)
    return len(objects)


def decode_push(data: bytes) -> List[SentObject]:
    """Read a message.

    :param data: at most MAX_BYTES
    :raises PushError: if it is none
    """
    return list(_objects(data))


def _objects(data: bytes) -> Iterator[SentObject]:
    place = count = 0
    while place < len(data):
        count += 1
        if count > MAX_OBJECTS:
            raise PushError('more than %d objects' % MAX_OBJECTS)
        if len(data) - place < _LENGTHS.size:
            raise PushError('it ends within an object')
        head, body = _LENGTHS.unpack_from(data, place)
        for name, length, most in (('head', head, MAX_HEAD),
                                   ('body', body, MAX_BODY)):
            if length > most:
                raise PushError('%s: %d bytes, at most %d are allowed' % (
                    name, length, most))
        place += _LENGTHS.size
        end = place + head + body
        if end > len(data):
            raise PushError('it ends within an object')
        yield SentObject.decode(data[place:place + head],
                                data[place + head:end])
        place = end


@dataclass(frozen=True)
class Answer:
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
    return json.dumps([[[each.status, each.timestamp, each.reason]
                        for each in found] for found in answers]).encode()


def decode_answers(data: bytes, count: int) -> List[List[Answer]]:
    """Read the answer to a push.

    :param count: of objects that were pushed
    :raises PushError: if it is none
    """
    try:
        found = [[Answer(_int(status), _text(timestamp), _text(reason))
                  for status, timestamp, reason in answers]
                 for answers in json.loads(data)]
    except (ValueError, TypeError, RecursionError) as err:
        raise PushError('answer: %s' % str(err)[:200])
    if len(found) != count or not all(found):
        raise PushError('answer: %d objects, not %d' % (len(found), count))
    return found


def _int(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 32:
        raise ValueError('%.80r is no whole number below 2^32' % (value,))
    return int(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError('%.80r is no text' % (value,))
    return value


def _method(value: Any) -> str:
    if value not in METHODS:
        raise ValueError('method %.80r, must be one of %s' % (
            value, ', '.join(METHODS)))
    return str(value)


def _headers(value: Any) -> Dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError('%.80r is no object' % (value,))
    for text in value.values():
        _text(text)
    return value
