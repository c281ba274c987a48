# SPDX-License-Identifier: Apache-2.0
"""What the tests of the manager share: directories, rings, waiting."""

import json
import os
import subprocess
import tempfile
import time
import unittest
from array import array
from contextlib import suppress
from unittest import mock

from swift.common import storage_policy, utils
from swift.common.concurrency import Timeout
from swift.common.ring import Ring, RingData
from swift.common.storage_policy import StoragePolicy, StoragePolicyCollection

from swift_losf.daemon import manager
from swift_losf.daemon.manager import IndexServerManager
from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout
from swift_losf.index.index_client import IndexClient
from tests.unit.losf.kv_world import DEADLINE, wait_for
from tests.unit.sync.fixtures import CapturingLogger, node

KV = 'egg:swift-lightsync#replication.kv'


def mount(path):
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', path],
                   check=True)


def unmount(path):
    subprocess.run(['umount', '--lazy', path], check=True)


class DirectoryTestCase(unittest.TestCase):

    def setUp(self):
        self.root = self.enterContext(tempfile.TemporaryDirectory(
            prefix='lm', ignore_cleanup_errors=True))
        self.enterContext(Timeout(4 * DEADLINE))
        self.logger = CapturingLogger()

    def make(self, *parts):
        path = os.path.join(self.root, *parts)
        os.makedirs(path)
        return path


class ManagerTestCase(DirectoryTestCase):

    def setUp(self):
        super().setUp()
        self.devices = self.make('d')
        self.conf = {
            'devices': self.devices, 'mount_check': 'false',
            'swift_dir': self.root, 'recon_cache_path': self.root,
            'bind_ip': '127.0.0.1', 'bind_port': '6200',
            'stop_timeout': '5', 'restart_delay': '0.1'}

    def save_ring(self, *nodes, part_power=1):
        ring = os.path.join(self.root, 'object-1.ring.gz')
        nodes = [dict(each, id=number) for number, each in enumerate(nodes)]
        RingData([array('H', [number] * 2 ** part_power)
                  for number in range(len(nodes))],
                 nodes, 32 - part_power).save(ring)

    def conf_file(self, *lines):
        """:param lines: of [object-losf]
        :returns: the path of object-server.conf
        """
        path = os.path.join(self.root, 'object-server.conf')
        with open(path, 'w', encoding='utf8') as conf:
            conf.write('\n'.join((
                '[DEFAULT]', *('%s = %s' % each for each in self.conf.items()),
                '[object-losf]', *lines)))
        return path

    def client(self, device):
        return IndexClient(Layout(os.path.join(self.devices, device),
                                  1).socket)

    def answers(self, device):
        with suppress(IndexUnavailable):
            return self.client(device).statistics()

    def wait_for_answer(self, device):
        wait_for(lambda: self.answers(device), '%s answers' % device)

    def recon(self):
        path = os.path.join(self.root, 'object.recon')
        with open(path, encoding='utf8') as text:
            return json.load(text)[manager.RECON_KEY]


class InProcessTestCase(ManagerTestCase):
    """Managers in this process, with a policy of each kind."""

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(utils, 'HASH_PATH_SUFFIX', b'x'))
        self.policies = StoragePolicyCollection([
            StoragePolicy(0, 'fs', is_default=True),
            StoragePolicy(1, 'kv', diskfile_module=KV)])

    def manager(self, *nodes, **conf):
        self.save_ring(*nodes)
        with mock.patch.object(storage_policy, '_POLICIES', self.policies):
            made = IndexServerManager({**self.conf, **conf}, self.logger)
        for policy in made.policies:
            policy.object_ring = Ring(self.root, ring_name='object-1',
                                      reload_time=0)
        self.addCleanup(made.stop)
        return made

    def serve(self, *devices, **conf):
        """:returns: the manager of index servers that answer"""
        for device in devices:
            self.make('d', device)
        made = self.manager(*[node(0, 6200, each) for each in devices], **conf)
        for device in devices:
            self.tend_until(made, lambda: self.answers(device),
                            '%s answers' % device)
        return made

    def tend_until(self, made, condition, what):
        def holds():
            made.tend(time.monotonic())
            return condition()
        return wait_for(holds, what)
