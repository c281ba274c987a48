# SPDX-License-Identifier: Apache-2.0
"""AWS Signature Version 4 of the headers of a request; pure.

As S3 has it: the path is quoted once, and not normalised.
"""

import hmac
from functools import lru_cache
from hashlib import sha256
from typing import Iterable, NamedTuple, Sequence, Tuple
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


def query_string(pairs: Iterable[Tuple[str, str]]) -> str:
    """
    Return a query in the one order and quoting that can be signed.

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


def authorization(scope: Scope, method: str, path: str, query: str,
                  headers: Sequence[Tuple[str, str]], payload: str,
                  stamp: str) -> str:
    """
    Sign a request.

    :param scope: who signs, and for what
    :param method: such as ``GET``
    :param path: quoted, as in the request
    :param query: of ``query_string``
    :param headers: those that are signed: (name in lower case, value),
        sorted; host must be one
    :param payload: the SHA-256 of the body in hex, or ``UNSIGNED``
    :param stamp: the time, ``YYYYMMDDTHHMMSSZ``
    :returns: the value of the header Authorization
    """
    names = ';'.join(name for name, _ in headers)
    lines = ''.join('%s:%s\n' % (name, ' '.join(value.split()))
                    for name, value in headers)
    canonical = '\n'.join((method, path, query, lines, names, payload))
    place = '%s/%s/%s/aws4_request' % (
        stamp[:8], scope.region, scope.service)
    signature = _hmac(_key(scope, stamp[:8]), '\n'.join((
        ALGORITHM, stamp, place,
        sha256(canonical.encode('utf8')).hexdigest()))).hex()
    return '%s Credential=%s/%s, SignedHeaders=%s, Signature=%s' % (
        ALGORITHM, scope.access_key, place, names, signature)
