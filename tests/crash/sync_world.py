# SPDX-License-Identifier: Apache-2.0
"""
A cluster whose replicators run, and what happens to it: writes by its servers
and by others, daemons that die at a step, disks that change behind them.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack, suppress

from swift.common.direct_client import (
    DirectClientException,
    direct_delete_object,
    direct_put_object,
)
from swift.common.utils import Timestamp

from tests.functional.clusters import object_servers
from tests.functional.objects import Acknowledged, ClusterObjects
from tests.waiting import is_running, wait_for
from tools.cluster import Policy

#: Enough partitions for object-servers to keep trees of the standing sets.
POLICY = Policy('gold', 0, 3, part_power=8)
OBJECTS = 400
NODES = (1, 2, 3)
#: Seconds within which all is looked at again.
TURNS = 3
DEADLINE = 600
#: Passes after the last look: those that the bound of PROTOCOL.md allows,
#: and the one that was under way.
PASSES = 3
SUPPRESSION = {'error_suppression_interval': 1}
OPTIONS = {
    'object-server': {
        'DEFAULT': SUPPRESSION, 'object-replicator': {
            'interval': 1, 'full_exchange_interval': TURNS,
            'http_timeout': 10, 'replicator_workers': 0}},
    'replication-server': {'DEFAULT': SUPPRESSION}}
#: The calls at which a daemon is killed: what reaches disks and peers.
CALLS = ('openat,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,'
         'write,pwrite64,ftruncate,fsync,fdatasync,sendto')
ENDED = 'The pass took '


class SyncWorld:
    """Three nodes of two devices, whose replicators make pass after pass.

    :param chance: a random.Random, from which all choices follow
    """

    def __init__(self, chance):
        self.chance = chance
        self._stack = ExitStack()
        self._replicators = {}
        self._fates = []

    def __enter__(self):
        self.cluster = self._stack.enter_context(object_servers(
            nodes=len(NODES), devices=2, policies=(POLICY,),
            options=OPTIONS))
        self._stack.callback(self._end)
        self.objects = ClusterObjects(self.cluster, POLICY.index)
        self.told = Acknowledged(self.objects)
        self.told.random = self.chance
        #: name -> what was begun after the newest that was acknowledged
        self.begun = {}
        self.names = ['o-%d' % number for number in range(OBJECTS)]
        self.told.put_everywhere(self.names)
        self.copies = {}
        for node in NODES:
            self.start_replicator(node)
        return self

    def __exit__(self, *exc_info):
        self._stack.close()

    def _end(self):
        self.release()
        for process in self._replicators.values():
            _kill(process)

    # Daemons

    def log(self, node):
        """Return the path of the log of a node's replicator."""
        return os.path.join(self.cluster.spec.root, 'passes-%d.log' % node)

    def start_replicator(self, node):
        """Start the replicator of a node, in a session of its own."""
        with open(self.log(node), 'a') as log:
            self._replicators[node] = subprocess.Popen(
                [self.cluster.layout.launcher('swift-object-lightsync'),
                 self.cluster.conf_path('object-server', node), '--verbose'],
                env=self.cluster.environment(), start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def passes(self, node):
        """Return how many passes a node has ended."""
        with open(self.log(node)) as log:
            return log.read().count(ENDED)

    def puts_off(self, node):
        """Return how many partitions a node's last pass left to a later."""
        with open(self.log(node)) as log:
            told = re.findall(r'(\d+) were put off', log.read())
        return int(told[-1]) if told else 1

    def await_passes(self, count, nodes=NODES):
        """Wait until nodes have ended so many passes more."""
        goals = {node: self.passes(node) + count for node in nodes}
        wait_for(lambda: all(self.passes(node) >= goal
                             for node, goal in goals.items()),
                 'passes of %s' % goals, DEADLINE, pause=0.1)

    def kill_at_step(self, daemon, node, step):
        """Have a daemon of a node killed at one of its next calls.

        :param daemon: 'object-lightsync', or the name of a server
        :param step: the number of the call
        """
        pids = self.cluster.pids(node, daemon)
        if pids:
            self._fates.append(subprocess.Popen(
                ['strace', '-f', '-qq', '-o', os.devnull, '-e',
                 'trace=' + CALLS, '-e', 'inject=%s:signal=KILL:when=%d' % (
                     CALLS, step),
                 *('-p%d' % pid for pid in pids)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL))

    def release(self):
        """Let those live that did not come to their steps."""
        for fate in self._fates:
            fate.send_signal(signal.SIGINT)
            fate.wait()
        self._fates.clear()

    def kill_node(self, node):
        """Kill all of a node."""
        self.cluster.kill(node)
        self._replicators[node].wait()

    def recover(self):
        """Have all daemons run again."""
        self.release()
        for node in NODES:
            names = ('object-server', 'replication-server', 'rsync')
            if not all(self.cluster.pids(node, name) for name in names):
                with suppress(Exception):
                    self.cluster.kill(node)
                self.cluster.start(node)
            if not is_running(self._replicators[node].pid):
                _kill(self._replicators[node])
                self.start_replicator(node)

    # Writes

    def serve(self, name, delete=False):
        """Have the object-servers of a quorum store a version, or delete."""
        partition, _ = self.objects.nodes(name)
        timestamp = Timestamp.now()
        body = None if delete else b'%s at %s' % (
            name.encode(), timestamp.internal.encode())
        self.begun.setdefault(name, []).append((timestamp.internal, body))
        headers = {'X-Timestamp': timestamp.internal}
        stored = 0
        for node in self.told.quorum(name):
            with suppress(DirectClientException, OSError):
                if delete:
                    _delete(node, partition, name, headers)
                else:
                    direct_put_object(node, partition, 'a', 'c', name, body,
                                      len(body), headers=headers)
                stored += 1
        if stored == 2:
            self.told.newest[name] = timestamp.internal, body
            self.begun[name] = []

    def write_behind(self, name, delete=False):
        """Write as a stock server does, which enters it in no journal."""
        put = self.told.delete if delete else self.told.put
        put(name, self.told.quorum(name), timestamp=Timestamp.now())
        self.begun[name] = []

    # Disks

    def keep(self, device):
        """Make a copy of a device, of which it can be restored."""
        path = self.cluster.device_paths()[device]
        target = os.path.join(self.cluster.spec.root, 'copy-' + device)
        shutil.rmtree(target, ignore_errors=True)
        # What is on the move is not in the copy.
        subprocess.run(['cp', '-a', path, target], check=False,
                       stderr=subprocess.DEVNULL)
        self.copies[device] = target

    def restore(self, device):
        """Give a device what its copy has; it is empty without one."""
        path = self.cluster.device_paths()[device]
        for _ in range(5):
            # Its daemons write on it meanwhile.
            for name in os.listdir(path):
                shutil.rmtree(os.path.join(path, name), ignore_errors=True)
                with suppress(OSError):
                    os.unlink(os.path.join(path, name))
        if device in self.copies:
            subprocess.run(['cp', '-a', self.copies[device] + '/.', path],
                           check=False, stderr=subprocess.DEVNULL)

    # What holds

    def wrong(self):
        """Return where a client does not see what was acknowledged, or what
        was begun after that; replicas that differ are wrong in any case.
        """
        found = []
        for name in self.names:
            seen = {node['device']: self.objects.seen(name, node['device'])
                    for node in self.objects.nodes(name)[1]}
            allowed = [self.told.newest[name], *self.begun.get(name, ())]
            if len(set(seen.values())) > 1 \
                    or not set(seen.values()) <= set(allowed):
                found.append((name, seen, allowed))
        return found

    def check(self):
        """Fail unless all is equal once the bound of PROTOCOL.md has passed.

        :raises AssertionError: with what is wrong, and the passes' logs
        """
        self.recover()
        while True:
            # Who was busy is asked again within 300 s, give or take a half.
            wait_for(lambda: not any(map(self.puts_off, NODES)),
                     'nobody is put off', DEADLINE, pause=0.1)
            begin = time.monotonic()
            while time.monotonic() - begin < TURNS:
                self.await_passes(1)
            self.await_passes(PASSES)
            if not any(map(self.puts_off, NODES)):
                break
        wrong = self.wrong()
        if wrong:
            raise AssertionError('%d objects are wrong: %s\n%s' % (
                len(wrong), wrong[:5], '\n'.join(
                    _tail(self.log(node)) for node in NODES)))
        for name in self.names:
            device = self.objects.nodes(name)[1][0]['device']
            self.told.newest[name] = self.objects.seen(name, device)
        self.begun.clear()


def _delete(node, partition, name, headers):
    try:
        direct_delete_object(node, partition, 'a', 'c', name,
                             headers=headers)
    except DirectClientException as err:
        # There was nothing to delete: the tombstone is stored.
        if err.http_status != 404:
            raise


def _kill(process):
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(path, most=4000):
    with open(path, 'rb') as log:
        return log.read()[-most:].decode(errors='replace')
