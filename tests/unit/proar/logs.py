# SPDX-License-Identifier: Apache-2.0
"""What the tests of logs share."""

import errno
import os
import tempfile
import unittest

from swift.common.utils import Timestamp

from swift_lightsync.proar.core.oplog import Op
from swift_lightsync.proar.log.oplog_file import Oplog
from tests.unit.sync.fixtures import CapturingLogger

HASH = bytes(range(16))
NOW = 1700000000.25
FULL = OSError(errno.ENOSPC, 'No space left on device')
BROKEN = OSError(errno.EIO, 'Input/output error')


class LogTestCase(unittest.TestCase):
    """A device with the log of one partition."""

    def setUp(self):
        device = self.enterContext(tempfile.TemporaryDirectory())
        self.directory = os.path.join(device, 'proar')
        self.path = os.path.join(self.directory, '3.log')
        self.logger = CapturingLogger()
        self.oplog = self.other()

    def other(self):
        """Return an Oplog of the same log, as another process has one"""
        return Oplog(self.path, os.path.join(self.directory, '3.cursors'),
                     self.logger)

    def append(self, oplog=None, op=Op.MODIFY, stamp=1):
        return (oplog or self.oplog).append(
            op, 2, HASH, Timestamp(stamp), NOW)

    def fill(self, count):
        for _ in range(count):
            self.append().committed()

    def states(self, after=0):
        return [(entry.eversion, entry.state.name)
                for entry in self.other().read(after).entries]

    def eversions(self, after=0):
        return [entry.eversion for entry in self.other().read(after).entries]

    def overwrite(self, place, data):
        with open(self.path, 'r+b') as file:
            file.seek(place)
            file.write(data)

    def files(self):
        return sorted(os.listdir(self.directory))
