# SPDX-License-Identifier: Apache-2.0
"""Who may speak to a driver: signatures over a shared secret (PROTOCOL.md).

A signature is valid once, and in a window of time.
"""

import re

from swift_lightsync.common.signing import (
    Nonces,
    SignatureError,
    check_time,
    digest,
    is_same,
    sign,
)

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
#: Requests that one driver process takes in twice that time.
MAX_NONCES = 500000
_NONCE = re.compile(r'[0-9a-f]{32}', re.ASCII)
_TIME = re.compile(r'\d{1,12}', re.ASCII)


def request_fields(secret, method, target, body, now, nonce):
    """Sign a request.

    :param secret: bytes
    :param method: such as ``GET``
    :param target: path and query, as they are sent
    :param body: bytes
    :param now: unix seconds
    :param nonce: 32 hexadecimal digits that were never used before
    :returns: the header fields of the request
    """
    time, body_digest = str(int(now)), digest(body)
    return {TIME: time, NONCE: nonce, DIGEST: body_digest,
            SIGNATURE: sign(secret, VERSION, 'request', method, target, time,
                            nonce, body_digest)}


def answer_signature(secret, status, nonce, body):
    """Sign an answer.

    :param secret: bytes
    :param status: of the answer
    :param nonce: of the request
    :param body: bytes
    :returns: the signature
    """
    return sign(secret, VERSION, 'answer', status, nonce, digest(body))


def check_answer(secret, status, nonce, body, signature):
    """Refuse an answer that another has given than who has the secret.

    :param signature: of the answer, or None
    :raises SignatureError: if it does not hold
    """
    if not is_same(answer_signature(secret, status, nonce, body),
                   signature or ''):
        raise SignatureError('the signature of the answer is wrong: another '
                             'has answered, or the secrets differ')


class Gate:
    """Checks requests to one driver process.

    :param secret: bytes
    :param window: seconds
    """

    def __init__(self, secret, window=WINDOW):
        self.secret = secret
        self._window = window
        self._nonces = Nonces(window, MAX_NONCES)

    def check_head(self, method, target, fields, now):
        """Check everything but the body.

        That need not be read for one who has not the secret.

        :param method: such as ``GET``
        :param target: path and query, as they were sent
        :param fields: of the header; a mapping without regard to case
        :param now: unix seconds
        :raises SignatureError: if the request is not signed, not for now, or
            was here before
        """
        for key in REQUEST_FIELDS:
            if not fields.get(key):
                raise SignatureError('%s is missing' % key)
        time, nonce = fields[TIME], fields[NONCE]
        if not _TIME.fullmatch(time) or not _NONCE.fullmatch(nonce):
            raise SignatureError('%s or %s is malformed' % (TIME, NONCE))
        expected = sign(self.secret, VERSION, 'request', method, target,
                        time, nonce, fields[DIGEST])
        if not is_same(expected, fields[SIGNATURE]):
            raise SignatureError('the signature is wrong')
        # From here on it is someone who has, or had, the secret.
        check_time(int(time), now, self._window)
        self._nonces.add(nonce, now)

    @staticmethod
    def check_body(fields, body):
        """Refuse a body that is not the one that was signed.

        :param fields: as of ``check_head``, which has accepted them
        :param body: bytes
        :raises SignatureError: if it is another
        """
        if not is_same(digest(body), fields[DIGEST]):
            raise SignatureError('the body is not the one that was signed')
