# SPDX-License-Identifier: Apache-2.0
"""Who may pass: logins, sessions, and forms that are really ours.

A session's key is in a cookie that no script reads and no other site sends.
A request that changes something must moreover come from this origin and
have the session's own token in it.
"""

import asyncio
import logging

from aiohttp import web

from cosbench.console.lockout import Lockout
from cosbench.console.sessions import LIFETIME, Sessions
from cosbench.controller.api import BODY_TIMEOUT, authorized
from cosbench.driver.signed_server import BROKEN

COOKIE = 'cosbench_session'
#: Bytes of a request of somebody who has not logged in.
MOST_LOGIN = 4096
_FORM = 'application/x-www-form-urlencoded'
log = logging.getLogger('cosbench.console')


class Locked(Exception):
    """
    Too many failures.

    :param seconds: until the next try
    """

    def __init__(self, seconds):
        super().__init__('too many wrong tokens: wait %.0f s' % seconds)
        self.seconds = seconds


class Gate:
    """
    Lets people in who know the token.

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
        """
        Open a session for one who sends the token.

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
        if not authorized(self._token, 'Bearer ' + _text(fields, 'token')):
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
        """
        Return the fields of a form of the session's own.

        :param session: of who sent it
        :returns: its fields
        :raises web.HTTPForbidden: if another site may have sent it
        """
        fields = await _fields(request)
        if not session.vouches(_text(fields, 'csrf')):
            log.warning('a form without its token from %s', request.remote)
            raise web.HTTPForbidden(
                reason='this form is out of date: load it again')
        return fields


def check_origin(request):
    """
    Refuse a request that another site's page has sent.

    :raises web.HTTPForbidden: if another site's page has sent it
    """
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


def _text(fields, name):
    found = fields.get(name, '')
    return found if isinstance(found, str) else ''


async def _fields(request):
    try:
        return await asyncio.wait_for(request.post(), BODY_TIMEOUT)
    except asyncio.TimeoutError:
        raise web.HTTPRequestTimeout(
            reason='the form did not come in %d s' % BODY_TIMEOUT) from None
    except BROKEN + (ValueError, LookupError) as err:
        raise web.HTTPBadRequest(
            reason='this is no form: %.100s' % _line(err)) from None


def _line(err):
    return ' '.join(str(err).split())
