# SPDX-License-Identifier: Apache-2.0
"""Power cuts of a disk amid traffic: its file system is shut down without its
log being written (``xfs_io -x -c shutdown``), and mounted again.
"""

import os
import random
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager, suppress

from swift.common.exceptions import DiskFileError

from tests.crash.losf_traffic import many_changes
from tests.crash.losf_world import PATIENCE

IMAGE_SIZE = 320 * 2 ** 20


class Disk:
    """An XFS on an image.

    :param path: where it is mounted
    :param image: of the file
    :param size: of the image, bytes
    """

    def __init__(self, path, image, size=IMAGE_SIZE):
        self.path = path
        self.image = image
        with open(image, 'wb') as sparse:
            sparse.truncate(size)
        _run('mkfs.xfs', '-q', image)
        self.mount()

    def mount(self):
        _run('mount', '-o', 'loop,noatime,nouuid', self.image, self.path)

    def come_back(self):
        """Mount what has reached it."""
        forget(self.path, self.image)
        self.mount()

    @classmethod
    @contextmanager
    def at(cls, path, directory, size=IMAGE_SIZE):
        """Yield one, whose image is in a directory; unmount it after."""
        disk = cls(path, os.path.join(directory, 'image'), size)
        try:
            yield disk
        finally:
            _run('umount', '--lazy', path)


def shut_down(path):
    """Let nothing reach a mounted XFS any more."""
    _run('xfs_io', '-x', '-c', 'shutdown', path)


def forget(path, image):
    """Unmount what was shut down, and put a copy in the place of its image.

    Whoever has it open, or a mount namespace, keeps it: a copy does not meet
    it.
    """
    _run('umount', '--lazy', path)
    _run('cp', '--sparse=always', image, image + '.copy')
    os.rename(image + '.copy', image)


def _run(*argv):
    subprocess.run(argv, check=True, timeout=PATIENCE)


def power_cuts(world, args):
    """The power is cut at random moments amid concurrent changes."""
    chance = random.Random(args.seed)
    with Disk.at(world.layout.device_path, world.root) as disk:
        for number in range(args.rounds):
            world.start_server()
            cut_amid(world, disk, many_changes(
                args.seed + number, 10 ** 6), chance.uniform(0.05, 1.5))
            if number % 4 == 3:
                shutil.rmtree(world.layout.index)
            world.start_server()
            # As in stock Swift, hashes.invalid is not synced.
            world.check(hashes=False)
            world.stop_server(signal.SIGKILL)
    return args.rounds


def cut_amid(world, disk, work, seconds):
    """Have a child work for so long, then cut the power."""
    def until_cut(objects):
        with suppress(OSError, DiskFileError):
            work(objects)
    child = world.begin(until_cut)
    try:
        end = time.monotonic() + seconds
        for message in child.messages():
            world.note(*message)
            if time.monotonic() > end:
                break
        shut_down(disk.path)
    finally:
        child.kill()
    # What it was told by then was durable.
    world.follow(child)
    world.stop_server(signal.SIGKILL)
    disk.come_back()
