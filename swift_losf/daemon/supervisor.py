# SPDX-License-Identifier: Apache-2.0
"""One index server as a child process: started, watched, asked, stopped.

A server that dies is started again after a delay that doubles each time, until
it has lived for longer than that. It gets SIGTERM when its parent dies, so
that the next manager finds the index free.
"""

import enum
import os
import re
import signal
import sys
from dataclasses import dataclass
from typing import Any

from swift.common.concurrency import spawn_n, subprocess

from swift_lightsync.common.backoff import Backoff
from swift_lightsync.common.parent import end_with_parent
from swift_losf.errors import IndexUnavailable
from swift_losf.volumes.ballast import is_given_up

_LINE = re.compile(r'\S+ \S+ (DEBUG|INFO|WARNING|ERROR|CRITICAL) (.*)')
_LONGEST_LINE = 8192


class State(enum.Enum):
    """What an index server is doing, for recon."""
    ABSENT = 'unmounted'
    RUNNING = 'running'
    STOPPING = 'stopping'
    DELAYED = 'waiting to be restarted'


@dataclass(frozen=True, order=True)
class ServerKey:
    """The device and policy that one index server is for."""
    device: str
    policy_index: int

    def __str__(self):
        return '%s.%d' % (self.device, self.policy_index)


class Supervised:
    """One index server as a child process.

    :param name: for the log and statsd
    :param argv: the command line of the server
    :param options: ManagerOptions
    :param logger: Swift's
    """

    def __init__(self, name, argv, options, logger):
        self.name = name
        self.restarts = 0
        self.state = State.ABSENT
        self.argv = argv
        self._options = options
        self._logger = logger
        self._process: Any = None
        self._presence = None
        self._backoff = Backoff(options.restart_delay,
                                options.max_restart_delay)
        #: when it was started, and when it is to be killed if it still runs
        self._since = self._kill_at = 0.0

    @property
    def pid(self):
        """The process id of the server; None if it does not run."""
        return self._process.pid if self._process else None

    def tend(self, presence, now):
        """Start, stop or restart the server if it is time to. Call this often.

        :param presence: of the device, as Devices.presence says
        :param now: seconds of a monotonic clock
        """
        if self._process and self._process.poll() is not None:
            self._ended(presence, now)
        if self._process and presence != self._presence:
            self.stop(now)
        if self.state is State.STOPPING and now >= self._kill_at:
            self._kill()
        if not self._process:
            if presence is None:
                self.state = State.ABSENT
            elif self._backoff.may_try(now):
                self._start(presence, now)
            else:
                self.state = State.DELAYED

    def stop(self, now):
        """Tell the server to end; tend() kills it if it does not."""
        if self._process and self.state is not State.STOPPING:
            self._logger.info('index server %s: stopping pid %d', self.name,
                              self.pid)
            self.state = State.STOPPING
            self._kill_at = now + self._options.stop_timeout
            self._process.terminate()

    def _start(self, presence, now):
        parent = os.getpid()
        self._presence = presence
        self._since = now
        try:
            self._process = subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                cwd='/', preexec_fn=lambda: end_with_parent(
                    parent, signal.SIGTERM))
        except OSError as err:
            self._logger.error('index server %s: cannot start: %s',
                               self.name, err)
            self._put_off(now)
            return
        self.state = State.RUNNING
        self._logger.info('index server %s: started pid %d', self.name,
                          self.pid)
        self._logger.increment('index_server.start.%s' % self.name)
        spawn_n(self._relay, self._process)

    def _ended(self, presence, now):
        # It may have noticed first that its device is not there any more.
        asked = (self.state is State.STOPPING
                 or presence != self._presence)
        log = self._logger.info if asked else self._logger.error
        log('index server %s: pid %d has ended with status %d', self.name,
            self.pid, self._process.returncode)
        self._process = None
        if asked:
            self._backoff.succeeded()
            self.state = State.ABSENT
        else:
            self._logger.increment('index_server.death.%s' % self.name)
            self.restarts += 1
            self._put_off(now)

    def _put_off(self, now):
        lived = now - self._since
        if lived > self._backoff.delay + self._options.restart_delay:
            self._backoff.succeeded()
        self._backoff.failed(now)
        self.state = State.DELAYED

    def _kill(self):
        self._logger.error(
            'index server %s: pid %d has not ended within %g s; killing it',
            self.name, self.pid, self._options.stop_timeout)
        self._kill_at = float('inf')
        self._process.kill()

    def _relay(self, process):
        """Log what the server says."""
        with process.stderr as text:
            while True:
                line = text.readline(_LONGEST_LINE)
                if not line:
                    return
                self._log(line.decode('utf8', 'backslashreplace').rstrip())

    def _log(self, line):
        match = _LINE.match(line)
        level, text = match.groups() if match else ('WARNING', line)
        getattr(self._logger, level.lower())('index server %s: %s',
                                             self.name, text)


