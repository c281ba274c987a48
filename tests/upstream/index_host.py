# SPDX-License-Identifier: Apache-2.0
"""Real index servers, one for each device and policy that a test touches.

Tests make devices by the hundred, each in a directory of its own. So a server
is not started anew: this program has imported everything, and forks into one.
It reads lines of JSON, [device path, index of the policy], and answers each
with one that is empty, or says what is wrong, when the server is there. The
servers of devices that are gone are killed, and all of them at the end.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time

from eventlet import patcher

from swift_lightsync.common.parent import end_with_parent
from swift_losf.daemon.index_server import IndexServer, Options
from swift_losf.format.layout import Layout
from tests.upstream import source

TIMEOUT = 300  # seconds that a server has to come up

_native_threading = patcher.original('threading')


def _report(server, pipe):
    """Write to the pipe once the server serves; end it if it never does."""
    deadline = time.monotonic() + TIMEOUT
    while server.service.index is None:
        if time.monotonic() > deadline:
            os._exit(1)
        time.sleep(0.001)
    os.write(pipe, b'\n')
    os.close(pipe)


def _serve(layout, pipe):
    """Be a server for all the life of this process."""
    end_with_parent()
    server = IndexServer(layout, Options())
    threading.Thread(target=_report, args=(server, pipe),
                     daemon=True).start()
    server.run()


class Host:
    """The servers, as the program keeps them."""

    def __init__(self):
        self._children = {}

    def serve(self, layout):
        """Start the server of a Layout; return what is wrong, or ''."""
        self.end(lambda root: root != layout.root and os.path.isdir(root))
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.close(reader)
                _serve(layout, writer)
            except BaseException:
                logging.exception('index server of %s', layout.root)
            finally:
                os._exit(1)
        os.close(writer)
        self._children[layout.root] = child
        with os.fdopen(reader, 'rb') as up:
            return '' if up.read() else 'the index server of %s ended' \
                % layout.root

    def end(self, unless=lambda root: False):
        """End the servers, unless a function of their directories is true."""
        for root in list(self._children):
            if not unless(root):
                child = self._children.pop(root)
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


class IndexHost:
    """The program, as the process of the tests sees it."""

    def __init__(self):
        self._process = None
        self._lock = _native_threading.Lock()

    def serve(self, layout):
        """Have a server for a device and policy, once there is a device.

        :param layout: a Layout
        :raises OSError: if it does not come up
        """
        if os.path.exists(layout.socket) or \
                not os.path.isdir(layout.device_path):
            return
        with self._lock:
            self._process = self._process or subprocess.Popen(
                [sys.executable, '-m', __name__], cwd=source.REPOSITORY,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            wrong = self._ask(json.dumps(
                [layout.device_path, layout.policy_index]).encode() + b'\n')
        if wrong != b'\n':
            raise OSError(wrong.decode())

    def _ask(self, line):
        # Past all that is green or mocked: the whole process waits.
        os.write(self._process.stdin.fileno(), line)
        answer = b''
        while not answer.endswith(b'\n'):
            more = os.read(self._process.stdout.fileno(), 4096)
            if not more:
                raise OSError('the host of the index servers ended')
            answer += more
        return answer


def main():
    """Serve until nobody asks any more."""
    host = Host()
    try:
        for line in sys.stdin:
            print(host.serve(Layout(*json.loads(line))), flush=True)
    finally:
        host.end()


if __name__ == '__main__':
    main()
