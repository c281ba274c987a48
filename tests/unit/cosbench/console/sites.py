# SPDX-License-Identifier: Apache-2.0
"""A console over a real controller and archive, and a browser for it."""

import asyncio
import re
import unittest

from aiohttp import CookieJar, FormData, TCPConnector
from aiohttp.test_utils import TestClient, TestServer

from cosbench.console import site
from cosbench.console.gate import Gate, Lockout, Sessions
from cosbench.controller.run_store import Archive
from cosbench.controller.workload_queue import Controller
from cosbench.experiment.hosted import Hosted
from tests.unit.cosbench import results
from tests.unit.cosbench.directory_case import new_directory
from tests.unit.cosbench.documents import reads

TOKEN = b'a token of the tests'
SHORT = reads('workers="1" totalOps="1"')
EVIL = '<script>alert("1")</script>'
#: Markup for the text of documents, also for within attributes.
HOSTILE = '"><script>alert(1)</script>\'<img src=x onerror=y>&lt;'
_CSRF = re.compile(r'name="csrf" value="([^"]+)"')


class Clock:

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class SiteCase(unittest.IsolatedAsyncioTestCase):
    """Nobody runs the queue: what is submitted waits."""

    #: Contexts of TLS: the server's, and what its certificate is checked in.
    tls, trust = None, True

    async def asyncSetUp(self):
        place = new_directory(self)
        self.directory = place + '/archive'
        self.archive = Archive(self.directory)
        self.addCleanup(self.archive.close)
        self.clock = Clock()
        self.controller = Controller(self.archive, [])
        self.hosted = Hosted(self.controller, place + '/experiments')
        self.addAsyncCleanup(self.hosted.close)
        server = TestServer(site.application(
            self.controller, TOKEN, self.hosted,
            Gate(TOKEN, Sessions(self.clock), Lockout(self.clock))))
        await server.start_server(ssl=self.tls)
        self.client = TestClient(
            server, cookie_jar=CookieJar(unsafe=True),
            connector=TCPConnector(ssl=self.trust))
        self.addAsyncCleanup(self.client.close)

    async def finished(self, *documents):
        """Runs that have ended, as an earlier controller left them."""
        for document in documents:
            run_id = self.archive.new(document['name'])
            self.archive.finish({**document, 'id': run_id, 'history': []})
        await self.controller.open()

    async def ask(self, method, path, **options):
        """:returns: (status, text, fields of the header)"""
        async with self.client.request(
                method, path, allow_redirects=False, **options) as answer:
            return answer.status, await answer.text(), answer.headers

    async def ask_literally(self, path):
        """GET a path as it is, with all rights: clients take .. out of it.

        :returns: (status, text)
        """
        reader, writer = await asyncio.open_connection(
            self.client.host, self.client.port)
        cookie = '; '.join('%s=%s' % (each.key, each.value)
                           for each in self.client.session.cookie_jar)
        writer.write((
            'GET %s HTTP/1.1\r\nHost: x\r\nCookie: %s\r\n'
            'Authorization: Bearer %s\r\nConnection: close\r\n\r\n' % (
                path, cookie, TOKEN.decode())).encode())
        answer = await reader.read()
        writer.close()
        return int(answer.split()[1]), answer.decode()

    def api(self, method, path, token=TOKEN.decode(), **options):
        """Ask as a program does."""
        return self.ask(method, path, headers={
            'Authorization': 'Bearer ' + token}, **options)

    async def login(self, token=TOKEN.decode()):
        return await self.ask('POST', '/login', data={'token': token})

    async def csrf(self):
        """:returns: the token in the forms of who has logged in"""
        _, text, _ = await self.ask('GET', '/submit')
        return _CSRF.search(text).group(1)

    async def submit(self, xml, csrf=None, do='submit', name=None, **more):
        """Send the form of a workload, in a file if that has a name."""
        form = FormData(quote_fields=False)
        for key, value in {'csrf': csrf or await self.csrf(), 'do': do,
                           'xml': '' if name else xml, **more}.items():
            form.add_field(key, value)
        form.add_field('file', xml if name else b'', filename=name or '',
                       content_type='application/octet-stream')
        return await self.ask('POST', '/submit', data=form)


def evil():
    """:returns: a result document with markup wherever there is text"""
    document = results.tiny()
    document.update(name=HOSTILE, description=HOSTILE, warnings=[HOSTILE],
                    history=[],
                    xml='<workload name="</textarea>%s"/>' % HOSTILE)
    for stage in document['stages']:
        stage.update(name=HOSTILE, id='s1-' + EVIL, reason=HOSTILE,
                     history=[[HOSTILE, results.BEGIN]])
        for each in stage['works']:
            each.update(name=HOSTILE, reason=HOSTILE, counted=None, rampup=0,
                        rampdown=0, rate=None, drivers=[{
                            'name': HOSTILE, 'workers': 1, 'first': 0,
                            'state': 'lost', 'reason': HOSTILE}])
            for one in each['operations']:
                one['name'] = HOSTILE
                one['config'] = HOSTILE
                if one['tally']['first_start_us'] is not None:
                    one['tally']['failures'] = {HOSTILE: 1}
    document['drivers'] = [{
        'name': HOSTILE, 'state': 'lost', 'reason': HOSTILE,
        'cpu_percent_p95': None, 'loop_lag_ms_p99': None,
        'clock_offset_s': None, 'operations_per_cpu_second': None}]
    return document
