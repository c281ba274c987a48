# SPDX-License-Identifier: Apache-2.0
"""The body of a request from another site: head, data, trailer."""

from hashlib import sha256

from swift_lightsync.common.signing import SignatureError
from swift_lightsync.versioning.core.shipping import MAX_HEAD
from swift_lightsync.versioning.core.signature import TRAILER, check_trailer


class Disconnected(Exception):
    """A body ends before its length."""


def read_exactly(stream, size):
    """Read a number of bytes.

    :raises Disconnected: if there are fewer
    """
    parts = []
    while size:
        part = stream.read(size)
        if not part:
            raise Disconnected('the body ends %d bytes too early' % size)
        parts.append(part)
        size -= len(part)
    return b''.join(parts)


def data_length(claim, whole):
    """Return the length of the data of a request; nothing of its body is read.

    :param whole: the length of the body, a number or None
    :raises SignatureError: if the lengths cannot be right
    """
    least = claim.length + TRAILER
    if claim.length > MAX_HEAD or whole is None or whole < least:
        raise SignatureError(
            'the length of the head is %d, must be 0 to %d; the length of the '
            'body is %s, must be at least %d' % (claim.length, MAX_HEAD,
                                                 whole, least))
    return whole - least


def read_head(stream, claim):
    """Read the head, which comes before the data.

    :param stream: of the request
    :raises SignatureError: if the head is not what was signed
    :raises Disconnected: if the body is too short
    """
    head = read_exactly(stream, claim.length)
    claim.check_head(head)
    return head


class Data:
    """The data of a request, to be read like a file. The last chunk is given
    only after the trailer has proved that the sender signed all of the data,
    so that no server takes anything else for complete data.

    :param stream: of the request, after the head
    :param length: bytes of data
    :param key: of the sender
    :param mac: of the request
    """

    def __init__(self, stream, length, key, mac):
        self.length = length
        #: Whether nothing is left of the request.
        self.is_read = False
        self._stream = stream
        self._left = length
        self._key = key
        self._mac = mac
        self._digest = sha256()

    def read(self, size=-1):
        """Read some of the data.

        :param size: bytes, at most; negative or None: all that is left
        :returns: bytes; none at the end
        :raises SignatureError: if the data is not what was signed
        :raises Disconnected: if it ends too early
        """
        if self._left and size:
            most = self._left if size is None or size < 0 else size
            chunk = self._stream.read(min(most, self._left))
            if not chunk:
                raise Disconnected('the data ends %d bytes too early' %
                                   self._left)
            self._left -= len(chunk)
            self._digest.update(chunk)
            if not self._left:
                self.verify()
            return chunk
        if not self._left:
            self.verify()
        return b''

    def verify(self):
        """Raise SignatureError unless all data was read and is as signed."""
        if self.is_read:
            return
        if self._left:
            raise SignatureError('%d bytes of data were not read' %
                                 self._left)
        found = read_exactly(self._stream, TRAILER)
        check_trailer(self._key, self._mac, self._digest.hexdigest(), found)
        self.is_read = True

    def __iter__(self):
        return iter(lambda: self.read(1 << 16), b'')
