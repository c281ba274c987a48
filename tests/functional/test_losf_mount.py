# SPDX-License-Identifier: Apache-2.0
"""swift-losf-mount on a real mount: what programs see of volumes."""

import contextlib
import errno
import glob
import os
import signal
import subprocess
import sys
import unittest

from swift.obj import diskfile

from swift_losf.index.index import Index
from swift_losf.index.index_client import IndexClient
from tests.unit.losf.index_world import (
    HASH,
    NAME,
    OTHER,
    PARTITION,
    IndexTest,
    location_of,
)
from tests.waiting import wait_for

LONG = os.urandom(3_000_000)
FRAGMENT = '1700000000.00001#3#d.data'
#: PyPI's pyfuse3 has to be compiled, Debian's has not. It brings trio, which
#: hypothesis would import too, beside eventlet's sockets: only this sees it.
COMMAND = '''
import sys
sys.path.append("/usr/lib/python3/dist-packages")
import pyfuse3
sys.path.pop()
from swift_losf.commands import mount
sys.exit(mount())
'''
#: seconds that a mount or its end may take
PATIENCE = 120


@unittest.skipUnless(os.path.exists('/dev/fuse'), 'there is no /dev/fuse')
class MountCase(IndexTest):
    """A mounted device with an object of one file and with a fragment."""

    def setUp(self):
        super().setUp()
        index = Index(self.layout.index)
        self.put(index, data=b'some data')
        self.put(index, FRAGMENT, bytes(16), data=LONG)
        index.close()
        self.release(1)
        self.serve()
        self.mountpoint = self.make_device()
        self.process = subprocess.Popen(
            [sys.executable, '-c', COMMAND, self.device, self.mountpoint,
             '--no-mount-check'], stderr=subprocess.PIPE)
        self.addCleanup(self.process.stderr.close)
        self.addCleanup(self.end)

    def serve(self):
        """Leave the index to who mounts."""

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        finally:
            if os.path.ismount(self.mountpoint):
                subprocess.run(['umount', '--lazy', self.mountpoint])

    def mounted(self):
        """:returns: the path of the mount, once it is there"""
        wait_for(lambda: os.path.ismount(self.mountpoint)
                 or self.process.poll() is not None, 'a mount', PATIENCE)
        self.assertIsNone(self.process.poll())
        return self.mountpoint

    def path(self, hash_=HASH, name=NAME):
        text = hash_.hex()
        return os.path.join(self.mounted(), 'objects', str(PARTITION),
                            text[-3:], text, name)


class TestMount(MountCase):

    def test_programs_see_the_tree_of_swift(self):
        found = sorted(
            os.path.join(directory, name)
            for directory, _, names in os.walk(self.mounted())
            for name in names)
        self.assertEqual(sorted([
            self.path(), self.path(bytes(16), FRAGMENT)]), found)

    def test_data_size_time_and_metadata_are_there(self):
        for path, data, written in (
                (self.path(), b'some data', 1),
                (self.path(bytes(16), FRAGMENT), LONG, 2)):
            with open(path, 'rb') as file:
                self.assertEqual(data, file.read())
                self.assertEqual({'name': os.path.basename(path)},
                                 diskfile.read_metadata(file))
            found = os.stat(path)
            self.assertEqual((len(data), written), (
                found.st_size, found.st_mtime_ns))
            with open(path, 'rb') as file:
                file.seek(7)
                self.assertEqual(data[7:5007], file.read(5000))

    def test_the_room_is_that_of_the_device(self):
        self.assertEqual(os.statvfs(self.device).f_blocks,
                         os.statvfs(self.mounted()).f_blocks)

    def test_nothing_can_be_written(self):
        path = self.path()
        for change in (lambda: open(path, 'ab'), lambda: os.unlink(path),
                       lambda: os.mkdir(path + '.d'),
                       lambda: os.rename(path, path + '.ts'),
                       lambda: os.setxattr(path, 'user.x', b'')):
            with self.assertRaises(OSError) as caught:
                change()
            self.assertEqual(errno.EROFS, caught.exception.errno)

    def test_what_is_not_there_is_not_there(self):
        for name in ('other.data', '..x', NAME + '/below'):
            self.assertFalse(os.path.lexists(self.path(name=name)))
        for partition in (PARTITION + 1, 2 ** 32, 9999999999):
            self.assertFalse(os.path.lexists(os.path.join(
                self.mounted(), 'objects', str(partition))))
        self.assertTrue(os.path.lexists(self.path()))
        with self.assertRaises(OSError) as caught:
            os.getxattr(self.path(), 'user.other')
        self.assertEqual(errno.ENODATA, caught.exception.errno)

    def test_it_ends_well_when_it_is_unmounted_or_told_to_end(self):
        self.mounted()
        subprocess.run(['umount', self.mountpoint], check=True)
        self.assertEqual(0, self.process.wait(PATIENCE))

    def test_it_unmounts_when_it_is_told_to_end(self):
        self.mounted()
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(0, self.process.wait(PATIENCE))
        self.assertFalse(os.path.ismount(self.mountpoint))


class TestMountOfARunningServer(TestMount):

    def serve(self):
        self.server = IndexTest.serve(self)
        self.index = IndexClient(self.layout.socket)

    def test_what_is_stored_and_removed_meanwhile_is_seen(self):
        path = self.path(name=OTHER)
        self.assertFalse(os.path.lexists(path))
        location = self.write(OTHER, number=3)
        self.index.register(PARTITION, HASH, OTHER, location, location.offset)
        wait_for(lambda: os.path.exists(path), 'a new file', PATIENCE)
        self.index.remove(PARTITION, HASH)
        wait_for(lambda: not os.path.lexists(os.path.dirname(path)),
                 'a removed hash', PATIENCE)

    def test_a_server_that_is_gone_is_told_of_once(self):
        path = os.path.join(self.mounted(), 'objects', str(PARTITION))
        self.server.kill()
        self.server.wait()
        for _ in range(20):
            with self.assertRaises(OSError) as caught:
                os.listdir(path)
            self.assertEqual(errno.EIO, caught.exception.errno)
        self.end()
        said = self.process.stderr.read().decode()
        self.assertEqual(1, said.count(self.layout.socket), said)


class TestMountOfADamagedIndex(MountCase):

    def serve(self):
        index = Index(self.layout.index)
        for number in range(1, 4000):
            location = location_of(NAME, 4096 * number, 3)
            index.register(PARTITION, os.urandom(16), NAME, location,
                           location.offset)
        index.close()
        Index(self.layout.index).close()  # tables are made of the log
        path = max(glob.glob(os.path.join(self.layout.index, '*.ldb')),
                   key=os.path.getsize)
        with open(path, 'r+b') as table:
            table.seek(os.path.getsize(path) // 2)
            table.write(b'rotten')

    def test_what_cannot_be_listed_fails_and_the_mount_stays(self):
        objects = os.path.join(self.mounted(), 'objects')
        for _ in range(2):
            self.assertEqual([str(PARTITION)], os.listdir(objects))
            with self.assertRaises(OSError) as caught:
                os.listdir(os.path.join(objects, str(PARTITION)))
            self.assertEqual(errno.EIO, caught.exception.errno)
