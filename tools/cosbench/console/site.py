# SPDX-License-Identifier: Apache-2.0
"""The web console: CONSOLE.md. It is served beside the REST interface."""

import asyncio
import logging
from dataclasses import dataclass

from aiohttp import web

from cosbench.console import pages
from cosbench.console.assets import asset
from cosbench.console.experiment_pages import ExperimentPages
from cosbench.console.frame import page as _page
from cosbench.console.frame import see_other
from cosbench.console.gate import Gate, Locked, check_origin, let_in, let_out
from cosbench.console.submission import Submission
from cosbench.controller.api import Api
from cosbench.controller.live import headline
from cosbench.controller.runfile import Unwritten
from cosbench.controller.workload_queue import QueueFull
from cosbench.driver.signed_server import Failure
from cosbench.errors import ArchiveError, ConfigError, WorkloadError
from cosbench.measure.result import Result
from cosbench.reports.compare import compare
from cosbench.reports.compare_views import sections as comparison
from cosbench.reports.run_page import sections as report
from cosbench.workload.config import integer
from swift_lightsync.common.records import RecordError

HEADERS = {
    'Content-Security-Policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self' data:; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    # Not no-referrer: forms would then have no origin.
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin'}
#: Runs that a form proposes to compare.
MOST_KNOWN = 500
log = logging.getLogger('cosbench.console')


@dataclass(frozen=True)
class Wanted:
    """What is asked for of the history."""

    name: str
    state: str
    #: From 1.
    page: int

    @classmethod
    def of(cls, query):
        """Read what a query asks for.

        :raises ConfigError:
        """
        return cls(query.get('name', ''), query.get('state', ''),
                   integer('page', query.get('page', '1'), 1, 10 ** 6))

    def has(self, headline):
        return self.name.lower() in headline['name'].lower() and \
            self.state in ('', headline['state'])


def application(controller, token, hosted, gate=None):
    """Return the application of the controller's port.

    :param controller: a ``Controller``
    :param token: bytes
    :param hosted: its ``Hosted`` experiments
    :returns: the REST interface, which reads for sessions too, and the
        console
    """
    console = Console(controller, gate or Gate(token), hosted)
    app = Api(controller, token, console.admits).application()
    console.add_routes(app.router)
    app.on_response_prepare.append(_protect)
    return app


async def _protect(request, response):
    for name, value in HEADERS.items():
        response.headers[name] = value


class Console:
    """The pages of the console, and what their forms do.

    :param controller: a ``Controller``
    :param gate: a ``Gate``
    :param hosted: a ``Hosted``
    """

    def __init__(self, controller, gate, hosted):
        self._controller = controller
        self._experiments = ExperimentPages(hosted, controller.drivers)
        self._gate = gate
        self._own = set()

    def add_routes(self, router):
        one = '/workloads/{id}'
        for method, path, handler in (
                ('GET', '/', self._workloads),
                ('GET', '/history', self._history),
                ('GET', '/submit', self._edit),
                ('POST', '/submit', self._submit),
                ('GET', '/compare', self._compare),
                *self._experiments.routes(),
                ('GET', one, self._workload),
                ('GET', one + '/report', self._report),
                ('POST', one + '/cancel', self._cancel),
                ('POST', '/logout', self._logout)):
            self._add(router, method, path, self._for_sessions(handler))
        self._add(router, 'GET', '/login', _for_people(self._login_form))
        self._add(router, 'POST', '/login', _for_people(self._login))
        self._add(router, 'GET', '/static/{name}', _for_people(asset))

    def _add(self, router, method, path, handler):
        self._own.add(router.add_route(method, path, handler))

    def admits(self, request):
        """Return whether a request needs no token.

        The console sees to its own; who has logged in may read all.
        """
        route = request.match_info.route
        return route in self._own or (
            request.method == 'GET' and route.resource is not None
            and self._gate.session(request) is not None)

    def _for_sessions(self, handler):
        async def answer(request):
            session = self._gate.session(request)
            if session is None:
                return see_other('/login')
            if request.method == 'GET':
                return await handler(request, session)
            fields = await self._gate.form(request, session)
            return await handler(request, session, fields)
        return _for_people(answer, self._gate.session)

    async def _login_form(self, request):
        return _page(pages.login())

    async def _login(self, request):
        try:
            key = await self._gate.login(request)
        except Locked as err:
            response = _page(pages.login(str(err)), 429)
            response.headers['Retry-After'] = '%d' % (err.seconds + 1)
            return response
        if key is None:
            return _page(pages.login('This is not the token.'), 403)
        response = see_other('/')
        let_in(request, response, key)
        return response

    async def _logout(self, request, session, fields):
        self._gate.logout(request)
        response = see_other('/login')
        let_out(request, response)
        return response

    async def _workloads(self, request, session):
        return _page(pages.workloads(session))

    async def _workload(self, request, session):
        return _page(pages.workload(session, self._headline(_id(request))))

    async def _history(self, request, session):
        wanted = Wanted.of(request.query)
        return _page(pages.history(session, [
            each for each in self._ended() if wanted.has(each)], wanted))

    def _ended(self):
        """Newest first."""
        for run_id in reversed(self._controller.ids):
            entry = self._controller.entry(run_id)
            if entry.state.final:
                yield headline(entry.begun())

    async def _edit(self, request, session):
        run_id = request.query.get('from')
        if run_id is None:
            return _page(pages.submit(session))
        document = await self._document(run_id)
        return _page(pages.submit(session, document['xml'],
                                  document['seed']))

    async def _submit(self, request, session, fields):
        sent = Submission.of(fields)
        if sent.only_validate:
            found, status = await asyncio.to_thread(sent.finding), 200
        else:
            try:
                document = self._controller.submit(sent.data, sent.number())
                log.info('%s is from %s', document['id'], request.remote)
                return see_other('/workloads/' + document['id'])
            except WorkloadError as err:
                found, status = sent.refusal(err), 400
            except QueueFull as err:
                raise web.HTTPServiceUnavailable(reason=str(err)) from None
            except Unwritten as err:
                log.error('%s', err)
                raise web.HTTPInsufficientStorage(
                    reason=str(err)) from None
        return _page(pages.submit(session, sent.text, sent.seed, [found]),
                     status)

    async def _cancel(self, request, session, fields):
        run_id = self._headline(_id(request))['id']
        if not await self._controller.cancel(run_id):
            raise web.HTTPConflict(reason='%s has ended already' % run_id)
        return see_other('/workloads/' + run_id)

    async def _report(self, request, session):
        found = await self._result(_id(request))
        parts = await asyncio.to_thread(report, found)
        return _page(pages.report(session, self._headline(found.id),
                                  ''.join(parts)))

    async def _compare(self, request, session):
        ids = [each for each in request.query.getall('id', []) if each][:3]
        known = list(self._ended())[:MOST_KNOWN]
        if len(ids) < 2:
            return _page(pages.compare(session, ids, known))
        try:
            if len(ids) > 2:
                raise web.HTTPBadRequest(reason='choose two runs, no more')
            runs = [await self._result(each) for each in ids]
        except web.HTTPException as err:
            return _page(pages.compare(session, ids, known,
                                       problem=err.reason), err.status)
        found = await asyncio.to_thread(
            lambda: ''.join(comparison(compare(runs[:1], runs[1:]))))
        return _page(pages.compare(session, ids, known, found))

    def _headline(self, run_id):
        try:
            entry = self._controller.entry(run_id)
        except KeyError:
            raise web.HTTPNotFound(
                reason='there is no such workload') from None
        return headline(entry.begun())

    async def _document(self, run_id):
        self._headline(run_id)
        try:
            if self._controller.entry(run_id).run is not None:
                return self._controller.document(run_id)
            return await asyncio.to_thread(
                self._controller.document, run_id)
        except ArchiveError as err:
            log.error('%s', err)
            raise web.HTTPInternalServerError(
                reason='%s cannot be read' % run_id) from None

    async def _result(self, run_id):
        try:
            return Result.from_json(await self._document(run_id), 'result')
        except RecordError as err:
            log.error('%s: %s', run_id, err)
            raise web.HTTPInternalServerError(
                reason='%s cannot be read' % run_id) from None


def _id(request):
    return request.match_info['id']


def _for_people(handler, session_of=lambda request: None):
    """What goes wrong becomes a page; what changes is from here."""
    async def answer(request):
        try:
            if request.method != 'GET':
                check_origin(request)
            return await handler(request)
        except ConfigError as err:
            status, reason = 400, str(err)
        except Failure as err:
            status, reason = err.status, str(err)
        except web.HTTPException as err:
            status, reason = err.status, err.reason
        return _page(pages.error(status, reason, session_of(request)),
                     status)
    return answer
