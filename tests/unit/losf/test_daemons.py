# SPDX-License-Identifier: Apache-2.0
"""Daemons in trouble, all alike: real processes.

Beside an index server that is dead or silent each names it once a minute at
most, and goes on with other devices; and each refuses a Swift without the
patches.
"""

import os
import signal
import subprocess
import sys
import time
from unittest import mock

from swift.common import storage_policy, utils
from swift.common.storage_policy import StoragePolicyCollection
from swift.common.swob import Request
from swift.common.utils import Timestamp, get_logger
from swift.obj.server import ObjectController

from swift_losf.format.layout import Layout
from swift_losf.index.index_client import IndexClient
from tests.unit.losf.daemons import DAEMONS, DaemonTest
from tests.unit.losf.kv_world import listening, policy, wait_for

PARTITIONS = 16
MISSING_CHECK = (b':MISSING_CHECK: START\r\n%s %s\r\n:MISSING_CHECK: END\r\n'
                 % (b'a' * 32, Timestamp(1).internal.encode()))
REPLICATED, FRAGMENTS = 0, 1
DEAD, SILENT, SERVED = 'd0', 'd1', 'd2'
#: takes something of the patches away
UNPATCHED = """
from swift.common import exceptions
from swift.obj import auditor, diskfile
from swift.obj.watchers import dark_data
del {owner}.{hook}
"""
MANAGER = 'diskfile.BaseDiskFileManager'


class TestAway(DaemonTest):
    """No index server of d0 runs, that of d1 hangs, and d2 is served."""

    part_power = 4
    sync_method = 'ssync'

    def setUp(self):
        super().setUp()
        for device in (DEAD, SILENT, SERVED):
            for index in (REPLICATED, FRAGMENTS):
                for partition in range(PARTITIONS):
                    os.makedirs(self.partition(device, index, partition))
        for index in (REPLICATED, FRAGMENTS):
            self.hang(self.layout(SILENT, index).socket)
            self.serve(index)

    def layout(self, device, index):
        return Layout(self.device(device), index)

    def partition(self, device, index, partition):
        return os.path.join(self.layout(device, index).objects,
                            str(partition))

    def hang(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.enterContext(listening(path))

    def serve(self, index):
        server = subprocess.Popen(
            [sys.executable, '-m', 'swift_losf.daemon.index_server',
             '--device-path', self.device(SERVED), '--policy', str(index)],
            stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        wait_for(self.client(index).statistics, 'the index serves')

    def client(self, index):
        return IndexClient(self.layout(SERVED, index).socket,
                           retry_interval=0)

    def assert_told_once(self, began, indexes, processes):
        lines = self.logged()
        self.assertEqual([], [each for each in lines if 'Traceback' in each])
        for device in (DEAD, SILENT):
            for index in indexes:
                path = self.layout(device, index).socket
                told = [each for each in lines if path in each]
                self.assertTrue(told, path)
                self.assertLessEqual(len(told), processes * (
                    1 + (time.monotonic() - began) // 60), told)

    def assert_hashed(self, index):
        for partition in range(PARTITIONS):
            self.assertTrue(os.path.exists(os.path.join(self.partition(
                SERVED, index, partition), 'hashes.pkl')), partition)

    def check(self, daemon, *indexes, processes=1):
        began = time.monotonic()
        done = self.run_daemon(daemon)
        self.assertNotIn('Traceback', done.stderr)
        self.assert_told_once(began, indexes, processes)

    def test_the_replicator(self):
        self.check('replicator', REPLICATED)
        self.assert_hashed(REPLICATED)

    def test_lightsync(self):
        self.check('lightsync', REPLICATED)
        self.assert_hashed(REPLICATED)

    def test_the_reconstructor(self):
        self.check('reconstructor', FRAGMENTS)
        self.assert_hashed(FRAGMENTS)

    def test_the_auditor(self):
        # One process for each kind of pass.
        self.check('auditor once', REPLICATED, FRAGMENTS, processes=2)

    def test_the_relinker(self):
        self.builder.prepare_increase_partition_power()
        self.builder.increase_partition_power()
        self.save_rings()
        for index in (REPLICATED, FRAGMENTS):
            self.client(index).set_part_power(self.part_power + 1)
        self.check('relinker cleanup', REPLICATED)
        # What is empty, it removes.
        self.assertEqual([], [
            each for each in os.listdir(self.layout(SERVED, 0).objects)
            if each.isdigit()])

    def test_the_object_server(self):
        began = time.monotonic()
        conf = {'devices': os.path.join(self.root, 'devices'),
                'mount_check': 'false', 'losf_index_timeout': '1',
                'log_udp_host': '127.0.0.1',
                'log_udp_port': str(self.log.getsockname()[1])}
        with mock.patch.object(
                storage_policy, '_POLICIES',
                StoragePolicyCollection([policy()])), \
                mock.patch.object(utils, 'HASH_PATH_SUFFIX', b'suffix'):
            server = ObjectController(conf, get_logger(
                conf, log_route=self.id()))
            for device in (DEAD, SILENT):
                for verb in ('PUT', 'GET', 'POST', 'DELETE', 'SSYNC') * 5:
                    self.request(server, device, verb)
        self.assert_told_once(began, [REPLICATED], 1)

    def request(self, server, device, verb):
        request = Request.blank(
            '/%s/3' % device + '/a/c/o' * (verb != 'SSYNC'),
            environ={'REQUEST_METHOD': verb}, body=MISSING_CHECK, headers={
                'X-Timestamp': Timestamp.now().internal,
                'Content-Type': 'text/plain'})
        response = request.get_response(server)
        answer = response.body
        if verb == 'SSYNC':
            self.assertIn(b':ERROR:', answer)
        else:
            self.assertEqual(507, response.status_int, answer)


class TestRefusal(DaemonTest):

    watchers = 'swift#dark_data'

    def setUp(self):
        super().setUp()
        # Or else the relinker has nothing to do.
        self.builder.prepare_increase_partition_power()
        self.save_rings()

    def check(self, name, hook, owner=MANAGER):
        done = self.run_daemon(name, UNPATCHED.format(owner=owner, hook=hook))
        self.assertIn(done.returncode, (1, -signal.SIGUSR2), done.stderr)
        line = ('Swift lacks what objects in volumes need (%s): '
                'run swift-lightsync-patch apply' % hook)
        # Of an auditor that has begun, the log is all that is to be seen.
        # Workers of a relinker write at the same time, and end lines later.
        self.assertEqual('', done.stderr.replace(line, '').strip())
        errors = [each for each in self.logged() if 'Starting' not in each]
        self.assertTrue(errors)
        self.assertEqual([], [each for each in errors
                              if not each.endswith(line)])

    def test_each_daemon_says_what_to_do_and_ends(self):
        for name in set(DAEMONS) - {'relinker cleanup'}:
            with self.subTest(name):
                self.check(name, 'list_dir')

    def test_fragments_need_one_more_patch(self):
        self.check('reconstructor', 'rename_file')

    def test_watchers_need_one_more_patch(self):
        self.check('auditor', 'DeleteRequest', 'exceptions')
