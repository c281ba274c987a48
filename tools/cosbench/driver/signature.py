# SPDX-License-Identifier: Apache-2.0
"""Who may speak to a driver: signatures over a shared secret.

A request is signed with HMAC-SHA256 over its method, its target, the time,
a nonce and the digest of its body, one a line; an answer over its status,
the request's nonce and the digest of its body. ``PROTOCOL.md`` has the
fields. A signature is valid once, and in a window of time.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass

VERSION = 'cosbench-1'
TIME = 'X-Cosbench-Time'
NONCE = 'X-Cosbench-Nonce'
DIGEST = 'X-Cosbench-Digest'
SIGNATURE = 'X-Cosbench-Signature'
REQUEST_FIELDS = (TIME, NONCE, DIGEST, SIGNATURE)
#: Characters of a secret or token, at least.
MIN_SECRET = 16
#: Seconds that two clocks may differ.
WINDOW = 300
_NONCE = re.compile(r'[0-9a-f]{32}', re.ASCII)
_TIME = re.compile(r'\d{1,12}', re.ASCII)


class Refused(Exception):
    """A message whose signature does not hold; says why."""


def digest(body):
    return hashlib.sha256(body).hexdigest()


def _sign(secret, *lines):
    text = '\n'.join((VERSION,) + lines)
    return hmac.new(secret, text.encode('utf8', 'surrogateescape'),
                    hashlib.sha256).hexdigest()


def request_fields(secret, method, target, body, now, nonce):
    """
    :param secret: bytes
    :param target: path and query, as they are sent
    :param body: bytes
    :param now: unix seconds
    :param nonce: 32 hexadecimal digits that were never used before
    :returns: the header fields of a request
    """
    time, body_digest = str(int(now)), digest(body)
    return {TIME: time, NONCE: nonce, DIGEST: body_digest,
            SIGNATURE: _sign(secret, 'request', method, target, time, nonce,
                             body_digest)}


def answer_signature(secret, status, nonce, body):
    """
    :param nonce: of the request
    """
    return _sign(secret, 'answer', str(status), nonce, digest(body))


def check_answer(secret, status, nonce, body, signature):
    """
    :raises Refused: if the answer is not that of one who has the secret
    """
    if not _equal(answer_signature(secret, status, nonce, body), signature):
        raise Refused('the signature of the answer is wrong: another has '
                      'answered, or the secrets differ')


def _equal(one, other):
    # compare_digest refuses texts that are not ASCII.
    return hmac.compare_digest(one.encode(), (other or '').encode(
        'utf8', 'surrogateescape'))


class Nonces:
    """
    The nonces of the window, so that none is taken twice.

    :param window: seconds
    """

    def __init__(self, window):
        self._window = window
        # Insertion order is the order in which they expire.
        self._seen = {}

    def __len__(self):
        return len(self._seen)

    def take(self, nonce, now):
        """
        :returns: whether the nonce was not taken before
        """
        for old, until in list(self._seen.items()):
            if until > now:
                break
            del self._seen[old]
        if nonce in self._seen:
            return False
        # A request from a clock that is ahead is valid that much longer.
        self._seen[nonce] = now + 2 * self._window + 1
        return True


@dataclass(frozen=True)
class Head:
    """What of a request's head is signed."""

    method: str
    target: str
    #: Header fields; a mapping without regard to case.
    fields: object


class Gate:
    """
    Checks requests to one driver process.

    :param secret: bytes
    :param window: seconds
    """

    def __init__(self, secret, window=WINDOW):
        self.secret = secret
        self._window = window
        self._nonces = Nonces(window)

    def check_head(self, head, now):
        """
        Everything but the body, which need not be read for one who has not
        the secret.

        :param head: a ``Head``
        :param now: unix seconds
        :raises Refused: if the request is not signed, not for now, or was
            here before
        """
        fields = {}
        for key in REQUEST_FIELDS:
            fields[key] = head.fields.get(key, '')
            if not fields[key]:
                raise Refused('%s is missing' % key)
        time, nonce = fields[TIME], fields[NONCE]
        if not _TIME.fullmatch(time) or not _NONCE.fullmatch(nonce):
            raise Refused('%s or %s is malformed' % (TIME, NONCE))
        expected = _sign(self.secret, 'request', head.method, head.target,
                         time, nonce, fields[DIGEST])
        if not _equal(expected, fields[SIGNATURE]):
            raise Refused('the signature is wrong')
        # From here on it is someone who has, or had, the secret.
        if abs(int(time) - now) > self._window:
            raise Refused('the clocks differ by %d s: at most %d s are '
                          'allowed' % (int(time) - now, self._window))
        if not self._nonces.take(nonce, now):
            raise Refused('the request was here before')

    @staticmethod
    def check_body(head, body):
        """
        :raises Refused: if the body is not the one that was signed
        """
        if not _equal(digest(body), head.fields.get(DIGEST, '')):
            raise Refused('the body is not the one that was signed')
