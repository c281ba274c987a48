# SPDX-License-Identifier: Apache-2.0
"""The connections of one process to one index server.

Swift runs greenlets in its main thread and hands what may block to native
threads (eventlet's tpool). A call from the main thread waits in a green
socket, one from any other thread in an ordinary one, and the two kinds never
share a connection. A connection has one call at a time, and serves again only
when the whole reply was read: not after an error, nor when the greenlet was
killed. What a fork inherits is closed.

A call that is not answered in time is taken to mean that the next ones would
not be either: see Breaker. A server that is not there, or recovers, may be
about to serve: where a client is told to wait, calls from the main thread try
again until the server has been away for as long as a call may take. Later ones
fail at once.
"""

import math
import os
import socket
import time
from contextlib import contextmanager

from swift.common.concurrency import Semaphore, patcher, sleep
from swift.common.concurrency import socket as green_socket

from swift_lightsync.common.backoff import Backoff
from swift_losf.errors import IndexUnavailable
from swift_losf.index.grpc_unary import CallError, Status, UnaryConnection
from swift_losf.memory_directory import check_path, connect

#: of one kind, in one process
MAX_CONNECTIONS = 64
#: between attempts to connect while the server's backlog is full
_BACKLOG_INTERVAL = 0.01
#: between attempts at calls while the server is away
_AWAY_INTERVAL = 0.05
#: seconds without a call after which an absence is taken for a new one
_FORGOTTEN = 60
#: what connecting to a socket raises that no server listens to
_ABSENT = ConnectionRefusedError, FileNotFoundError

_threading = patcher.original('threading')
_native_socket = patcher.original('socket')
_native_sleep = patcher.original('time').sleep


def in_main_thread():
    """Return whether this is the thread that runs eventlet's hub.

    On Linux the main thread is the one that has the number of the process,
    also after a fork.
    """
    return _threading.get_native_id() == os.getpid()


def _is_away(err):
    """Return whether a call failed before anything was done.

    :param err: a CallError or OSError
    """
    return (isinstance(err, _ABSENT)
            or getattr(err, 'status', None) is Status.UNAVAILABLE)


def _is_passing(err):
    """Return whether the next calls may well be answered: this one came at a
    wrong moment, or the server has ended amid it and will be back.

    :param err: a CallError or OSError
    """
    return (getattr(err, 'status', None) in (Status.UNAVAILABLE,
                                             Status.ABORTED,
                                             Status.FAILED_PRECONDITION)
            or isinstance(err, (ConnectionResetError, BrokenPipeError)))


class Breaker:
    """Lets no call through while the server does not answer, but one probe.

    :param interval: seconds from a missed deadline to the next probe
    :param patience: seconds within which a probe has ended
    :param clock: a function that returns seconds
    """

    def __init__(self, interval, patience, clock=time.monotonic):
        self._backoff = Backoff(interval, interval)
        self._patience = patience
        self._clock = clock

    def admits(self):
        """Return whether a call may be made now.

        If calls are being refused, the one that is let through is the probe.
        """
        if not self._backoff.failures:
            return True
        now = self._clock()
        if not self._backoff.may_try(now):
            return False
        # Others wait until the probe has ended.
        self._backoff.until = now + self._patience
        return True

    def missed(self):
        """Note that a call was not answered in time."""
        self._backoff.failed(self._clock())

    def answered(self):
        """Note that the server, or the kernel in its place, has answered."""
        self._backoff.succeeded()


class Absence:
    """Tells for how long it is worth waiting for a server that is away.

    :param patience: seconds from when it was found to be away
    :param clock: a function that returns seconds
    """

    def __init__(self, patience, clock=time.monotonic):
        self._patience = patience
        self._clock = clock
        self._since = self._last = -math.inf

    @property
    def lasts(self):
        """Whether the last call has found it to be away."""
        return self._last > -math.inf

    def found(self, away):
        """Note whether a call has found it to be away.

        Where nobody has asked for long, it may have been back meanwhile.

        :returns: seconds for which calls wait on; 0: no more
        """
        if not away:
            self._last = -math.inf
            return 0
        now = self._clock()
        if now - self._last > _FORGOTTEN:
            self._since = now
        self._last = now
        return max(self._since + self._patience - now, 0)


