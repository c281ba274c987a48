# SPDX-License-Identifier: Apache-2.0
"""Real drivers, controllers and storages of the tests, on 127.0.0.1."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter

from cosbench.driver.secret import SECRET, TOKEN
from cosbench.driver.signature import request_fields
from tests.unit.cosbench.adaptors.servers import answer, listening, read_head
from tests.waiting import is_running, wait_for

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__),
                                    *['..'] * 3))
KEY = b'a secret of the tests'
BEARER = 'a token of the tests'
#: Seconds in which a process must do what it is waited for.
DEADLINE = 600


def environment():
    """:returns: that of a process of the tests"""
    return {**os.environ, SECRET: KEY.decode(), TOKEN: BEARER,
            'PYTHONPATH': os.pathsep.join(
                (ROOT, os.path.join(ROOT, 'tools')))}


def cosbench(*arguments, timeout=DEADLINE, **options):
    """Run a command to its end.

    :returns: a ``CompletedProcess`` with text
    """
    return subprocess.run(
        [sys.executable, '-m', 'cosbench', *map(str, arguments)],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, timeout=timeout, **options)


class Listener:
    """A process that listens.

    :param case: the test, which ends it
    :param arguments: of ``cosbench``
    :param level: of its log
    :param log: of ``Popen``: where its log goes
    """

    def __init__(self, case, *arguments, level='error', log=None):
        self.arguments = arguments
        self._level, self._log = level, log
        self.process = None
        case.addCleanup(self.end)
        self.start()

    def start(self, port=0):
        self.process = subprocess.Popen(
            [sys.executable, '-m', 'cosbench', *self.arguments,
             '--port', str(port), '--log-level', self._level],
            env=environment(), stdout=subprocess.PIPE, stderr=self._log)
        self.port = self.said()['port']
        self.url = 'http://127.0.0.1:%d' % self.port

    def said(self):
        """:returns: the next of the lines that name its processes"""
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError('%s did not start' % self.arguments[0])
        return json.loads(line)

    @property
    def children(self):
        return children_of(self.process.pid)

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait(DEADLINE)

    def end(self):
        if self.process is not None and self.process.poll() is None:
            # Also one that a test has stopped.
            self.process.send_signal(signal.SIGCONT)
            self.kill()
        if self.process is not None:
            self.process.stdout.close()


def children_of(pid):
    with open('/proc/%d/task/%d/children' % (pid, pid),
              encoding='ascii') as stream:
        return [int(each) for each in stream.read().split()
                if is_running(int(each))]


def ask(url, method, target, body=b'', fields=None):
    """:param fields: of the header
    :returns: (status, parsed answer)
    """
    request = urllib.request.Request(url + target, body or None,
                                     fields or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as err:
        with err:
            return err.code, json.loads(err.read())


def signed(method, target, body=b'', key=KEY, now=None, nonce=None):
    """:returns: the fields of a request to a driver"""
    return request_fields(key, method, target, body, now or time.time(),
                          nonce or os.urandom(16).hex())


def ask_driver(url, method, target, found=None, **signing):
    """Ask a driver as its controller does.

    :param found: what is sent as JSON
    :param signing: see ``signed``
    :returns: (status, parsed answer)
    """
    body = b'' if found is None else json.dumps(found).encode()
    return ask(url, method, target, body,
               signed(method, target, body, **signing))


class Client:
    """Of a controller.

    :param listener: the controller's ``Listener``
    """

    def __init__(self, listener):
        self.listener = listener

    def ask(self, method, target, body=b'', token=BEARER):
        return ask(self.listener.url, method, target, body,
                   {'Authorization': 'Bearer ' + token})

    def submit(self, document, seed=1):
        status, found = self.ask('POST', '/v1/workloads?seed=%d' % seed,
                                 document.encode())
        assert status == 201, found
        return found['id']

    def info(self, run_id):
        status, found = self.ask('GET', '/v1/workloads/' + run_id)
        assert status == 200, found
        return found

    def wait(self, run_id, condition, what):
        """:param condition: a function of what ``info`` returns
        :returns: what ``info`` returned
        """
        def look():
            found = self.info(run_id)
            return found if condition(found) else None
        return wait_for(look, what, DEADLINE, pause=0.1)

    def wait_until(self, run_id, *states):
        return self.wait(run_id, lambda found: found['state'] in states,
                         '%s is %s' % (run_id, states))

    def operations(self, run_id):
        """:returns: how many operations are reported"""
        return sum(operation['metrics']['op_count']
                   for stage in self.info(run_id)['stages']
                   for work in stage['works']
                   for operation in work['operations'])


class ObjectServer:
    """An HTTP server that keeps count of what it is asked, by itself: the
    tally that reports are held against. Runs in a thread.

    :param case: the test, which ends it
    :param delay: seconds before each answer
    """

    def __init__(self, case, delay=0.0, size=1000):
        self.requests = Counter()
        self.received = Counter()
        self.sent = Counter()
        #: Seconds from a request to its answer, of each method.
        self.seconds = {}
        self.delay = delay
        #: method -> status of its answers.
        self.statuses = {}
        #: No answer before this, monotonic.
        self.stalled_until = 0.0
        #: No answer about a container before this returns true of its name.
        self.may_answer = lambda container: True
        #: Open connections; without any there is no load.
        self.connections = 0
        self._data = b'x' * size
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(DEADLINE)
        case.addCleanup(self._stop)

    @property
    def url(self):
        return 'http://127.0.0.1:%d/v1/AUTH_test' % self.port

    def _run(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())

    async def _serve(self):
        self._end = asyncio.Event()
        async with listening(self._connection) as self.port:
            self._ready.set()
            await self._end.wait()

    def _stop(self):
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(DEADLINE)

    async def _connection(self, reader, writer):
        self.connections += 1
        try:
            while (head := await read_head(reader)) is not None:
                begun = time.monotonic()
                method, target, fields = head
                length = int(fields.get('content-length', 0))
                await reader.readexactly(length)
                await self._answer(writer, method, target, length)
                self.seconds.setdefault(method, []).append(
                    time.monotonic() - begun)
        finally:
            self.connections -= 1

    async def _answer(self, writer, method, target, length):
        wait = max(self.delay, self.stalled_until - time.monotonic())
        if wait > 0:
            await asyncio.sleep(wait)
        path = target.split('?')[0].split('/')[3:]
        while not self.may_answer(path[0]):
            await asyncio.sleep(0.01)
        kind = '%s %s' % (method, 'object' if len(path) > 1 else 'container')
        status = self.statuses.get(method, 200 if method == 'GET' else 201)
        data = self._data if method == 'GET' and status == 200 else b''
        self.requests[kind, '/'.join(path)] += 1
        if status < 300:
            self.received[kind] += length
            self.sent[kind] += len(data)
        writer.write(answer(status, data))
        await writer.drain()

    def wait_for_its_end(self):
        """Return when nobody is connected, and so nobody can ask."""
        wait_for(lambda: not self.connections, 'the load ends', DEADLINE)

    def count(self, kind):
        return sum(number for (each, _), number in self.requests.items()
                   if each == kind)
