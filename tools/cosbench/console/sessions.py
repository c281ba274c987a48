# SPDX-License-Identifier: Apache-2.0
"""Who has logged in: sessions, kept in memory and forgotten at the end."""

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass, field

#: Seconds: without a request, and in all.
IDLE, LIFETIME = 3600.0, 24 * 3600.0
#: Sessions at once; the one that was idle longest makes room.
MOST = 100


@dataclass
class Session:

    #: What every form that changes something must send.
    csrf: str
    opened: float
    used: float = field(compare=False)

    def vouches(self, token):
        """
        Check the token of a form.

        :param token: what a form sent
        :returns: whether it is this session's, in constant time
        """
        return hmac.compare_digest(_digest(self.csrf), _digest(token))


class Sessions:
    """
    The sessions that are open.

    :param clock: seconds, monotonic
    :param draw: makes what cannot be guessed, as text
    """

    def __init__(self, clock=time.monotonic, draw=secrets.token_urlsafe):
        self._clock = clock
        self._draw = draw
        #: By digest: looking one up takes no time that tells of its key.
        self._open = {}

    def open(self):
        """Open a session, and return its key."""
        now, key = self._clock(), self._draw()
        self._open = {digest: session
                      for digest, session in self._open.items()
                      if self._lives(session, now)}
        while len(self._open) >= MOST:
            del self._open[min(self._open,
                               key=lambda each: self._open[each].used)]
        self._open[_digest(key)] = Session(self._draw(), now, now)
        return key

    def find(self, key):
        """
        Return the session of a key, and note that it is used.

        :param key: what a browser sent, or None
        :returns: its ``Session``; None if there is none any more
        """
        session, now = self._open.get(_digest(key or '')), self._clock()
        if session is None or not self._lives(session, now):
            return None
        session.used = now
        return session

    def close(self, key):
        self._open.pop(_digest(key or ''), None)

    def _lives(self, session, now):
        return now - session.used < IDLE and now - session.opened < LIFETIME


def _digest(words):
    return hashlib.sha256(words.encode('utf8', 'surrogatepass')).digest()
