# SPDX-License-Identifier: Apache-2.0
"""Disks of objects in volumes that are full, or that are to be unmounted."""

import os
import shutil
import signal
import subprocess
import unittest
from contextlib import contextmanager, suppress

from swift.common.utils import Timestamp

from swift_losf.volumes.ballast import is_given_up
from tests.functional.clusters import object_servers, wait_for
from tests.functional.served import ServedObjects
from tools import ToolError
from tools.cluster import Policy
from tools.cluster.spec import MIN_DISK_SIZE

DEVICE = 'n1d1'
MIB = 2 ** 20
IDLE = 1
OPTIONS = {'object-server': {
    'DEFAULT': {'losf_volume_idle_time': IDLE},
    'object-losf': {'sweep_interval': 0.2, 'restart_delay': 0.2,
                    'sync_interval': 1,
                    'max_restart_delay': 1}}}


class Filler:
    """Takes all that a filesystem has.

    :param path: of a directory on it
    """

    def __init__(self, path):
        self.path = path
        self._made = []

    def _new(self):
        name = os.path.join(self.path, 'filler-%d' % len(self._made))
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        self._made.append(name)
        return fd

    def fill(self):
        """Until no byte can be written, and no file made."""
        try:
            while True:
                fd = self._new()
                try:
                    self._write(fd)
                finally:
                    os.close(fd)
        except OSError:
            pass

    @staticmethod
    def _write(fd):
        length = MIB
        while length >= 512:
            try:
                os.write(fd, bytes(length))
            except OSError:
                length //= 2
        os.fsync(fd)

    def remove(self):
        while self._made:
            os.unlink(self._made.pop())


@unittest.skipIf(os.geteuid(), 'only root can mount images')
class DiskCase(unittest.TestCase):
    """A node with one small disk."""

    def setUp(self):
        self.cluster = self.enterContext(object_servers(
            nodes=1, replication_ports=False, disk_size=MIN_DISK_SIZE,
            policies=(Policy('small', 0, 1, part_power=2, kv=True),),
            options=OPTIONS))
        self.objects = ServedObjects(self.cluster, 0)
        self.names = ['o-%d' % number for number in range(60)]
        wait_for(lambda: self.status('HEAD', self.names[0]) == 404,
                 'it serves')
        for name in self.names:
            self.objects.put(name, 100000)

    def node(self, name):
        node, = self.objects.nodes(name)[1]
        return node

    def status(self, method, name, body=None):
        """:returns: what a request is answered with that need not succeed"""
        return self.objects.ask(
            self.node(name), method, name, body, Content_Type='text/plain',
            X_Timestamp=Timestamp.now().internal).status

    def serves(self):
        return self.status('HEAD', self.names[0]) == 200

    def assert_all_is_served(self):
        self.assertEqual([], self.objects.wrong())

    def all_is_served(self):
        """:returns: False also while an index server takes another's place"""
        with suppress(AssertionError):
            return not self.objects.wrong()
        return False


