# SPDX-License-Identifier: Apache-2.0
"""Messages that only one who has a key can have sent, and only once.

A signature is HMAC-SHA256 over parts with a line feed between them. No part
may hold a line feed, so that no two lists of parts are signed alike; a body
takes part by its digest. Each protocol says which parts there are, and in
which headers they travel.

A receiver checks the signature first, then the time with ``check_time``, and
then takes the nonce with ``Nonces.add``: who has no key fills no memory.
"""

import hmac
from hashlib import sha256


class SignatureError(ValueError):
    """A message that is not shown to be of one who has the key."""


def digest(data: bytes) -> str:
    """Return the digest of a body.

    :param data: the body
    :returns: SHA-256, 64 hexadecimal digits
    """
    return sha256(data).hexdigest()


def sign(key: bytes, *parts: object) -> str:
    """Sign some parts.

    :param key: what both sides have
    :param parts: texts, which may hold undecodable bytes as surrogates, or
        numbers
    :returns: the signature, 64 hexadecimal digits
    :raises SignatureError: if a part holds a line feed
    """
    texts = [str(each) for each in parts]
    for each in texts:
        if '\n' in each:
            raise SignatureError('a part to sign is %.80r, must hold no line '
                                 'feed' % each)
    return hmac.new(key, '\n'.join(texts).encode('utf8', 'surrogateescape'),
                    sha256).hexdigest()


def is_same(expected: bytes | str, found: bytes | str) -> bool:
    """Compare signatures or digests in a time that does not tell where they
    differ.

    :param expected: ours
    :param found: that of the message, which may be any text
    :returns: whether they are the same
    """
    return hmac.compare_digest(_bytes(expected), _bytes(found))


def _bytes(text: bytes | str) -> bytes:
    # compare_digest refuses texts that are not ASCII.
    return text if isinstance(text, bytes) else text.encode(
        'utf8', 'surrogateescape')


def check_time(signed_at: float, now: float, window: float) -> None:
    """Refuse what was not signed about now.

    :param signed_at: what the message says, in Unix seconds
    :param now: by our clock, in Unix seconds
    :param window: seconds that may be between, in both directions
    :raises SignatureError: if there are more
    """
    if not abs(now - signed_at) <= window:
        raise SignatureError('it was signed at %d, here it is %d; at most '
                             '%d s may be between' % (signed_at, now, window))


class Nonces:
    """The nonces of all messages that ``check_time`` does not refuse yet.

    :param window: of ``check_time``
    :param most: nonces to remember
    """

    def __init__(self, window: float, most: int) -> None:
        self.window = window
        self.most = most
        # From a nonce to the last time at which it counts, oldest first.
        self._until: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._until)

    def add(self, nonce: str, now: float) -> None:
        """Take a nonce, which can be taken only once.

        :param nonce: of a message that has a good signature and time
        :param now: in Unix seconds
        :raises SignatureError: if it was taken before, or if there are too
            many to tell
        """
        while self._until:
            oldest = next(iter(self._until))
            if self._until[oldest] >= now:
                break
            del self._until[oldest]
        if nonce in self._until:
            raise SignatureError('the request has been sent before')
        if len(self._until) >= self.most:
            raise SignatureError(
                'more than %d requests in %d s: none can be told from a '
                'repetition' % (self.most, 2 * self.window))
        # It was signed at most a window ahead, and is good for another.
        self._until[nonce] = now + 2 * self.window
