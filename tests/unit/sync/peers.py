# SPDX-License-Identifier: Apache-2.0
"""What the tests of the sync client share: it, and peers that do as told."""

import contextlib
import gc

from swift.common.concurrency import listen, sleep, spawn, tpool

from swift_lightsync.sync.core.conversation import Condition, DeviceState
from swift_lightsync.sync.keys import endpoint
from swift_lightsync.sync.sync_client import SyncClient
from swift_lightsync.sync.wire.sync_message import Verdict, encode_reply
from tests.unit.sync.fixtures import (
    DEADLINE,
    SwiftTestCase,
    node,
    open_sockets,
    pending_timers,
    wait_for,
)
from tests.unit.sync.verbs import EMPTY

SENDER = ('127.0.0.9', 6209)
STATES = [DeviceState(Condition.READY, 7)]


def reply(*differing):
    return encode_reply(Verdict.COMPARED, differing, STATES)


EQUAL = reply()


def answer(body=EQUAL, status=b'200 OK', length=None, headers=b''):
    return b'HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s' % (
        status, headers, len(body) if length is None else length, body)


def read_request(sock):
    """Read one request from a socket.

    :returns: its head and its body, or None at the end
    """
    data = b''
    while b'\r\n\r\n' not in data:
        more = sock.recv(65536)
        if not more:
            return None
        data += more
    head, body = data.split(b'\r\n\r\n', 1)
    length = int(head.lower().split(b'content-length: ')[1].split()[0])
    while len(body) < length:
        body += sock.recv(65536)
    return head, body


class ClientTestCase(SwiftTestCase):

    def setUp(self):
        super().setUp()
        self.stack = contextlib.ExitStack()
        self.client = SyncClient(DEADLINE, DEADLINE)
        tpool.execute(int)  # it has a pair of sockets, from its first use
        gc.collect()
        self.sockets, self.timers = open_sockets(), pending_timers()
        self.addCleanup(self.nothing_leaks)
        self.accepted = []
        self.tasks = []

    def nothing_leaks(self):
        self.client.close()
        self.stack.close()
        for task in self.tasks:
            task.kill()
        for sock in self.accepted:
            sock.close()
        sleep()
        gc.collect()
        wait_for(lambda: open_sockets() <= self.sockets, 'no socket left')
        wait_for(lambda: pending_timers() <= self.timers, 'no timer left')

    def scripted(self, script):
        """A peer that handles each connection by a function of its socket.

        :returns: its node
        """
        listener = listen(('127.0.0.1', 0))
        self.stack.callback(listener.close)

        def accept():
            while True:
                sock, _ = listener.accept()
                self.accepted.append(sock)
                self.tasks.append(spawn(handle, sock))

        def handle(sock):
            with contextlib.suppress(OSError):
                script(sock)

        self.tasks.append(spawn(accept))
        return node(1, listener.getsockname()[1])

    def answering(self, *answers):
        """A peer that gives these answers, and then closes."""
        def script(sock):
            for reply in answers:
                if read_request(sock) is None:
                    break
                sock.sendall(reply)
            sock.close()
        return self.scripted(script)

    def ask(self, peer, roots=None):
        """Ask about partitions of one device; return what differs."""
        told = self.client.ask_shared(SENDER, peer, {
            (0, peer['device'], partition): root
            for partition, root in (roots or {0: EMPTY}).items()})
        return {partition for _, _, partition in told.differing}

    def kept(self, peer):
        """Return the connections to a peer that are not in use."""
        return self.client.connections._idle[endpoint(peer)]

    def assert_not_kept(self):
        self.assertFalse(any(self.client.connections._idle.values()))