class TestFullDisk(DiskCase):

    def setUp(self):
        super().setUp()
        self.ballast, = self.objects.layout(DEVICE).ballasts
        self.filler = Filler(self.cluster.device_path(1, DEVICE))
        wait_for(lambda: os.path.exists(self.ballast), 'there is a ballast')

    @contextmanager
    def stopped_server(self):
        pid, = self.cluster.pids(1, 'index-server')
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def dead_bytes(self):
        return self.objects.index(DEVICE).statistics().dead_bytes

    def assert_only_deletes_are_accepted(self):
        self.assertTrue(is_given_up(self.ballast))
        self.assertEqual(507, self.status('PUT', 'new', b'x' * 1000))
        self.assertEqual(507, self.status('PUT', 'long', bytes(MIB)))
        self.assertEqual(507, self.status('POST', self.names[0]))
        self.assert_all_is_served()
        for name in self.names[:40]:
            self.objects.delete(name)
        self.assert_all_is_served()
        wait_for(lambda: not self.dead_bytes(), 'space is given back')

    def assert_all_is_accepted_again(self):
        pids = self.cluster.pids(1, 'index-server')
        self.filler.remove()
        wait_for(lambda: self.status('PUT', 'new', b'x' * 1000) == 201,
                 'objects are accepted')
        self.assertFalse(is_given_up(self.ballast))
        for name in self.names:
            self.objects.put(name, 1000)
        self.assert_all_is_served()
        self.assertEqual(pids, self.cluster.pids(1, 'index-server'))

    def test_it_fills_up_while_the_server_runs_and_space_comes_back(self):
        # Lest what is given up is taken, too.
        with self.stopped_server():
            self.filler.fill()
        wait_for(lambda: is_given_up(self.ballast) and self.serves(),
                 'the ballast is given up')
        self.assert_only_deletes_are_accepted()
        self.assert_all_is_accepted_again()

    def test_a_server_starts_on_a_full_disk(self):
        wait_for(self.serves, 'it serves')
        self.cluster.kill(1)
        # A server that was just starting has none.
        with suppress(FileNotFoundError):
            os.unlink(self.objects.layout(DEVICE).socket)
        self.filler.fill()
        self.cluster.start(1)
        wait_for(self.serves, 'it serves')
        self.assert_only_deletes_are_accepted()
        self.assert_all_is_accepted_again()

    def restart(self, prepare):
        """Restart all servers; the disk is changed between."""
        wait_for(self.serves, 'it serves')
        self.cluster.kill(1)
        with suppress(FileNotFoundError):
            os.unlink(self.objects.layout(DEVICE).socket)
        prepare()
        self.cluster.start(1)
        wait_for(self.serves, 'it serves')

    def test_when_something_else_took_the_last_space_all_is_read(self):
        def take_all():
            shutil.rmtree(self.ballast)
            self.filler.fill()
        self.restart(take_all)
        self.assert_all_is_served()
        self.assertEqual(507, self.status('PUT', 'long', bytes(MIB)))
        self.filler.remove()
        wait_for(lambda: self.status('PUT', 'new', b'x' * 1000) == 201,
                 'objects are accepted')
        wait_for(self.all_is_served, 'all is served')

    def remount(self, how):
        subprocess.run(['mount', '-o', 'remount,' + how,
                        self.cluster.device_path(1, DEVICE)], check=True)

    def test_all_of_a_read_only_disk_is_read_and_deletes_are_refused(self):
        self.restart(lambda: self.remount('ro'))
        self.assert_all_is_served()
        self.assertEqual(507, self.status('DELETE', self.names[0]))
        self.assertEqual(507, self.status('PUT', 'new', b'x' * 1000))
        self.assert_all_is_served()
        self.remount('rw')
        wait_for(lambda: self.status('PUT', 'new', b'x' * 1000) == 201,
                 'objects are accepted')
        wait_for(self.all_is_served, 'all is served')

    def test_writes_until_it_is_full_lose_nothing(self):
        """Others write faster than anybody looks."""
        refused = 0
        for number in range(200):
            if number == 50:
                with self.stopped_server():
                    self.filler.fill()
            name = 'w-%d' % number
            before = self.objects.newest.copy()
            try:
                self.objects.put(name, 3000)
            except AssertionError:
                # It may have been stored all the same.
                refused += 1
                self.objects.newest = before
        self.assertGreater(refused, 0)
        wait_for(self.serves, 'it serves')
        self.assert_all_is_served()
        self.assert_all_is_accepted_again()


class TestUnmounting(DiskCase):

    def unmounts(self):
        try:
            self.cluster.disks.unmount(1, DEVICE)
        except ToolError:
            return False
        return True

    def test_a_disk_that_nothing_is_asked_of_can_be_unmounted(self):
        servers = self.cluster.pids(1, 'object-server')
        self.cluster.swift_init('object-losf', 'stop')
        wait_for(self.unmounts, 'nobody has it open', 60 * IDLE)
        self.assertEqual(507, self.status('GET', self.names[0]))
        self.cluster.mount(1, DEVICE)
        self.cluster.swift_init('object-losf', 'start')
        wait_for(self.serves, 'it serves')
        self.assert_all_is_served()
        self.assertEqual(servers, self.cluster.pids(1, 'object-server'))
