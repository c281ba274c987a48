# SPDX-License-Identifier: Apache-2.0
"""A device that is unmounted, or changed, below its index server."""

import os
import signal
import subprocess
import unittest

from swift_losf.format.layout import Layout
from swift_losf.index.index_client import IndexClient
from swift_losf.index.index_lock import locked
from swift_losf.upkeep.sweeper import Sweeper
from tests.unit.losf.index_world import HASH, NAME, PARTITION, IndexTest


@unittest.skipIf(os.geteuid(), 'only root can mount')
class TestUnmounted(IndexTest):
    """A directory that is mounted at the path of the device, so that what is
    on it can still be seen when it is not.
    """

    def setUp(self):
        super().setUp()
        self.disk = self.mount()

    def mount(self):
        """:returns: the Layout of an empty disk, now mounted"""
        path = self.make_device()
        subprocess.run(['mount', '--bind', path, self.device], check=True)
        self.addCleanup(subprocess.run, ['umount', '--lazy', self.device],
                        stderr=subprocess.DEVNULL)
        os.makedirs(self.layout.volumes)
        return Layout(path, 0)

    def unmount(self):
        subprocess.run(['umount', '--lazy', self.device], check=True)

    def start(self):
        """:returns: the process of an index server that has a file"""
        process = self.serve()
        location = self.write()
        IndexClient(self.layout.socket).register(
            PARTITION, HASH, NAME, location, location.offset + 512)
        return process

    def assert_all_was_synced(self):
        index = self.recover(layout=self.disk)
        state = index.db.volumes[1]
        self.assertEqual(state.watermark, state.checkpoint)
        self.assertEqual([NAME], self.names(index))
        self.assertEqual(0, index.statistics().recovered)

    def test_a_server_that_is_told_to_end_syncs_and_ends_well(self):
        server = self.start()
        self.unmount()
        server.send_signal(signal.SIGTERM)
        self.assertEqual((0, False), (
            server.wait(120), 'Traceback' in server.stderr.read()))
        self.assert_all_was_synced()

    def test_a_server_ends_by_itself_and_leaves_the_next_disk_alone(self):
        server = self.start()
        self.unmount()
        self.mount()
        self.assertEqual(0, server.wait(120))
        self.assertIn('is not there any more', server.stderr.read())
        self.assertEqual(['volumes'], os.listdir(self.layout.root))
        self.assert_all_was_synced()

    def test_space_is_given_back_where_it_was(self):
        with locked(self.layout) as lock:
            index = self.open_index()
            location = self.put(index, number=1, data=b'x' * 2 ** 21)
            index.remove(PARTITION, HASH)
            self.assertTrue(any(self.bytes_at(location)))
            self.unmount()
            self.mount()
            sweeper = Sweeper(lock.pinned, index, 1, None)
            self.assertEqual(0, sweeper.sweep())
            with open(self.disk.volume(1), 'rb') as volume:
                volume.seek(location.offset)
                self.assertFalse(any(volume.read()))
            self.assertLessEqual(location.length,
                                 index.statistics().punched_bytes)
