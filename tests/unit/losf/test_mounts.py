# SPDX-License-Identifier: Apache-2.0
"""Which devices are there."""

import os
import subprocess
import unittest

from swift_losf import mounts
from swift_losf.mounts import Devices, parse_mounts
from tests.unit.losf.manager_world import DirectoryTestCase, mount, unmount


class TestDevices(DirectoryTestCase):

    def test_mounts_are_read_with_their_ids_and_the_top_one_counts(self):
        self.assertEqual(
            {'/': '23', '/srv/node/sda': '101', '/srv/a b\\c': '99'},
            parse_mounts(
                '23 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n'
                '98 23 8:0 / /srv/node/sda rw - xfs /dev/sda rw\n'
                '101 98 8:16 / /srv/node/sda rw - xfs /dev/sdb rw\n'
                '99 23 8:32 / /srv/a\\040b\\134c rw - xfs /dev/sdc rw\n'))

    def test_without_mount_check_a_directory_is_a_device(self):
        devices = Devices(self.root, mount_check=False)
        devices.refresh()
        self.assertIsNone(devices.presence('sda'))
        self.make('sda')
        self.assertIsNotNone(devices.presence('sda'))

    def test_with_mount_check_a_directory_is_none_but_with_the_stub(self):
        devices = Devices(self.root, mount_check=True)
        path = self.make('sda')
        devices.refresh()
        self.assertIsNone(devices.presence('sda'))
        with open(os.path.join(path, mounts.STUB), 'w'):
            pass
        self.assertIsNotNone(devices.presence('sda'))

    @unittest.skipIf(os.geteuid(), 'mounting takes root')
    def test_what_is_mounted_anew_is_something_else(self):
        link = os.path.join(self.root, 'link')
        os.symlink(self.make('real'), link)
        devices = Devices(link, mount_check=True)
        path = self.make('real', 'sda')
        seen = []
        held = []
        for _ in range(2):
            mount(path)
            self.addCleanup(subprocess.run, ['umount', '--lazy', path],
                            stderr=subprocess.DEVNULL)
            devices.refresh()
            seen.append(devices.presence('sda'))
            # A server that still runs there.
            held.append(os.open(path, os.O_RDONLY))
            self.addCleanup(os.close, held[-1])
            unmount(path)
            devices.refresh()
            self.assertIsNone(devices.presence('sda'))
        self.assertEqual(2, len(set(seen) - {None}))
