# SPDX-License-Identifier: Apache-2.0
"""Clusters for the functional tests: real servers, real disks."""

import os
import shutil
import signal
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from tests import waiting
from tests.functional.objects import Acknowledged, ClusterObjects
from tools.cluster import Cluster, ClusterSpec, Policy, free_base_port

#: Requests are logged, and no partition's turn for a full exchange comes.
OPTIONS = {
    'object-server': {'object-replicator': {'full_exchange_interval': 1e9}},
    'replication-server': {'DEFAULT': {'log_level': 'DEBUG'}}}
R3 = Policy('gold', 0, 3, part_power=5)
R5 = Policy('platinum', 1, 5, part_power=5)


@contextmanager
def object_servers(**fields):
    """A cluster of object-servers that is destroyed at the end.

    :param fields: of the ClusterSpec
    """
    with TemporaryDirectory(prefix='ls-') as root:
        cluster = Cluster(ClusterSpec(**dict({
            'root': root, 'base_port': free_base_port(),
            'services': ('object',), 'policies': (R3, R5),
            'options': OPTIONS}, **fields)))
        try:
            cluster.up()
            yield cluster
        finally:
            cluster.destroy()


def play_round(cluster, nodes=None, args=()):
    """Run one pass on nodes, all at once, as the daemons of a cluster do.

    :returns: a dict of node -> its log
    """
    nodes = nodes or cluster.spec.node_numbers()
    with ThreadPoolExecutor(len(nodes)) as pool:
        passes = pool.map(
            lambda node: cluster.replicate_once(node, args=args)[0], nodes)
        return {node: done.stderr for node, done in zip(nodes, passes)}


def with_options(**options):
    """:param options: of the replicators, more than OPTIONS
    :returns: the options of a ClusterSpec
    """
    return dict(OPTIONS, **{'object-server': {'object-replicator': dict(
        OPTIONS['object-server']['object-replicator'], **options)}})


def wait_for(condition, what, deadline=300):
    """Poll until a condition holds; :returns: what it returned."""
    return waiting.wait_for(condition, what, deadline, pause=0.05)


class RunningPass:
    """A pass that is under way on a node; killed at the end of a with block.

    :param cluster: a Cluster that is up
    :param node: the node's number
    :param gate: a Gate for what it pushes
    """

    def __init__(self, cluster, node, gate=None):
        self._log = os.path.join(cluster.spec.root, 'pass-%d.log' % node)
        environment = cluster.environment()
        if gate:
            environment['PATH'] = os.pathsep.join(
                (gate.directory, environment['PATH']))
        with open(self._log, 'w') as log:
            self._process = subprocess.Popen(cluster.network.command(node, [
                cluster.layout.launcher(
                    'swift-' + cluster.replicator_daemon),
                cluster.conf_path('object-server', node), '--once',
                '--verbose']), env=environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()

    def has_ended(self):
        return self._process.poll() is not None

    def wait(self):
        """:returns: its log, once it has ended"""
        self._process.wait(600)
        return self.log()

    def log(self):
        with open(self._log) as log:
            return log.read()


GATED_RSYNC = """#!/bin/sh
# Waits at the gate, unless an argument names the one that may pass.
for argument; do
    case $argument in *//{passing}:*) exec {rsync} "$@"; esac
done
echo $PPID >> {directory}/waiting
while [ ! -e {directory}/open ]; do sleep 0.1; done
exec {rsync} "$@"
"""


class Gate:
    """Holds the rsyncs of passes up until it is opened.

    :param directory: for the gate; it is made
    :param passing: the IP of the node to which rsyncs are not held up
    """

    def __init__(self, directory, passing='nobody'):
        self.directory = directory
        os.makedirs(directory)
        script = os.path.join(directory, 'rsync')
        with open(script, 'w') as rsync:
            rsync.write(GATED_RSYNC.format(
                passing=passing, rsync=shutil.which('rsync'),
                directory=directory))
        os.chmod(script, 0o755)

    def waiting(self):
        """:returns: the pids of the replicators that wait at it"""
        path = os.path.join(self.directory, 'waiting')
        if not os.path.exists(path):
            return set()
        with open(path) as waiting:
            return {int(line) for line in waiting}

    def open(self):
        with open(os.path.join(self.directory, 'open'), 'w'):
            pass


class SyncCase(unittest.TestCase):
    """A cluster of object-servers, and what was acknowledged on it."""

    #: of the ClusterSpec
    fields = {}
    policy = R3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = cls.enterClassContext(object_servers(**cls.fields))

    def setUp(self):
        self.objects = ClusterObjects(self.cluster, self.policy.index)
        self.acknowledged = Acknowledged(self.objects)

    def converge(self, most, nodes=None, without=()):
        """Play rounds until all replicas are what was acknowledged.

        :param most: rounds that it may take
        :param nodes: those that take part; all, if None
        :param without: names of devices that do not count
        :returns: the rounds needed, and their logs in one
        """
        logs = ''
        for number in range(most + 1):
            wrong = self.acknowledged.wrong(without)
            if not wrong:
                return number, logs
            if number < most:
                logs += ''.join(play_round(self.cluster, nodes).values())
        self.fail('after %d rounds these are not as acknowledged: %s\n%s' % (
            most, wrong, logs))
