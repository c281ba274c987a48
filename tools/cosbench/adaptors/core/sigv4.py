# SPDX-License-Identifier: Apache-2.0
"""AWS Signature Version 4 of the headers of a request; pure.

As S3 has it: the path is quoted once, and not normalised.
"""

import hmac
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote

ALGORITHM = 'AWS4-HMAC-SHA256'
#: The hash of no bytes.
EMPTY = sha256().hexdigest()
UNSIGNED = 'UNSIGNED-PAYLOAD'


class Scope(NamedTuple):
    """Who signs, and for what."""

    access_key: str
    secret_key: str
    region: str
    service: str = 's3'


def query_string(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a query in the one order and quoting that can be signed.

    :param pairs: (name, value) texts
    :returns: the query, without a question mark
    """
    return '&'.join('%s=%s' % pair for pair in sorted(
        (quote(name, safe='-_.~'), quote(value, safe='-_.~'))
        for name, value in pairs))


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode('utf8'), 'sha256')


@lru_cache(maxsize=64)
def _key(scope: Scope, day: str) -> bytes:
    key = ('AWS4' + scope.secret_key).encode('utf8')
    for part in (day, scope.region, scope.service, 'aws4_request'):
        key = _hmac(key, part)
    return key


class Signer:
    """Signs requests that have the same headers, within a second.

    :param scope: who signs, and for what
    :param headers: those that are signed: (name in lower case, value),
        sorted; host must be one
    :param payload: the SHA-256 of the body in hex, or ``UNSIGNED``
    :param stamp: the time, ``YYYYMMDDTHHMMSSZ``
    """

    def __init__(self, scope: Scope, headers: Sequence[tuple[str, str]],
                 payload: str, stamp: str) -> None:
        names = ';'.join(name for name, _ in headers)
        lines = ''.join('%s:%s\n' % (name, ' '.join(value.split()))
                        for name, value in headers)
        place = '%s/%s/%s/aws4_request' % (
            stamp[:8], scope.region, scope.service)
        # Its pads are hashed once, and copied for each signature.
        self._mac = hmac.new(_key(scope, stamp[:8]), (
            '\n'.join((ALGORITHM, stamp, place, ''))).encode('utf8'),
            'sha256')
        self._rest = '\n'.join((lines, names, payload))
        self._value = '%s Credential=%s/%s, SignedHeaders=%s, Signature=' % (
            ALGORITHM, scope.access_key, place, names)

    def authorization(self, method: str, path: str, query: str) -> str:
        """Sign a request.

        :param method: such as ``GET``
        :param path: quoted, as in the request
        :param query: of ``query_string``
        :returns: the value of the header Authorization
        """
        canonical = '%s\n%s\n%s\n%s' % (method, path, query, self._rest)
        mac = self._mac.copy()
        mac.update(sha256(canonical.encode('utf8')).hexdigest().encode())
        return self._value + mac.hexdigest()
