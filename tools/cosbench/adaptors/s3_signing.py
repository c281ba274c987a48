# SPDX-License-Identifier: Apache-2.0
"""The headers that let a request into S3.

What all requests of a second have in common is made once: then a signature
costs two hashes.
"""

import time
from hashlib import sha256

from cosbench.adaptors.core import sigv4
from cosbench.adaptors.http1 import header_lines


def _payload_hash(body):
    digest = sha256()
    for block in body:
        digest.update(block)
    return digest.hexdigest()


class Signing:
    """Signs the requests of a storage.

    :param scope: a ``sigv4.Scope``
    :param token: of a session, or empty
    :param signs_payload: whether bodies are signed, too
    """

    def __init__(self, scope, token, signs_payload):
        self._scope = scope
        self._token = token
        self._signs_payload = signs_payload
        self._second, self._stamp = -1, ''
        #: Of this second: (URL, headers, hash of the body) -> its signer.
        self._signers = {}

    def lines(self, method, url, path, query, body, headers):
        """Return the lines of the headers of a request.

        :param url: the ``Url`` of the server
        :param headers: (name in lower case, value) pairs that go with it
        :returns: bytes, without Host, which the client writes
        """
        payload = sigv4.EMPTY
        if body is not None:
            payload = _payload_hash(body) if self._signs_payload \
                else sigv4.UNSIGNED
        second = int(time.time())
        if second != self._second:
            self._second = second
            self._stamp = time.strftime('%Y%m%dT%H%M%SZ',
                                        time.gmtime(second))
            self._signers.clear()
        key = (url, tuple(headers), payload)
        found = self._signers.get(key)
        if found is None:
            found = self._signers[key] = self._signer(*key)
        signer, lines = found
        return b'%bAuthorization: %b\r\n' % (
            lines, signer.authorization(method, path, query).encode('utf8'))

    def _signer(self, url, headers, payload):
        """Return what signs, and the lines of what is signed."""
        headers = [*headers, ('x-amz-content-sha256', payload),
                   ('x-amz-date', self._stamp)]
        if self._token:
            headers.append(('x-amz-security-token', self._token))
        return sigv4.Signer(
            self._scope, sorted([*headers, ('host', url.netloc)]), payload,
            self._stamp), header_lines(headers)
