# SPDX-License-Identifier: Apache-2.0
"""A response of HTTP/1.1 out of the bytes of a connection; no I/O.

Framing is RFC 9112 §6.3. Refused is whatever two readers could understand
in two ways: bare line feeds, folded lines, two lengths, a length beside
chunks, transfer codings other than chunked.
"""

from collections.abc import Callable

from cosbench.adaptors.core.http_grammar import (
    BREAKS,
    CHUNK,
    FRAMING,
    LENGTH_NAME,
    LENGTH_VALUE,
    TRAILERS,
    Data,
    status_of,
    wrong,
)
from cosbench.adaptors.core.operation_errors import OperationError

#: Bytes of a head, and of all trailers together.
MAX_HEAD = 2 ** 16
#: Bytes of a line with the size of a chunk.
MAX_LINE = 2 ** 10
#: Responses 1xx before the final one.
MAX_INTERIM = 8
#: Bytes of the body of a failure that are kept.
MAX_EXCERPT = 2 ** 11
#: How a body ends.
_NONE, _LENGTH, _CHUNKED, _UNTIL_EOF = range(4)


class Response:
    """One response: ``feed`` what comes until ``complete``.

    ``status`` is 0 until the final head is there. ``size`` counts the bytes
    of the body without its framing.

    :param bodiless: whether the request was a HEAD
    :param sink: called with each block of the body of a 2xx, or None
    """

    __slots__ = ('status', 'size', 'complete', 'reusable',
                 'first_byte', 'excerpt', 'started', '_bodiless', '_sink',
                 '_head', '_buffer', '_left', '_mode', '_interim',
                 '_trailers', '_unread')

    def __init__(self, bodiless: bool = False,
                 sink: Callable[[Data], object] | None = None) -> None:
        self.status = 0
        self.size = 0
        self.complete = False
        #: Whether another request may follow on the connection.
        self.reusable = False
        #: When the head was there; the connection sets it.
        self.first_byte = 0.0
        #: The begin of a body that no sink got.
        self.excerpt = b''
        #: Whether a byte has come.
        self.started = False
        self._bodiless, self._sink = bodiless, sink
        self._head = b''
        self._buffer = b''
        self._mode = _NONE
        self._left = self._interim = 0
        #: The second: whether the body, of a known length, is counted only.
        self._trailers = self._unread = False

    def feed(self, data: bytes) -> None:
        """Take what the server has sent.

        :param data: bytes, not empty
        :raises OperationError: if they cannot be a response
        """
        self.started = True
        place = 0
        if not self.status:
            if self._buffer:
                data, self._buffer = self._buffer + data, b''
            place = self._heads(data)
            if not self.status:
                return
        size = len(data) - place
        if self.complete:
            # Nobody asked for more: whatever it is, it is no response.
            self.reusable = self.reusable and not size
        elif self._unread and size <= self._left:
            # Most responses come so; what nobody wants is not copied.
            self.size += size
            self._left -= size
            self.complete = not self._left
        elif size:
            self._body(data[place:] if place else data)

    def eof(self) -> None:
        """Take notice that the server closes.

        :raises OperationError: if the response was not complete
        """
        self.reusable = False
        if self.complete:
            return
        if not self.status or self._mode != _UNTIL_EOF:
            raise OperationError('closed', 'the server closed the '
                                 'connection %s' % self._place())
        self.complete = True

    def said(self, most: int = 200) -> str:
        """Return what the body of a failure says, as one line of text."""
        return ' '.join(self.excerpt.decode('utf8', 'replace').split())[:most]

    def _place(self) -> str:
        if self.status:
            return 'after %d bytes of the body' % self.size
        return 'in the head' if self.started else 'before the response'

    def _heads(self, data: bytes) -> int:
        """Take heads up to the final one; return the place behind it."""
        place = 0
        while not self.status:
            end = data.find(b'\r\n\r\n', place, place + MAX_HEAD)
            if end < 0:
                if len(data) - place >= MAX_HEAD:
                    raise wrong('a head of more than %d bytes' % MAX_HEAD)
                self._buffer = data[place:]
                break
            self._parse(data[place:end])
            place = end + 4
        return place

    @property
    def headers(self) -> dict[bytes, bytes]:
        """All headers in a new dict, by names in lower case."""
        found: dict[bytes, bytes] = {}
        # Few responses are asked for them: they are not parsed before.
        for line in self._head.split(b'\r\n')[1:]:
            name, _, value = line.partition(b':')
            name, value = name.lower(), value.strip(b' \t')
            found[name] = found[name] + b', ' + value \
                if name in found else value
        return found

    def _parse(self, head: bytes) -> None:
        end = head.find(b'\r\n')
        status, persistent = status_of(head if end < 0 else head[:end])
        found = FRAMING.findall(head)
        # Each break is an end of a line, and behind each there is a header.
        if len(head.translate(None, BREAKS)) + 2 * head.count(b'\r\n') != \
                len(head) or (b'', b'') in found:
            raise wrong('a malformed header', head[end + 2:])
        if status < 200:
            self._interim += 1
            if status == 101 or self._interim > MAX_INTERIM:
                raise wrong('an unexpected response', head)
            return
        self._head = head
        if len(found) == 1 and len(found[0][0]) == LENGTH_NAME and \
                persistent and not self._bodiless and 204 != status < 300:
            # The same as below, for nearly all responses.
            length = found[0][1].strip(b' \t')
            if length.isdigit() and len(length) <= 18:
                self._mode, self._left = _LENGTH, int(length)
                self.complete = not self._left
                self.reusable, self._unread = True, self._sink is None
                self.status = status
                return
        self._frame(found, status, persistent)
        self.status = status

    def _frame(self, found: list[tuple[bytes, bytes]], status: int,
               persistent: bool) -> None:
        """Find how the body ends, and whether the connection can go on."""
        framing = {b'connection': b''}
        for name, value in found:
            name, value = name.lower(), value.strip(b' \t').lower()
            if name == b'connection':
                framing[name] += b',' + value
            elif framing.setdefault(name, value) != value:
                raise wrong('two of the header', name)
        get, options = framing.get, framing[b'connection']
        self.reusable = b'close' not in options and (
            persistent or b'keep-alive' in options)
        coding, length = get(b'transfer-encoding'), get(b'content-length')
        if length is not None and (
                coding is not None or not LENGTH_VALUE.fullmatch(length)):
            raise wrong('Content-Length', length)
        if coding is not None and (coding != b'chunked' or not persistent):
            raise wrong('Transfer-Encoding', coding)
        self._left = 0
        if self._bodiless or status in (204, 304):
            self.complete = True
        elif coding is not None:
            self._mode, self._trailers = _CHUNKED, False
        elif length is not None:
            self._mode, self._left = _LENGTH, int(length)
            self.complete = not self._left
        else:
            self._mode, self.reusable = _UNTIL_EOF, False
        if status >= 300:
            self._sink = None

    def _body(self, data: bytes) -> None:
        if self._mode == _CHUNKED:
            self._chunks(data)
            return
        block: Data = data
        if self._mode == _LENGTH:
            if len(data) > self._left:
                block = memoryview(data)[:self._left]
                self.reusable = False
            self._left -= len(block)
            self.complete = not self._left
        self._deliver(block)

    def _deliver(self, data: Data) -> None:
        self.size += len(data)
        if self._sink is not None:
            self._sink(data)
        elif self.status >= 300 and len(self.excerpt) < MAX_EXCERPT:
            self.excerpt += data[:MAX_EXCERPT - len(self.excerpt)]

    def _chunks(self, data: bytes) -> None:
        """Count in ``_left`` what a chunk lacks, with the CR LF after it."""
        if self._buffer:
            data, self._buffer = self._buffer + data, b''
        view, place, end = memoryview(data), 0, len(data)
        while place < end and not self.complete:
            if self._left > 2:
                taken = min(self._left - 2, end - place)
                self._deliver(view[place:place + taken])
                self._left -= taken
                place += taken
            elif self._left:
                if not b'\r\n'[2 - self._left:].startswith(
                        data[place:place + self._left]):
                    raise wrong('a chunk that is longer than its size',
                                 data[place:])
                taken = min(self._left, end - place)
                self._left -= taken
                place += taken
            else:
                after = self._line(data, place)
                if after < 0:
                    self._buffer = data[place:]
                    return
                place = after
        if place < end:
            self.reusable = False

    def _line(self, data: bytes, place: int) -> int:
        """Take the line that begins a chunk, or all trailers.

        :returns: the place after it; -1 if it is not all there
        """
        if self._trailers:
            return self._end(data, place)
        end = data.find(b'\r\n', place, place + MAX_LINE)
        if end < 0:
            if len(data) - place >= MAX_LINE:
                raise wrong('a size of a chunk of more than %d bytes'
                             % MAX_LINE)
            return -1
        match = CHUNK.fullmatch(data, place, end)
        if match is None:
            raise wrong('no size of a chunk', data[place:end])
        size = int(match[1], 16)
        self._trailers = not size
        self._left = size + 2 if size else 0
        return end + 2

    def _end(self, data: bytes, place: int) -> int:
        if data.startswith(b'\r\n', place):
            self.complete = True
            return place + 2
        end = data.find(b'\r\n\r\n', place, place + MAX_HEAD)
        if end < 0:
            if len(data) - place >= MAX_HEAD:
                raise wrong('trailers of more than %d bytes' % MAX_HEAD)
            return -1
        if TRAILERS.fullmatch(data, place, end + 2) is None:
            raise wrong('a malformed trailer', data[place:end])
        self.complete = True
        return end + 4
