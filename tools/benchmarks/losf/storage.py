# SPDX-License-Identifier: Apache-2.0
"""
Writes the data set to a device, by the diskfile of its policy.

Several processes write at the same time. What they write is synced at the
end, not object by object: nobody measures them.
"""

import logging
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from swift.common import utils

from tools.benchmarks.losf.dataset import STEP
from tools.benchmarks.put import put

ACCOUNT, CONTAINER = 'AUTH_bench', 'bench'
#: A writer waits for its threads and for the index server, too.
WRITERS = 2 * (os.cpu_count() or 1)
CHUNK = 2000


@dataclass(frozen=True)
class Target:
    """
    Where objects are written to.

    :param swift_dir: the directory of swift.conf and the ring
    :param devices_dir: the directory of the device
    :param device: its name
    :param seed: of the objects' bytes
    :param epoch: timestamp of the first object
    """
    swift_dir: str
    devices_dir: str
    device: str
    seed: int
    epoch: float


_writer = None


class _Writer:
    def __init__(self, target):
        utils.set_swift_dir(target.swift_dir)
        # Their modules read swift.conf.
        from swift.common.ring import Ring
        from swift.common.storage_policy import POLICIES
        from swift.obj.diskfile import DiskFileRouter
        # The data set need not outlive a power cut.
        os.fsync = os.fdatasync = lambda fd: None
        self.target = target
        self.policy = POLICIES[0]
        self.ring = Ring(target.swift_dir, ring_name='object')
        self.manager = DiskFileRouter(
            {'devices': target.devices_dir, 'mount_check': 'false'},
            logging.getLogger(__name__))[self.policy]

    def write(self, number, obj):
        partition = self.ring.get_part(ACCOUNT, CONTAINER, obj.name)
        disk_file = self.manager.get_diskfile(
            self.target.device, partition, ACCOUNT, CONTAINER, obj.name,
            policy=self.policy)
        timestamp = utils.Timestamp(self.target.epoch + number * STEP)
        put(disk_file, obj.body(self.target.seed), timestamp)


def _start(target):
    global _writer
    _writer = _Writer(target)


def _write(chunk):
    for number, obj in chunk:
        _writer.write(number, obj)
    return len(chunk)


def write(target, objects, progress):
    """
    Write objects to a device, and flush them all.

    :param target: the Target
    :param objects: a sequence of Object
    :param progress: called with how many have been written, now and then
    """
    numbered = list(enumerate(objects))
    chunks = [numbered[begin:begin + CHUNK]
              for begin in range(0, len(numbered), CHUNK)]
    written = 0
    # A fork of a process with threads can inherit a lock for good.
    with ProcessPoolExecutor(WRITERS, mp_context=get_context('spawn'),
                             initializer=_start, initargs=(target,)) as pool:
        for count in pool.map(_write, chunks):
            written += count
            progress(written)
    os.sync()
