# SPDX-License-Identifier: Apache-2.0
"""The bench's side of the probes: starts them and runs their passes."""

import json
import socket
import subprocess
import sys
import time

from tools.benchmarks.errors import BenchError
from tools.benchmarks.sync import probe

START_TIMEOUT = 60
STOP_TIMEOUT = 30


class ProbeProcess:
    """
    The probe of one node.

    :param cluster: the Cluster
    :param node: its number
    """

    def __init__(self, cluster, node):
        self.node = node
        self.idle = True
        self.log = cluster.layout.log('probe.%d' % node)
        self.socket, theirs = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET)
        argv = cluster.network.command(node, [
            sys.executable, '-m', probe.__name__, cluster.spec.replicator,
            cluster.conf_path('object-server', node), cluster.layout.etc,
            str(theirs.fileno())])
        with theirs, open(self.log, 'ab') as log:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=cluster.environment(), pass_fds=[theirs.fileno()],
                start_new_session=True)

    def receive(self, deadline, what):
        """
        :param deadline: by time.monotonic
        :param what: for the error: what was awaited
        :returns: the packet that the probe sends next
        :raises BenchError: if none comes in time
        """
        self.socket.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            packet = self.socket.recv(probe.PACKET)
        except TimeoutError as err:
            raise BenchError('node %d: %s did not come in time; give it '
                             'longer (--timeout) or less to do (--objects)'
                             % (self.node, what)) from err
        if not packet:
            raise BenchError('node %d: the replicator ended before %s; see '
                             '%s and the other logs beside it (--keep keeps '
                             'them)' % (self.node, what, self.log))
        return packet

    def stop(self):
        """End the probe, by force if it is busy."""
        self.socket.close()
        try:
            self.process.wait(STOP_TIMEOUT if self.idle else 0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Probes:
    """
    The probes of a cluster.

    :param cluster: the Cluster
    """

    def __init__(self, cluster):
        self.cluster = cluster
        self._probes = {}

    def start(self, nodes):
        """Start the replicators of nodes, and wait until they are ready."""
        deadline = time.monotonic() + START_TIMEOUT
        new = [ProbeProcess(self.cluster, node) for node in nodes]
        self._probes.update({each.node: each for each in new})
        for each in new:
            each.receive(deadline, 'its start')

    def stop(self, nodes=None):
        """End the replicators of nodes, or all."""
        for node in list(self._probes) if nodes is None else nodes:
            self._probes.pop(node).stop()

    def run(self, timeout):
        """
        Run a pass on all nodes at the same time.

        :param timeout: seconds that it may take
        :returns: a list of Usage, one a node
        :raises BenchError: if it takes longer
        """
        deadline = time.monotonic() + timeout
        for each in self._probes.values():
            each.idle = False
            each.socket.send(probe.GO)
        usages = []
        for each in self._probes.values():
            packet = each.receive(deadline, 'the end of a pass (%g seconds)'
                                  % timeout)
            each.idle = True
            usages.append(probe.Usage(**json.loads(packet)))
        return usages
