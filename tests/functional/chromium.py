# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by its own protocol (CDP) over a socket."""

import asyncio
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import aiohttp

NAMES = ('chromium', 'chromium-browser', 'google-chrome')
#: Seconds for the browser to do what it is asked for.
DEADLINE = 60


def executable():
    """:returns: the path of a Chromium; None if there is none"""
    return next(filter(None, map(shutil.which, NAMES)), None)


class PageError(AssertionError):
    """What a script of the page, or of the test, has thrown."""


class Chromium:
    """One page, from ``start`` to ``close``."""

    def __init__(self, width=1280, height=1000):
        self._size = width, height
        self._answers = {}
        self._number = 0
        self._reader = None
        #: What the page has logged as errors, such as refusals by its CSP.
        self.errors = []
        #: What the page has asked; the answer is yes.
        self.dialogs = []

    async def start(self):
        self._home = tempfile.mkdtemp()
        # No sandbox: tests run as root too, and see pages of theirs only.
        self._process = subprocess.Popen([
            executable(), '--headless=new', '--no-sandbox', '--disable-gpu',
            '--disable-dev-shm-usage', '--no-first-run', '--no-proxy-server',
            '--disable-background-networking', '--disable-component-update',
            '--remote-debugging-port=0', '--window-size=%d,%d' % self._size,
            '--user-data-dir=' + self._home, 'about:blank'],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, env={**os.environ, 'TMPDIR': self._home})
        self._session = aiohttp.ClientSession()
        try:
            await self._attach()
        except BaseException:
            await self.close()
            raise

    async def _attach(self):
        path = os.path.join(self._home, 'DevToolsActivePort')
        end = time.monotonic() + DEADLINE
        while not (os.path.exists(path) and os.path.getsize(path)):
            if time.monotonic() > end or self._process.poll() is not None:
                raise AssertionError('Chromium did not start')
            await asyncio.sleep(0.05)
        with open(path, encoding='ascii') as stream:
            port = int(stream.readline())
        async with self._session.get(
                'http://127.0.0.1:%d/json/list' % port) as answer:
            page = next(each for each in await answer.json()
                        if each['type'] == 'page')
        self._socket = await self._session.ws_connect(
            page['webSocketDebuggerUrl'], max_msg_size=64 << 20)
        self._reader = asyncio.ensure_future(self._read())
        for domain in ('Page', 'Runtime', 'Log'):
            await self.call(domain + '.enable')

    async def close(self):
        if self._reader is not None:
            self._reader.cancel()
            await self._socket.close()
        await self._session.close()
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(DEADLINE)
        # Some of its processes may still write there.
        shutil.rmtree(self._home, ignore_errors=True)

    async def _read(self):
        async for message in self._socket:
            found = json.loads(message.data)
            waiting = self._answers.pop(found.get('id'), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(found)
            entry = found.get('params', {})
            if found.get('method') == 'Log.entryAdded' and \
                    entry['entry']['level'] == 'error':
                self.errors.append(entry['entry']['text'])
            elif found.get('method') == 'Runtime.exceptionThrown':
                self.errors.append(json.dumps(entry['exceptionDetails']))
            elif found.get('method') == 'Page.javascriptDialogOpening':
                self.dialogs.append(entry['message'])
                asyncio.ensure_future(self.call(
                    'Page.handleJavaScriptDialog', accept=True))

    async def call(self, method, **params):
        """:returns: the answer's result"""
        self._number += 1
        answer = self._answers[self._number] = \
            asyncio.get_running_loop().create_future()
        await self._socket.send_json({
            'id': self._number, 'method': method, 'params': params})
        found = await asyncio.wait_for(answer, DEADLINE)
        if 'error' in found:
            raise PageError('%s: %s' % (method, found['error']))
        return found['result']

    async def run(self, script):
        """:param script: JavaScript, an expression; a promise is awaited
        :returns: its value
        """
        found = await self.call('Runtime.evaluate', expression=script,
                                awaitPromise=True, returnByValue=True)
        if 'exceptionDetails' in found:
            raise PageError('%s: %s' % (script, found['exceptionDetails']))
        return found['result'].get('value')

    async def wait(self, script, what=None):
        """:returns: the first value of a script that is true"""
        end = time.monotonic() + DEADLINE
        while True:
            try:
                found = await self.run(script)
            except PageError:
                found = None  # between two pages there is nothing to ask
            if found:
                return found
            if time.monotonic() > end:
                raise AssertionError('not in %d s: %s; the page: %.2000s' % (
                    DEADLINE, what or script,
                    await self.run('document.body.innerText')))
            await asyncio.sleep(0.1)

    async def open(self, url):
        await self.call('Page.navigate', url=url)
        await self.wait('location.href.startsWith(%s) && '
                        'document.readyState === "complete"'
                        % json.dumps(url))

    async def resize(self, width):
        """
        :param width: of the page in pixels, as a phone has it; None: as begun
        """
        if width is None:
            await self.call('Emulation.clearDeviceMetricsOverride')
        else:
            await self.call('Emulation.setDeviceMetricsOverride', width=width,
                            height=self._size[1], deviceScaleFactor=1,
                            mobile=width < 600)

    async def screenshot(self, path, whole=True):
        await self.wait('innerWidth && document.body.clientWidth',
                        'the page has a size')
        found = await self.call('Page.captureScreenshot',
                                captureBeyondViewport=whole)
        with open(path, 'wb') as stream:
            stream.write(base64.b64decode(found['data']))
