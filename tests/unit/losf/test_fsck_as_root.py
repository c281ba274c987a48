# SPDX-License-Identifier: Apache-2.0
"""Commands that root runs leave nothing to root: the daemons are not root."""

import os
import subprocess
import sys
import unittest

from swift_losf.format.layout import Layout
from tests.unit.losf.fsck_world import HASHES, MendTest

#: nobody, as a stand-in for Swift's user
USER = 65534
COMMAND = 'import sys; from swift_losf.fsck.cli import main; sys.exit(main())'


@unittest.skipIf(os.geteuid(), 'only root can be another user')
class TestAsRoot(MendTest):

    def setUp(self):
        super().setUp()
        os.chmod(self.device, 0o755)
        for path in self.paths():
            os.lchown(path, USER, USER)

    def paths(self):
        return [self.device, *(os.path.join(place, name)
                               for place, places, names in
                               os.walk(self.device)
                               for name in places + names)]

    def run_as_root(self, command):
        return subprocess.run(
            [sys.executable, '-c', COMMAND, command, self.device,
             '--no-mount-check', '--swift-dir', self.device],
            capture_output=True, text=True, timeout=120)

    def test_all_that_is_made_belongs_to_the_user_of_the_volumes(self):
        with self.changed() as change:
            change.remove_file(self.key(HASHES[0]),
                               self.files[HASHES[0]])
        for path in self.paths():
            os.lchown(path, USER, USER)
        for command, status in (('check', 1), ('repair', 0), ('dump', 0),
                                ('rebuild', 0)):
            done = self.run_as_root(command)
            self.assertEqual(status, done.returncode, done.stderr)
            self.assertEqual([], [path for path in self.paths()
                                  if os.lstat(path).st_uid != USER])
        self.assertTrue(os.listdir(Layout(self.device, 0).index))
