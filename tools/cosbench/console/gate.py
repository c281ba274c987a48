# SPDX-License-Identifier: Apache-2.0
"""Who may pass: logins, sessions, and forms that are really ours.

A session's key is in a cookie that no script reads and no other site sends.
A request that changes something must moreover come from this origin and
have the session's own token in it.
"""

import hashlib
import hmac
import ipaddress
import logging
import secrets
import time
from dataclasses import dataclass, field

from aiohttp import web

from cosbench.console.frame import sent_text
from cosbench.controller.api import authorized
from cosbench.driver.signed_server import BODY_TIMEOUT, Failure, received
from swift_lightsync.common.backoff import delay_after

COOKIE = 'cosbench_session'
#: Bytes of a request of somebody who has not logged in.
MOST_LOGIN = 4096
_FORM = 'application/x-www-form-urlencoded'
log = logging.getLogger('cosbench.console')


class Locked(Exception):
    """Too many failures.

    :param seconds: until the next try
    """

    def __init__(self, seconds):
        super().__init__('too many wrong tokens: wait %.0f s' % seconds)
        self.seconds = seconds


class Gate:
    """Lets people in who know the token.

    :param token: bytes: what who logs in must know
    """

    def __init__(self, token, sessions=None, lockout=None):
        self._token = token
        self._sessions = sessions or Sessions()
        self._lockout = lockout or Lockout()

    def session(self, request):
        """Return the session of a request; None: nobody has logged in."""
        return self._sessions.find(request.cookies.get(COOKIE))

    async def login(self, request):
        """Open a session for one who sends the token.

        :returns: the key of a new session; None: the token is wrong
        :raises Locked: also if it were right
        """
        if request.content_type != _FORM:
            raise web.HTTPUnsupportedMediaType
        if request.content_length is None or \
                request.content_length > MOST_LOGIN:
            raise web.HTTPRequestEntityTooLarge(
                MOST_LOGIN, request.content_length or 0)
        fields = await _fields(request)
        wait = self._lockout.wait(request.remote)
        if wait:
            raise Locked(wait)
        if not authorized(self._token, 'Bearer ' + sent_text(fields, 'token')):
            log.warning('a wrong token from %s', request.remote)
            self._lockout.failed(request.remote)
            return None
        self._lockout.passed(request.remote)
        # One that is there is not taken up: its key may be another's.
        self.logout(request)
        return self._sessions.open()

    def logout(self, request):
        self._sessions.close(request.cookies.get(COOKIE))

    async def form(self, request, session):
        """Return the fields of a form of the session's own.

        :param session: of who sent it
        :raises web.HTTPForbidden: if another site may have sent it
        """
        fields = await _fields(request)
        if not session.vouches(sent_text(fields, 'csrf')):
            log.warning('a form without its token from %s', request.remote)
            raise web.HTTPForbidden(
                reason='this form is out of date: load it again')
        return fields


def check_origin(request):
    """Refuse (``HTTPForbidden``) what another site's page has sent."""
    origin = request.headers.get('Origin')
    site = request.headers.get('Sec-Fetch-Site', 'same-origin')
    # Which of the two a proxy that ends TLS hides.
    ours = (None, 'http://' + request.host, 'https://' + request.host)
    if origin not in ours or site not in ('same-origin', 'none'):
        log.warning('%s %.100r of another site, from %s', request.method,
                    request.path, request.remote)
        raise web.HTTPForbidden(reason='another site has sent this')


def let_in(request, response, key):
    """Give a browser the key of its session."""
    response.set_cookie(COOKIE, key, max_age=int(LIFETIME), path='/',
                        httponly=True, samesite='Strict',
                        secure=request.secure)


def let_out(request, response):
    response.del_cookie(COOKIE, path='/', httponly=True, samesite='Strict',
                        secure=request.secure)


async def _fields(request):
    try:
        return await received(request.post(), BODY_TIMEOUT)
    except (ValueError, LookupError) as err:
        raise Failure(400, 'this is no form: %.100s' % ' '.join(
            str(err).split())) from None


#: Failures that cost nothing: people mistype.
FREE = 3
#: Seconds after the next one, and at most; each doubles it.
FIRST, LONGEST = 2.0, 300.0
#: Addresses that are remembered, and seconds after which one is not.
MOST_ADDRESSES, MEMORY = 1000, 3600.0


class Lockout:
    """Counts failed logins of each address.

    :param clock: seconds, monotonic
    """

    def __init__(self, clock=time.monotonic):
        self._clock = clock
        #: network -> (failures, when the last was), the oldest first.
        self._failures = {}

    def wait(self, address):
        """Return how long a client has to wait.

        :param address: of the client, as text, or None
        :returns: seconds for which it may not try; 0: it may
        """
        count, last = self._failures.get(_network(address), (0, 0.0))
        delay = delay_after(count - FREE, FIRST, LONGEST)
        return max(0.0, last + delay - self._clock()) if delay else 0.0

    def failed(self, address):
        now, network = self._clock(), _network(address)
        count, last = self._failures.pop(network, (0, now))
        if now - last > MEMORY:
            count = 0
        if len(self._failures) >= MOST_ADDRESSES:
            del self._failures[next(iter(self._failures))]
        self._failures[network] = (count + 1, now)

    def passed(self, address):
        self._failures.pop(_network(address), None)


def _network(address):
    """Return what counts as one: of IPv6 anyone has 2**64 addresses."""
    try:
        found = ipaddress.ip_address((address or '').partition('%')[0])
    except ValueError:
        return address
    if found.version == 4:
        return str(found)
    return str(ipaddress.ip_network((found, 64), strict=False))


#: Seconds: without a request, and in all.
IDLE, LIFETIME = 3600.0, 24 * 3600.0
#: Sessions at once; the one that was idle longest makes room.
MOST_SESSIONS = 100


@dataclass
class Session:

    #: What every form that changes something must send.
    csrf: str
    opened: float
    used: float = field(compare=False)

    def vouches(self, token):
        """Check the token of a form.

        :param token: what a form sent
        :returns: whether it is this session's, in constant time
        """
        return hmac.compare_digest(_digest(self.csrf), _digest(token))


class Sessions:
    """The sessions that are open.

    :param clock: seconds, monotonic
    """

    def __init__(self, clock=time.monotonic):
        self._clock = clock
        #: By digest: looking one up takes no time that tells of its key.
        self._open = {}

    def open(self):
        """Open a session, and return its key."""
        now, key = self._clock(), secrets.token_urlsafe()
        self._open = {digest: session
                      for digest, session in self._open.items()
                      if self._lives(session, now)}
        while len(self._open) >= MOST_SESSIONS:
            del self._open[min(self._open,
                               key=lambda each: self._open[each].used)]
        self._open[_digest(key)] = Session(secrets.token_urlsafe(), now, now)
        return key

    def find(self, key):
        """Return the session of a key, and note that it is used.

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
