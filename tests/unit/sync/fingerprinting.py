# SPDX-License-Identifier: Apache-2.0
"""What the tests of fingerprint and of fingerprints have in common."""

import os

from swift_lightsync.sync.changed_file import Fingerprint
from swift_lightsync.sync.core import merkle
from swift_lightsync.sync.fingerprints import Fingerprints
from tests.unit.sync.fixtures import PARTITION, SwiftTestCase

SOUND = Fingerprint('0123456789abcdef' * 2, 3, (1, 2, 3), 1e9)


class FingerprintTestCase(SwiftTestCase):

    def setUp(self):
        super().setUp()
        self.manager = self.manager()
        self.path = self.part_path()
        self.tmp = os.path.join(self.devices_dir, 'sda', 'tmp')
        self.fingerprints = self.other_process()

    def other_process(self):
        """What is remembered in memory only is not known to it."""
        return Fingerprints(self.manager, self.policy, self.logger)

    def put_object(self, name='o', stamp=1):
        return self.put(self.manager, 'sda', name, stamp)

    def get(self):
        return self.fingerprints.get('sda', PARTITION)

    def fresh_root(self):
        """The root from suffix hashes that no cache had a part in."""
        for name in ('hashes.pkl', 'changed.pkl'):
            path = os.path.join(self.path, name)
            if os.path.exists(path):
                os.unlink(path)
        return merkle.root(self.manager._get_hashes(
            'sda', PARTITION, self.policy, do_listdir=True)[1])

    def file(self, name):
        return os.path.join(self.path, name)

    def write_changed(self, data):
        os.makedirs(self.path, exist_ok=True)
        with open(self.file('changed.pkl'), 'wb') as changed:
            changed.write(data)
