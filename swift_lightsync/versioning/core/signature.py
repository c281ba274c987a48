# SPDX-License-Identifier: Apache-2.0
"""
Who sent a request or an answer between sites, and that it is unaltered.

HMAC-SHA256 with the key that two sites share. A request is
``POST /v1/<account>/<container>``; its body is a head (JSON, see shipping),
the data of an object, and a trailer. The header signs the method, the path,
who sends to whom, when, a nonce, the length of the body and the digest of the
head; the trailer signs the digest of the data, which is known only when it
has been read. The answer is signed with the request that it answers.
"""

import hmac
import re
from dataclasses import dataclass
from hashlib import sha256

from swift_lightsync.versioning.core.version import check_site

HEADER = 'X-Site-Versions-Signature'
#: The length of the head.
HEAD_HEADER = 'X-Site-Versions-Head'
ANSWER_HEADER = 'X-Site-Versions-Answer'
#: Bytes of a trailer.
TRAILER = 64
#: Seconds that the clocks of two sites and a request's way may take.
WINDOW = 300
MAX_NONCES = 500000
MIN_KEY = 32
_ALGORITHM = 'hmac-sha256'
_CLAIM = re.compile(
    r'hmac-sha256 ([a-z0-9-]{1,32}) (0|[1-9]\d{0,11}) ([0-9a-f]{32}) '
    r'([0-9a-f]{64})\Z', re.ASCII)


class SignatureError(ValueError):
    """A request or an answer that is not shown to be of a peer."""


@dataclass(frozen=True)
class Claim:
    """What the header of a request says: who, when, nonce and signature."""
    sender: str
    time: int
    nonce: str
    mac: str

    @classmethod
    def parse(cls, text):
        """:raises SignatureError: unless it is what ``str`` gives"""
        match = _CLAIM.match(text)
        if not match:
            raise SignatureError(
                '%s is %.80r, must be %s, a site, seconds, a nonce of 32 and '
                'a signature of 64 hexadecimal digits' % (
                    HEADER, text, _ALGORITHM))
        sender, seconds, nonce, mac = match.groups()
        try:
            check_site(sender)
        except ValueError as err:
            raise SignatureError(str(err)) from err
        return cls(sender, int(seconds), nonce, mac)

    def __str__(self):
        return '%s %s %d %s %s' % (_ALGORITHM, self.sender, self.time,
                                   self.nonce, self.mac)

    def check_time(self, now):
        """:raises SignatureError: if it was not made about now"""
        if abs(now - self.time) > WINDOW:
            raise SignatureError(
                'the request of site %s was signed at %d, here it is %d; at '
                'most %d s may be between' % (self.sender, self.time, now,
                                              WINDOW))


@dataclass(frozen=True)
class Signed:
    """
    What the header of a request covers.

    :param path: as in the request line, percent-quoted
    :param receiver: the site that it is for
    :param length: bytes of the whole body
    :param head: the head's bytes
    """
    method: str
    path: str
    sender: str
    receiver: str
    time: int
    nonce: str
    length: int
    head: bytes

    def mac(self, key):
        """:returns: the signature, in hexadecimal"""
        return _mac(key, 'request', self.method, self.path, self.sender,
                    self.receiver, self.time, self.nonce, self.length,
                    sha256(self.head).hexdigest())

    def claim(self, key):
        """:returns: the ``Claim`` to send"""
        return Claim(self.sender, self.time, self.nonce, self.mac(key))

    def key_of(self, keys, mac):
        """
        :param keys: those that the sender may use
        :returns: the one it has used
        :raises SignatureError: if it is none of them
        """
        found = [key for key in keys
                 if hmac.compare_digest(self.mac(key), mac)]
        if not found:
            raise SignatureError(
                'the signature of site %s for %s %.200s does not fit' % (
                    self.sender, self.method, self.path))
        return found[0]


def _mac(key, *parts):
    # No part holds a newline: paths are quoted, the rest is checked.
    return hmac.new(key, '\n'.join(map(str, parts)).encode('ascii'),
                    sha256).hexdigest()


def trailer(key, mac, digest):
    """
    :param mac: the signature of the request
    :param digest: SHA-256 of the data, in hexadecimal
    :returns: the bytes that follow the data
    """
    return _mac(key, 'data', mac, digest).encode('ascii')


def answer_mac(key, mac, status, body):
    """
    :param mac: the signature of the request
    :param status: a number
    :param body: bytes
    :returns: the signature of the answer
    """
    return _mac(key, 'answer', mac, status, sha256(body).hexdigest())


def check(expected, found, what):
    """:raises SignatureError: unless two signatures are the same"""
    if isinstance(expected, str):
        expected = expected.encode('ascii')
    if isinstance(found, str):
        found = found.encode('utf8')
    if not hmac.compare_digest(expected, found):
        raise SignatureError('the signature of %s does not fit' % what)


def nonce_key(sender, nonce):
    """:returns: the name under which caches remember a nonce"""
    return 'site-versions/nonce/%s/%s' % (sender, nonce)


class Nonces:
    """
    The nonces of all requests that are not refused by their time yet.

    :param most: nonces to remember
    """

    def __init__(self, most=MAX_NONCES):
        self.most = most
        # From a name to the time until which it is kept, oldest first.
        self._until = {}

    def add(self, name, now):
        """
        :param name: of ``nonce_key``
        :param now: wall time, in seconds
        :raises SignatureError: if it was added before, or if there are too
            many to tell
        """
        while self._until:
            oldest = next(iter(self._until))
            if self._until[oldest] > now:
                break
            del self._until[oldest]
        if name in self._until:
            raise SignatureError('the request has been sent before')
        if len(self._until) >= self.most:
            raise SignatureError(
                'more than %d requests in %d s: none can be told from a '
                'repetition' % (self.most, 2 * WINDOW))
        # It was signed at most a window ahead, and is good for another.
        self._until[name] = now + 2 * WINDOW
