# SPDX-License-Identifier: Apache-2.0
"""Signatures of requests and answers between sites: they prove who sent them,
and that nobody altered them.

HMAC-SHA256 with the key that two sites share. A request is ``POST
/v1/.site-versions``; its body is a head (JSON, see shipping), the data of
objects, and a trailer. The header signs the method, the path, the sender
and the receiver, the time, a nonce, the length of the body and the digest of
the head, which another header names: so a request proves who sent it before
any of its body is read. The trailer signs the digest of the data, which is
known only when it has been read. The answer is signed together with the
request that it answers.
"""

import re
from dataclasses import dataclass
from typing import Dict, Sequence, Tuple, Union

from swift_lightsync.common.signing import (
    SignatureError,
    check_time,
    digest,
    is_same,
    sign,
)
from swift_lightsync.versioning.core.version import check_site

#: Of all requests; no container's.
PATH = '/v1/.site-versions'
HEADER = 'X-Site-Versions-Signature'
#: The length of the head, and its SHA-256 in hexadecimal.
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
_HEAD = re.compile(r'(0|[1-9]\d{0,8}) ([0-9a-f]{64})\Z', re.ASCII)


@dataclass(frozen=True)
class Claim:
    """
    The claims in the header of a request: sender, time, nonce and signature.
    """
    sender: str
    time: int
    nonce: str
    mac: str

    @classmethod
    def parse(cls, text: str) -> 'Claim':
        """Read the header of a request.

        :param text: what ``str`` of a claim gives
        :raises SignatureError: if it is not
        """
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

    def __str__(self) -> str:
        return '%s %s %d %s %s' % (_ALGORITHM, self.sender, self.time,
                                   self.nonce, self.mac)

    def check_time(self, now: float) -> None:
        """Refuse a request whose time is too far from now.

        :param now: by our clock, in Unix seconds
        :raises SignatureError: if it is too old or too new
        """
        try:
            check_time(self.time, now, WINDOW)
        except SignatureError as err:
            raise SignatureError('the request of site %s: %s' % (
                self.sender, err)) from err


@dataclass(frozen=True)
class HeadClaim:
    """The claims of a request about its head.

    :param length: bytes
    :param digest: SHA-256, in hexadecimal
    """
    length: int
    digest: str

    @classmethod
    def of(cls, head: bytes) -> 'HeadClaim':
        """Describe a head."""
        return cls(len(head), digest(head))

    @classmethod
    def parse(cls, text: str, most: int) -> 'HeadClaim':
        """Read the header of a request.

        :param text: what ``str`` of a claim gives
        :param most: bytes that a head may have
        :raises SignatureError: if it is not
        """
        match = _HEAD.match(text)
        if not match or int(match[1]) > most:
            raise SignatureError(
                '%s is %.80r, must be the length of the head, 0 to %d, and '
                'its SHA-256, 64 hexadecimal digits' % (HEAD_HEADER, text,
                                                        most))
        return cls(int(match[1]), match[2])

    def __str__(self) -> str:
        return '%d %s' % (self.length, self.digest)

    def check(self, head: bytes) -> None:
        """Refuse a head that differs from the signed one.

        :raises SignatureError: if it does
        """
        check(self.digest, digest(head), 'the head')


@dataclass(frozen=True)
class Signed:
    """The parts of a request that its header signs.

    :param path: as in the request line, percent-quoted
    :param receiver: the site that it is for
    :param length: bytes of the whole body
    :param head: what describes the head
    """
    method: str
    path: str
    sender: str
    receiver: str
    time: int
    nonce: str
    length: int
    head: 'HeadClaim'

    def mac(self, key: bytes) -> str:
        """Return the signature, in hexadecimal."""
        return sign(key, 'request', self.method, self.path, self.sender,
                    self.receiver, self.time, self.nonce, self.length,
                    str(self.head))

    def claim(self, key: bytes) -> Claim:
        """Return the ``Claim`` to send."""
        return Claim(self.sender, self.time, self.nonce, self.mac(key))

    def headers(self, key: bytes) -> Tuple[Dict[str, str], str]:
        """Sign the request.

        :returns: its headers, including the signature
        """
        claim = self.claim(key)
        return {HEADER: str(claim), HEAD_HEADER: str(self.head),
                'Content-Type': 'application/octet-stream',
                'Content-Length': str(self.length)}, claim.mac

    def verify(self, keys: Sequence[bytes], claim: Claim,
               now: float) -> bytes:
        """Refuse a request that the sender has not signed, or not about now.

        :param keys: those that the sender may use
        :param claim: what the request says
        :param now: by our clock, in Unix seconds
        :returns: the key that it was signed with
        :raises SignatureError: if it is not as claimed
        """
        key = self.key_of(keys, claim.mac)
        claim.check_time(now)
        return key

    def key_of(self, keys: Sequence[bytes], mac: str) -> bytes:
        """Find the key that a request was signed with.

        :param keys: those that the sender may use
        :param mac: the signature of the request
        :returns: the key
        :raises SignatureError: if it is none of them
        """
        for key in keys:
            if is_same(self.mac(key), mac):
                return key
        raise SignatureError(
            'the signature of site %s for %s %.200s does not fit' % (
                self.sender, self.method, self.path))


def trailer(key: bytes, mac: str, data_digest: str) -> bytes:
    """Sign the data of a request.

    :param mac: the signature of the request
    :param data_digest: SHA-256 of the data, in hexadecimal
    :returns: the bytes that follow the data
    """
    return sign(key, 'data', mac, data_digest).encode('ascii')


def check_trailer(key: bytes, mac: str, data_digest: str,
                  found: bytes) -> None:
    """Refuse data that differs from the signed data; see ``trailer``.

    :param found: the bytes that follow the data
    :raises SignatureError: if they are not the trailer of this data
    """
    check(trailer(key, mac, data_digest), found, 'the data')


def answer_mac(key: bytes, mac: str, status: int, body: bytes) -> str:
    """Sign an answer.

    :param mac: the signature of the request
    :returns: the signature of the answer
    """
    return sign(key, 'answer', mac, status, digest(body))


def check_answer(key: bytes, mac: str, status: int, body: bytes, found: str,
                 site: str) -> None:
    """Refuse an answer that the site has not signed; see ``answer_mac``.

    :param found: the signature that the answer has
    :raises SignatureError: if it does not fit
    """
    check(answer_mac(key, mac, status, body), found,
          'the answer of site %s' % site)


def check(expected: Union[bytes, str], found: Union[bytes, str],
          what: str) -> None:
    """Compare two signatures.

    :param what: names what is signed, for the error
    :raises SignatureError: unless they are the same
    """
    if not is_same(expected, found):
        raise SignatureError('the signature of %s does not fit' % what)