def free_percent(layout):
    """Return what is free where volumes or index are, whichever has less."""
    return min(100 * found.f_bavail / found.f_blocks
               for found in map(os.statvfs, (layout.volumes, layout.index)))


class ManagedServer:
    """A server that is supervised, and the client that asks it.

    :param layout: its Layout
    :param supervised: a Supervised
    :param client: an IndexClient
    """

    def __init__(self, layout, supervised, client):
        self.supervised = supervised
        self._layout = layout
        self._client = client
        #: its process id, and the part power that it was told last
        self._told: Any = None

    @property
    def runs(self):
        """Whether it runs, and has not been told to stop."""
        return self.supervised.state is State.RUNNING

    def tell(self, part_power):
        """Have it go by the part power of the ring, if it does not yet.

        No server is started anew for that: those of all nodes would be, at
        about the same time.

        :param part_power: None: it is not known
        """
        told = self.supervised.pid, part_power
        if part_power is not None and self.runs and self._told != told:
            self._told = told
            spawn_n(self._call, part_power)

    def _call(self, part_power):
        try:
            self._client.set_part_power(part_power)
        except IndexUnavailable:
            # Again with the next look.
            self._told = None

    def observe(self, count):
        """Return what recon is told of it, a dict.

        :param count: called with its statistics, if it answers
        """
        supervised = self.supervised
        seen = {'state': supervised.state.value, 'pid': supervised.pid,
                'restarts': supervised.restarts}
        if self.runs:
            try:
                known = vars(self._client.statistics())
                count(known)
                seen.update(known, free_percent=free_percent(self._layout),
                            is_full=any(map(is_given_up,
                                            self._layout.ballasts)))
            except (IndexUnavailable, OSError) as err:
                seen['error'] = str(err)
        return seen


def command(layout, options, compact_options, max_volume_size, mount_check,
            part_power):
    """Return the command line of an index server.

    :param layout: of the device and policy
    :param options: ManagerOptions
    :param compact_options: CompactOptions
    :param max_volume_size: of LosfOptions
    :param mount_check: whether the device has to be mounted
    :param part_power: of the ring, if it is known
    """
    argv = [sys.executable, '-m', 'swift_losf.daemon.index_server',
            '--device-path', layout.device_path,
            '--policy', str(layout.policy_index),
            '--sweep-interval', repr(options.sweep_interval),
            '--sync-interval', repr(options.sync_interval),
            '--index-metadata', str(options.index_metadata),
            '--max-volume-size', str(max_volume_size)]
    for name, value in vars(compact_options).items():
        argv += ['--compact-' + name.replace('_', '-'), str(value)]
    if part_power is not None:
        argv += ['--part-power', str(part_power)]
    if mount_check:
        argv.append('--mount-check')
    if layout.index_path:
        argv += ['--index-path', layout.index_path]
    return argv
