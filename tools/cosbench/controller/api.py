# SPDX-License-Identifier: Apache-2.0
"""The controller's REST interface: PROTOCOL.md, part 2.

Every request needs the token: ``Authorization: Bearer TOKEN``. Answers are
JSON; what went wrong is in ``error``, and for a document that is refused in
``problems``.
"""

import hashlib
import hmac
import json
import logging
import os

from aiohttp import web

from cosbench.controller.live import headline
from cosbench.controller.metrics import families
from cosbench.controller.runfile import Unwritten
from cosbench.controller.workload_queue import QueueFull
from cosbench.document.reader import MAX_BYTES
from cosbench.driver.signed_server import (
    AS_SENT,
    BODY_TIMEOUT,
    Failure,
    check_encoding,
    received,
)
from cosbench.errors import ArchiveError, ConfigError, WorkloadError
from cosbench.watch.agent import answering
from cosbench.workload.config import integer

log = logging.getLogger('cosbench.api')


def authorized(token, header):
    # Of digests: a comparison takes no time that tells a length.
    return hmac.compare_digest(
        hashlib.sha256(b'Bearer ' + token).digest(),
        hashlib.sha256(header.encode('utf8', 'surrogateescape')).digest())


def guard(token, admits):
    """Return a middleware that lets in who has the token.

    :param token: bytes
    :param admits: a function of a request: whether it may pass without it
    """
    @web.middleware
    async def check(request, handler):
        if not admits(request) and not authorized(
                token, request.headers.get('Authorization', '')):
            log.warning('refused: %s %.100r from %s', request.method,
                        request.path, request.remote)
            return _answer(401, {'error': 'no token, or a wrong one'},
                           {'WWW-Authenticate': 'Bearer'})
        try:
            check_encoding(request)
            return await handler(request)
        except web.HTTPRequestEntityTooLarge as err:
            return _answer(err.status, {
                'error': 'it is larger than %d bytes' % MAX_BYTES})
        except web.HTTPException as err:
            return _answer(err.status, {'error': err.reason})
        except Failure as err:
            return _answer(err.status, {'error': str(err)})
        except ConfigError as err:
            return _answer(400, {'error': str(err)})
        except Unwritten as err:
            log.error('%s', err)
            return _answer(507, {'error': str(err)})
    return check


def _answer(status, found, headers=None):
    return _send(status, json.dumps(found), headers)


def _send(status, text, headers=None):
    # What is in the answer may be anyone's text: it is JSON, and nothing
    # else, also to a browser.
    return web.Response(
        status=status, body=text.encode(), headers={
            'Content-Type': 'application/json',
            'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store',
            **(headers or {})})


def _names(directory):
    return sorted(
        each for each in os.listdir(directory)
        if each[0] != '.' and os.path.isfile(os.path.join(directory, each)))


class Api:
    """Answers the requests of clients.

    :param controller: a ``Controller``
    :param token: bytes
    :param admits: see ``guard``
    """

    def __init__(self, controller, token, admits):
        self._controller = controller
        self._token = token
        self._admits = admits

    def application(self):
        app = web.Application(middlewares=[guard(self._token, self._admits)],
                              client_max_size=MAX_BYTES,
                              handler_args=AS_SENT)
        self.add_routes(app.router)
        return app

    def add_routes(self, router):
        """Add what is asked for with the token; all is below ``/v1``."""
        one = '/v1/workloads/{id}'
        for method, path, handler in (
                ('POST', '/v1/workloads', self._submit),
                ('GET', '/v1/workloads', self._list),
                ('GET', one, self._info),
                ('GET', one + '/result', self._result),
                ('GET', one + '/files', self._files),
                ('GET', one + '/files/{name}', self._file),
                ('POST', one + '/cancel', self._cancel),
                ('GET', '/v1/drivers', self._drivers),
                ('GET', '/metrics', answering(
                    lambda: families(self._controller)))):
            router.add_route(method, path, handler)

    async def _submit(self, request):
        seed = request.query.get('seed')
        seed = None if seed is None else integer('seed', seed)
        body = await received(request.read(), BODY_TIMEOUT)
        try:
            document = self._controller.submit(body, seed)
        except WorkloadError as err:
            return _answer(400, {
                'error': 'the workload is refused', 'problems': [
                    {'line': each.line, 'reason': each.reason}
                    for each in err.problems]})
        except QueueFull as err:
            return _answer(503, {'error': str(err)})
        return _answer(201, headline(document))

    async def _list(self, request):
        wanted = request.query.get('state')
        found = (headline(self._controller.entry(each).begun())
                 for each in self._controller.ids)
        return _answer(200, {'workloads': [
            each for each in found if wanted in (None, each['state'])]})

    async def _info(self, request):
        return _send(200, await self._read(request, self._controller.live))

    async def _result(self, request):
        return _send(200, await self._read(request, self._controller.text))

    async def _read(self, request, read):
        try:
            return await read(self._id(request))
        except ArchiveError as err:
            log.error('%s', err)
            raise web.HTTPInternalServerError(reason=str(err)) from None

    async def _cancel(self, request):
        run_id = self._id(request)
        if not await self._controller.cancel(run_id):
            return _answer(409, {'error': '%s has ended already' % run_id})
        return _answer(202, {'id': run_id})

    async def _files(self, request):
        path = self._controller.archive.path(self._id(request))
        return _answer(200, {'files': [
            {'name': each, 'size': os.path.getsize(os.path.join(path, each))}
            for each in _names(path)]})

    async def _file(self, request):
        path = self._controller.archive.path(self._id(request))
        name = request.match_info['name']
        # From what is there, never a path made of what was asked for.
        if name not in _names(path):
            raise web.HTTPNotFound(reason='there is no such file')
        # To be saved: a report shown from here would have this origin.
        return web.FileResponse(os.path.join(path, name), headers={
            'Content-Disposition': 'attachment',
            'X-Content-Type-Options': 'nosniff'})

    async def _drivers(self, request):
        return _answer(200, {'drivers': [{
            'name': each.address.name, 'url': each.address.url,
            'clock_offset_s': each.offset and each.offset.seconds,
            'round_trip_s': each.offset and each.offset.round_trip}
            for each in self._controller.drivers]})

    def _id(self, request):
        run_id = request.match_info['id']
        if run_id not in self._controller.ids:
            raise web.HTTPNotFound(reason='there is no such workload')
        return run_id
