# SPDX-License-Identifier: Apache-2.0
"""What the tests of logs share."""

import errno
import os
import tempfile
import unittest
from contextlib import contextmanager
from unittest import mock

from swift.common.concurrency import patcher

from swift_lightsync.proar.core.oplog import Entry, Op, State
from swift_lightsync.proar.log.device_log import DeviceLog
from swift_lightsync.proar.log.segment import (
    Segment,
    logs_path,
    numbers,
    open_segment,
    segment_path,
)
from tests.unit.sync.fixtures import CapturingLogger

threading = patcher.original('threading')

HASH = bytes(range(16))
NOW = 1700000000.25
FULL = OSError(errno.ENOSPC, 'No space left on device')
BROKEN = OSError(errno.EIO, 'Input/output error')


def entry(number=1, op=Op.MODIFY, path_hash=HASH, state=State.INTENT,
          **kwargs):
    return Entry(op, 2, 0, 3, path_hash, number * 10 ** 5, 0,
                 int(NOW * 1e6) + number, state=state, **kwargs)


def entries_of(device_path, policy=None):
    """:returns: the entries of all segments that can be read, in order"""
    directory = logs_path(device_path)
    found = []
    for number in numbers(directory):
        segment = open_segment(segment_path(directory, number))
        if segment:
            with segment.file:
                found += [each for _, each in segment.entries() if each]
    return [each for each in found
            if policy is None or each.policy == policy]


def note_all(device_path, state, most=1 << 20):
    """Note in the log of a device, as its converger does."""
    directory = logs_path(device_path)
    for number in numbers(directory):
        segment = open_segment(segment_path(directory, number))
        with segment.file:
            for index in range(1, min(most, segment.last()) + 1):
                segment.note(index, state)


@contextmanager
def side_by_side(owner, name):
    """Have the flush of a log, and another one, end when both have begun.

    :param owner, name: of the function that makes the other flush
    """
    begun = {}

    def waiting(flush, number):
        begun[number] = threading.Event()

        def flush_with_the_other(*args, **kwargs):
            begun[number].set()
            assert begun[1 - number].wait(60), 'the other has not begun'
            return flush(*args, **kwargs)
        return flush_with_the_other

    with mock.patch.object(Segment, 'sync', waiting(Segment.sync, 0)), \
            mock.patch.object(owner, name, waiting(getattr(owner, name), 1)):
        yield
    assert all(event.is_set() for event in begun.values())


class LogTestCase(unittest.TestCase):
    """A device with a log."""

    def setUp(self):
        self.device = self.enterContext(tempfile.TemporaryDirectory())
        self.directory = logs_path(self.device)
        self.logger = CapturingLogger()
        self.log = self.other()

    def other(self):
        """Return a DeviceLog of the same device, as another process has"""
        log = DeviceLog(self.device, self.logger)
        self.addCleanup(log.close)
        return log

    def append(self, number=1, log=None, **kwargs):
        intent = (log or self.log).begin(entry(number, **kwargs))
        intent.sync()
        return intent

    def fill(self, count):
        intents = [self.log.begin(entry(number))
                   for number in range(1, count + 1)]
        for intent in intents:
            intent.begin_sync()
        for intent in intents:
            intent.sync()
        for intent in intents:
            intent.commit()
        self.settle()

    def settle(self):
        """Wait until all outcomes are noted."""
        self.append(10 ** 6).abandon()
        self.append(10 ** 6).abandon()

    def close(self):
        self.log.close()
        self.log = self.other()

    def entries(self):
        return [each for each in entries_of(self.device)
                if each.timestamp < 10 ** 11]

    def states(self):
        return [each.state.name for each in self.entries()]

    def overwrite(self, place, data, number=1):
        with open(segment_path(self.directory, number), 'r+b') as file:
            file.seek(place)
            file.write(data)

    def files(self):
        return sorted(os.listdir(self.directory))
