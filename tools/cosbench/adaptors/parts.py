# SPDX-License-Identifier: Apache-2.0
"""The parts of a large object on their way, some at the same time."""

import asyncio

from cosbench.adaptors.base import OperationError, Transfer, clock
from cosbench.tasks import beside


async def put_all(bodies, parallel, put, note):
    """Write all parts of an object.

    :param bodies: of the parts, in order
    :param parallel: how many at the same time
    :param put: a coroutine function of the part's number, from 1, and its
        body, that returns when the first byte of the answer came, and what
        the object is made of: anything
    :param note: see ``Storage.upload``
    :returns: what ``put`` returned of each part, in order
    :raises OperationError: of the first part that failed; the others have
        ended, or were cancelled
    """
    found = [None] * len(bodies)
    waiting = iter(enumerate(bodies, 1))

    async def some():
        for number, body in waiting:
            started = clock()
            try:
                first_byte, found[number - 1] = await put(number, body)
            except OperationError as err:
                note(started, None, err.kind)
                raise
            note(started, Transfer(first_byte, body.size), None)

    async with beside(*(some() for _ in range(
            min(parallel, len(bodies))))) as tasks:
        await asyncio.gather(*tasks)
    return found


class Answer:
    """The body of an answer that is looked into: a sink.

    :param most: bytes that are taken
    """

    def __init__(self, most=2 ** 22):
        self._most = most
        self._data = bytearray()

    def __call__(self, data):
        self._data += data
        if len(self._data) > self._most:
            raise OperationError('protocol', 'an answer of more than %d '
                                 'bytes' % self._most)

    @property
    def data(self):
        return bytes(self._data)
