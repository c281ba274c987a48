# SPDX-License-Identifier: Apache-2.0
"""What the crash tests share: a cluster, what is acknowledged, passes."""

import contextlib
import os
import random
import re
import signal
import stat
import subprocess
import time
import unittest
from hashlib import md5
from shutil import which

from swift.common.utils import Timestamp
from swift.obj.diskfile import get_data_dir

from tests import waiting
from tests.functional.clusters import R3, object_servers, play_round
from tests.functional.objects import ClusterObjects

#: Of versions: old enough, and not old enough to be reclaimed.
START = int(time.time()) - 100000
DEADLINE = 30
OBJECTS = 16
#: Long enough for a transfer to be met half way.
BODY = 40000
IS_FILE = re.compile(r'[0-9]{10}\.[0-9]{5}(_[0-9a-f]+)?\.(data|meta|ts)')
IS_TEMPORARY = re.compile(r'\..+\.[0-9A-Za-z]{6}')
#: Most passes until all is well again.
PASSES = 4

#: Stands before the real rsync on PATH: says that it starts, and dawdles.
SLOW_RSYNC = """#!/bin/sh
echo $$ >> %s
exec %s "$@" --bwlimit=%d
"""


def wait_for(condition, what):
    """Poll until a condition holds; :returns: what it returned."""
    return waiting.wait_for(condition, what, DEADLINE)


class CrashTestCase(unittest.TestCase):
    """Three nodes, a policy of three replicas, objects that change."""

    fields = {'sync_method': 'rsync'}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = cls.enterClassContext(object_servers(
            nodes=3, policies=(R3,), **cls.fields))
        cls.objects = ClusterObjects(cls.cluster, R3.index)
        cls.names = ['o%d' % number for number in range(OBJECTS)]
        #: name -> (name of the newest file, body or None for a deleted one)
        cls.newest = {}
        cls.version = 0
        cls.random = random.Random(11)

    # Writes

    def change_all(self):
        """Give each object a new version, on a quorum as a proxy does; that is
        acknowledged once this returns.
        """
        type(self).version += 1
        for number, name in enumerate(self.names):
            _, nodes = self.objects.nodes(name)
            self.change(name, self.random.sample(nodes, 2),
                        delete=(number + self.version) % 5 == 0)

    def change(self, name, nodes, delete=False):
        """Put or delete an object on devices."""
        timestamp = Timestamp(START + self.version)
        if delete:
            self.objects.delete(name, timestamp, nodes)
            self.newest[name] = timestamp.internal + '.ts', None
            return
        body = md5(b'%s %d' % (name.encode(), self.version)).digest()
        body *= BODY // len(body)
        self.objects.write(name, body, timestamp, nodes)
        self.newest[name] = timestamp.internal + '.data', body

    # Passes

    def start_pass(self, node, slow=None):
        """Start one pass of a node's replicator.

        :param slow: a :class:`SlowRsync` to use
        :returns: the Popen; a session of its own
        """
        environment = self.cluster.environment()
        # A pass that is killed leaves the list of what rsync is to push.
        environment['TMPDIR'] = self.cluster.layout.root
        if slow:
            environment['PATH'] = os.pathsep.join(
                (slow.directory, environment['PATH']))
        return subprocess.Popen(
            [self.cluster.layout.launcher('swift-object-lightsync'),
             self.cluster.conf_path('object-server', node), '--once'],
            env=environment, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end_session(self, process):
        """Wait until a pass and the rsyncs that it started have ended."""
        process.wait()

        def is_gone():
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return True
            return False

        wait_for(is_gone, 'the end of a pass')

    def restart(self, node):
        """Kill what is left of a node, and start it again."""
        if self.cluster.daemons.of_node(node):
            self.cluster.kill(node)
        self.cluster.start(node)

    # What is on the disks

    def device_path(self, node):
        device, = self.cluster.devices(node)
        return self.cluster.device_path(node, device)

    def temporary_files(self):
        """Return the paths of what rsync has not received whole (yet)."""
        return [os.path.join(top, name)
                for node in self.cluster.spec.node_numbers()
                for top, _, names in os.walk(os.path.join(
                    self.device_path(node),
                    get_data_dir(self.objects.policy)))
                for name in names if IS_TEMPORARY.fullmatch(name)]

    def assert_nothing_lost(self):
        """What was acknowledged is on two devices at least, and whole."""
        for name in self.names:
            self.assertGreaterEqual(
                len(self.holders(name)), 2, 'of %s' % name)

    def holders(self, name):
        """:returns: the devices that have an object's newest version"""
        partition, nodes = self.objects.nodes(name)
        file_name, body = self.newest[name]
        found = []
        for node in nodes:
            path = os.path.join(self.objects._diskfile(
                node, partition, name)._datadir, file_name)
            if os.path.exists(path):
                with open(path, 'rb') as replica:
                    if replica.read() == (body or b''):
                        found.append(node['device'])
        return found

    def assert_converges(self):
        """After some passes the newest version of each object is on all its
        devices, whole; they say so, and nothing else is left once what they
        have is hashed. (An older version that was received last, and whose
        sender could not say so, lies beside the newest until then: as in stock
        Swift.)
        """
        for _ in range(PASSES):
            play_round(self.cluster)
            if self.is_everywhere() and self.agree():
                break
        for name in self.names:
            self.assertEqual(3, len(self.holders(name)), name)
        self.assertTrue(self.agree())
        self.assert_hashes_are_true()
        self.assertEqual([], self.objects.unequal())
        for devices in self.objects.replicas().values():
            for held in devices.values():
                for path in held:
                    self.assertTrue(IS_FILE.fullmatch(
                        os.path.basename(path)), path)
                self.assertEqual(len(held), len(
                    {os.path.dirname(path) for path in held}))

    def is_everywhere(self):
        return all(len(self.holders(name)) == 3 for name in self.names)

    def agree(self):
        """Whether all devices say the same of each partition."""
        return all(len({repr(sorted(self.hashes(node, partition).items()))
                        for node in devices}) == 1
                   for partition, devices in self.partitions())

    def partitions(self):
        """Yield each partition and its devices."""
        for partition in self.objects.replicas():
            yield partition, self.objects.ring.get_part_nodes(int(partition))

    def hashes(self, node, partition, **options):
        """:returns: a device's suffix hashes, as its servers would say"""
        manager = self.objects._diskfile(node, partition, 'x').manager
        return manager._get_hashes(node['device'], partition,
                                   self.objects.policy, **options)[1]

    def assert_hashes_are_true(self):
        """What the devices say of a partition is what hashing it gives."""
        for partition, devices in self.partitions():
            for node in devices:
                said = self.hashes(node, partition)
                listed = self.hashes(node, partition, do_listdir=True)
                self.assertEqual(said, self.hashes(
                    node, partition, recalculate=list(listed)))


class SlowRsync:
    """An rsync that tells when it starts, and takes its time.

    :param directory: to be put first on PATH
    :param rate: KiB a second
    """

    def __init__(self, directory, rate=60):
        self.directory = directory
        self.marks = os.path.join(directory, 'started')
        path = os.path.join(directory, 'rsync')
        with open(path, 'w') as script:
            script.write(SLOW_RSYNC % (self.marks, which('rsync'), rate))
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def pids(self):
        """:returns: the pids of those that were started"""
        with contextlib.suppress(FileNotFoundError), open(
                self.marks) as marks:
            return [int(line) for line in marks]
        return []


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
