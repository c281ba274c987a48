# SPDX-License-Identifier: Apache-2.0
"""What Swift's tools say and do about a disk with volumes: as with files."""

import datetime
import os
import subprocess
import sys
import unittest
from contextlib import nullcontext
from unittest import mock

from swift.cli import drive_audit
from swift.common.middleware.recon import ReconMiddleware

from tests.unit.losf.kv_world import KVTest, World, bytes_of

SIZE = 400 * 2 ** 20
CONF = """
[drive-audit]
device_dir = {root}
recon_cache_path = {root}
log_file_pattern = {root}/kern.log
regex_pattern_1 = \\berror\\b.*\\b(loop\\d+)\\b
"""


@unittest.skipIf(os.geteuid(), 'only root can mount')
class TestDisk(KVTest):
    """d1 is a disk of its own, an image that is mounted."""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.image = self.path('image')
        with open(self.image, 'wb') as sparse:
            sparse.truncate(SIZE)
        subprocess.run(['mkfs.ext4', '-q', self.image], check=True)
        os.mkdir(self.path('d1'))
        self.mount()
        self.addCleanup(subprocess.run, ['umount', '-l', self.path('d1')])
        self.world.serve('d1')
        super().setUp()

    def path(self, name):
        return self.world.path(name)

    def mount(self):
        subprocess.run(['mount', '-o', 'loop', self.image, self.path('d1')],
                       check=True)

    def conf(self, **options):
        return super().conf(mount_check='true', **options)

    def write_file(self, name, text):
        with open(self.path(name), 'w') as file:
            file.write(text)
        return self.path(name)

    def loop_device(self):
        with open('/proc/mounts') as mounts:
            return next(os.path.basename(line.split()[0]) for line in mounts
                        if line.split()[1] == self.path('d1'))

    def test_drive_audit_takes_a_failing_disk_away(self):
        self.assert_status(201, 'PUT', body=b'data')
        server = self.world.servers.pop('d1')
        self.write_file('kern.log', '%s host kernel: error on %s\n' % (
            datetime.datetime.now().strftime('%b %d %H:%M:%S'),
            self.loop_device()))
        conf = self.write_file('drive-audit.conf',
                               CONF.format(root=self.world.root))
        with mock.patch.object(sys, 'argv', ['swift-drive-audit', conf]), \
                mock.patch.object(drive_audit, 'comment_fstab') as comment, \
                mock.patch('os.scandir', return_value=nullcontext([])):
            drive_audit.main()
        comment.assert_called_once_with(self.path('d1'))
        self.assertFalse(os.path.ismount(self.path('d1')))
        self.assert_status(507, 'GET')
        self.assert_status(507, 'PUT', body=b'data')
        # It syncs what it has, and ends by itself.
        self.assertEqual(0, server.wait(120))
        self.mount()
        self.world.serve('d1')
        self.assertEqual(b'data', self.assert_status(200, 'GET').body)

    def test_disk_usage_counts_what_is_in_volumes(self):
        recon = ReconMiddleware(None, {'devices': self.world.root})

        def used():
            usage, = [each for each in recon.get_diskusage()
                      if each['device'] == 'd1']
            return usage['used']
        before, size = used(), 4 * 2 ** 20
        for number in range(4):
            self.write(bytes_of(size, number), self.now(), 'o%d' % number)
        self.assertGreaterEqual(used() - before, 4 * size)
