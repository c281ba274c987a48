# SPDX-License-Identifier: Apache-2.0
"""One connection to a server: a request at a time.

The response is parsed where its bytes arrive, so that a request waits for
one future only. A server may answer before it has read the body: the rest
is not sent, and the connection not used again.
"""

import asyncio
import time
from typing import Any

from cosbench.adaptors.core.operation_errors import OperationError

_CHUNK_END = b'\r\n'
_LAST_CHUNK = b'0\r\n\r\n'


class Connection(asyncio.Protocol):
    """A connection, as the event loop sees it.

    :param on_close: called with this one when it is closed
    """

    __slots__ = ('_transport', '_response', '_waiter', '_on_close',
                 '_writable', '_loop', 'closed', 'progress', 'unsent')

    def __init__(self, loop, on_close):
        self._loop = loop
        self._on_close = on_close
        #: From ``connection_made`` on.
        self._transport: Any = None
        #: Of the request that is under way.
        self._response: Any = None
        self._waiter: Any = None
        #: A future while the transport wants no more.
        self._writable = None
        self.closed = False
        #: When a byte came or went last, by ``clock``.
        self.progress = clock()
        #: Bytes that waited to be sent when that was looked at last.
        self.unsent = 0

    @property
    def busy(self):
        return self._waiter is not None

    async def exchange(self, head, body, response):
        """Send a request, and feed the response until it is complete.

        :param head: bytes
        :param body: None, or blocks as ``Storage.put`` has them
        :param response: a ``Response``; complete on return
        :raises OperationError: if it could not be had
        """
        if self.closed:
            raise OperationError('closed', 'before the request')
        waiter = self._waiter = self._loop.create_future()
        self._response = response
        self.progress = clock()
        try:
            if body is None:
                self._transport.write(head)
            else:
                await self._send(head, body, waiter)
            await waiter
        except BaseException:
            self.abort()
            raise
        finally:
            self._waiter = self._response = None
        if not response.reusable:
            self.close()

    async def _send(self, head, body, waiter):
        # Not writelines: asyncio's never pauses in Python 3.12.1 and 3.13.0,
        # and takes a whole body into memory.
        write, sent, chunked = self._transport.write, 0, body.chunked
        write(head)
        for block in body:
            if chunked:
                write(b'%x\r\n' % len(block))
            write(block)
            if chunked:
                write(_CHUNK_END)
            sent += len(block)
            self.progress = clock()
            if self._writable is not None:
                await self._writable
            if waiter.done():
                break
        if waiter.done():
            if sent < body.size or chunked or self.waiting_bytes():
                # The rest of the body is still owed.
                self._response.reusable = False
            return
        if sent != body.size:
            raise ValueError('the body has %d bytes instead of %d'
                             % (sent, body.size))
        if chunked:
            write(_LAST_CHUNK)

    def fail(self, error):
        """End what is going on, with an error for the one who waits."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
        self.abort()

    def abort(self):
        """Close without a good-bye."""
        self._gone()
        if self._transport is not None:
            self._transport.abort()

    def close(self):
        """Close, after what was written is sent."""
        self._gone()
        self._transport.close()

    def waiting_bytes(self):
        """Return bytes that the server, or the kernel, has not taken."""
        return self._transport.get_write_buffer_size()

    def _gone(self):
        if not self.closed:
            self.closed = True
            self._on_close(self)
        self._wake()

    def _wake(self):
        if self._writable is not None:
            if not self._writable.done():
                self._writable.set_result(None)
            self._writable = None

    # What the event loop calls.

    def connection_made(self, transport):
        self._transport = transport

    def data_received(self, data):
        response, waiter = self._response, self._waiter
        if response is None or waiter.done():
            # Nobody asked.
            self.abort()
            return
        now = self.progress = clock()
        try:
            response.feed(data)
        except Exception as err:
            # Also the sink's: the waiter gets it, and can handle it.
            self.fail(err)
            return
        if not response.first_byte and response.status:
            response.first_byte = now
        if response.complete:
            waiter.set_result(None)
            self._wake()

    def eof_received(self):
        response, waiter = self._response, self._waiter
        if response is not None and not waiter.done():
            try:
                response.eof()
                waiter.set_result(None)
            except OperationError as err:
                self.fail(err)
        self._gone()

    def connection_lost(self, exc):
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(OperationError(
                'closed', str(exc or 'the server closed the connection')))
        self._gone()

    def pause_writing(self):
        if self._writable is None and not self.closed:
            self._writable = self._loop.create_future()

    def resume_writing(self):
        self._wake()


#: Seconds. Not the event loop's clock: uvloop's stands still during an
#: iteration and counts milliseconds.
clock = time.monotonic