class _Pool:
    """Connections of one kind.

    :param path: of the socket
    :param sockets: a module like socket
    :param slots: a semaphore of the same kind
    :param pause: a function like time.sleep
    """

    def __init__(self, path, sockets, slots, pause):
        self._path = path
        self._sockets = sockets
        self._slots = slots
        self._pause = pause
        self._idle = []

    def call(self, method, message, deadline):
        """Make a call.

        :param deadline: in the time of time.monotonic
        :raises OSError: of the socket; socket.timeout at the deadline
        :raises CallError: if the server says so, or gives no valid answer
        """
        with self._connection(deadline) as connection:
            return connection.call(method, message, deadline)

    @contextmanager
    def _connection(self, deadline):
        """Lend a connection that nobody else uses meanwhile.

        :param deadline: in the time of time.monotonic
        :returns: a context with a UnaryConnection that nobody else uses
        :raises OSError: if there is none; socket.timeout at the deadline
        """
        if not self._slots.acquire(
                timeout=max(deadline - time.monotonic(), 0)):
            raise TimeoutError('timed out')
        try:
            connection = self._reuse() or self._connect(deadline)
            try:
                yield connection
            finally:
                if connection.usable:
                    self._idle.append(connection)
                else:
                    connection.close()
        finally:
            self._slots.release()

    def close(self):
        while self._idle:
            self._idle.pop().close()

    def _reuse(self):
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread was faster
                return None
            if connection.is_alive():
                return connection
            connection.close()
        return None

    def _connect(self, deadline):
        sock = self._sockets.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            while True:
                try:
                    connect(sock, self._path)
                    return UnaryConnection(sock)
                except BlockingIOError:
                    left = deadline - time.monotonic()
                    if left <= 0:
                        raise TimeoutError('timed out')
                    self._pause(min(left, _BACKLOG_INTERVAL))
        except BaseException:
            sock.close()
            raise


class _Process:
    """The connections of one process, whose children have their own."""

    def __init__(self, path, breaker, absence):
        self.pid = os.getpid()
        self.breaker = breaker
        self.absence = absence
        self.green = _Pool(path, green_socket, Semaphore(MAX_CONNECTIONS),
                           sleep)
        self.native = _Pool(path, _native_socket,
                            _threading.Semaphore(MAX_CONNECTIONS),
                            _native_sleep)
        self._turn = Semaphore(1)

    def pause(self, seconds):
        """Wait until it is worth asking again whether the server is back.

        However many greenlets wait, they ask as often as one would: in turn.

        :param seconds: at most, and an interval
        """
        if self._turn.acquire(timeout=seconds):
            try:
                if self.absence.lasts:
                    sleep(_AWAY_INTERVAL)
            finally:
                self._turn.release()


class Channel:
    """Calls one index server.

    :param path: of its socket
    :param timeout: seconds within which a call is answered
    :param retry_interval: of the Breaker
    :param complain: a function of the IndexUnavailable, called each time
        when there is no answer
    :param waits: whether calls wait for a server that is away, for as long as
        for an answer
    :raises ValueError: if Linux does not take the path
    """

    def __init__(self, path, timeout, retry_interval, complain, waits):
        check_path(path)
        self._patience = timeout if waits else 0
        self._complain = complain
        self.path = path
        self._timeout = timeout
        self._retry_interval = retry_interval
        self._process = self._new_process()

    def _new_process(self):
        return _Process(
            self.path,
            Breaker(self._retry_interval,
                    self._timeout + self._retry_interval),
            Absence(self._patience))

    def _this_process(self):
        process = self._process
        if process.pid != os.getpid():
            process.green.close()
            process.native.close()
            process = self._process = self._new_process()
        return process

    def call(self, method, message):
        """Make a call, and wait for its reply.

        :param method: its path, such as b'/package.Service/Method'
        :param message: the bytes of the request
        :returns: the bytes of the reply
        :raises IndexUnavailable: if there is none
        """
        process = self._this_process()
        breaker = process.breaker
        if not breaker.admits():
            raise self._unavailable('has not answered in time lately')
        pool = process.green if in_main_thread() else process.native
        while True:
            try:
                reply = pool.call(method, message,
                                  time.monotonic() + self._timeout)
            except TimeoutError as err:
                breaker.missed()
                raise self._unavailable(
                    'has not answered within %g s' % self._timeout) from err
            except (OSError, CallError) as err:
                breaker.answered()
                left = process.absence.found(_is_away(err))
                # Of native threads Swift has so few that none may wait.
                if not left or pool is process.native:
                    raise self._unavailable(
                        getattr(err, 'strerror', '') or err,
                        503 if left or _is_passing(err) else 507) from err
            else:
                breaker.answered()
                process.absence.found(False)
                return reply
            process.pause(left)

    def _unavailable(self, reason, status=507):
        err = IndexUnavailable('index server at %s: %s' % (
            self.path, reason), status, self.path)
        self._complain(err)
        return err
