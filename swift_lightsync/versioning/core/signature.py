# SPDX-License-Identifier: Apache-2.0
"""Signatures of requests and answers between sites: they prove who sent them,
and that nobody altered them.

HMAC-SHA256 with the key that two sites share. A request is ``POST
/v1/.site-versions``; its body is a head (JSON, see shipping), the data of
objects, and a trailer. The header says who sends it, when, with a nonce, and
the length and digest of the head; it signs this, the receiver and the length
of the body: so a request proves who sent it before any of its body is read.
The trailer signs the digest of the data, which is known only when it has been
read. The answer is signed together with the request that it answers.
"""

import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

from swift_lightsync.common.signing import (
    SignatureError,
    check_time,
    digest,
    is_same,
    sign,
)
from swift_lightsync.versioning.core.version import check_site

#: Of all requests; no container's.
METHOD, PATH = 'POST', '/v1/.site-versions'
HEADER = 'X-Site-Versions-Signature'
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
    r'(0|[1-9]\d{0,8}) ([0-9a-f]{64}) ([0-9a-f]{64})\Z', re.ASCII)


@dataclass(frozen=True)
class Claim:
    """What the header of a request says.

    :param sender: the site
    :param time: in Unix seconds
    :param nonce: 32 hexadecimal digits, others in each request
    :param length: bytes of the head
    :param digest: SHA-256 of the head, in hexadecimal
    :param mac: the signature
    """
    sender: str
    time: int
    nonce: str
    length: int
    digest: str
    mac: str = ''

    @classmethod
    def of(cls, sender: str, time: int, nonce: str, head: bytes) -> 'Claim':
        """Return a claim that is not signed yet."""
        return cls(sender, time, nonce, len(head), digest(head))

    @classmethod
    def parse(cls, text: str) -> 'Claim':
        """Read the header of a request.

        :param text: what ``str`` of a claim gives
        :raises SignatureError: if it is not
        """
        match = _CLAIM.match(text)
        if not match:
            raise SignatureError(
                '%s is %.80r, must be %s, a site, seconds, a nonce of 32 '
                'hexadecimal digits, the length of the head, its SHA-256 and '
                'a signature of 64 each' % (HEADER, text, _ALGORITHM))
        sender, seconds, nonce, length, head, mac = match.groups()
        try:
            check_site(sender)
        except ValueError as err:
            raise SignatureError(str(err)) from err
        return cls(sender, int(seconds), nonce, int(length), head, mac)

    def __str__(self) -> str:
        return ' '.join(map(str, (_ALGORITHM, *astuple(self))))

    def signed(self, key: bytes, receiver: str, length: int) -> 'Claim':
        """Return the claim with the signature of a request.

        :param receiver: the site that it is for
        :param length: bytes of its whole body
        """
        return replace(self, mac=sign(
            key, 'request', METHOD, PATH, self.sender, receiver, self.time,
            self.nonce, length, self.length, self.digest))

    def verify(self, keys: Sequence[bytes], receiver: str, length: int,
               now: float) -> bytes:
        """Return the key that a request was signed with, just now.

        :param keys: those that the sender may use
        :param now: by our clock, in Unix seconds
        :raises SignatureError: if it is none of them, or was not about now
        """
        for key in keys:
            if is_same(self.signed(key, receiver, length).mac, self.mac):
                break
        else:
            raise SignatureError('the signature of site %s does not fit' %
                                 self.sender)
        try:
            check_time(self.time, now, WINDOW)
        except SignatureError as err:
            raise SignatureError('the request of site %s: %s' % (
                self.sender, err)) from err
        return key

    def check_head(self, head: bytes) -> None:
        """Refuse a head that differs from the signed one.

        :raises SignatureError: if it does
        """
        check(self.digest, digest(head), 'the head')


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


def check(expected: bytes | str, found: bytes | str,
          what: str) -> None:
    """Compare two signatures.

    :param what: names what is signed, for the error
    :raises SignatureError: unless they are the same
    """
    if not is_same(expected, found):
        raise SignatureError('the signature of %s does not fit' % what)
