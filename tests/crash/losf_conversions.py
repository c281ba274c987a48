# SPDX-License-Identifier: Apache-2.0
"""A device with many objects is converted, and back, amid all that may happen:
clients write, conversions and index servers are killed, the disk is full.

All that was there stays as it was, and what clients were told is stored too.
"""

import errno
import itertools
import logging
import os
import random
import signal
import threading
import time
from dataclasses import dataclass

from swift.obj import diskfile

from swift_losf.convert.converter import Converter
from swift_losf.convert.files import Files
from swift_losf.convert.group_sync import syncfs
from swift_losf.convert.sides import Volumes
from swift_losf.diskfile.kvfile import KVDiskFileManager
from swift_losf.diskfile.store import Store
from swift_losf.options import LosfOptions
from swift_losf.volumes.ballast import is_given_up
from tests import waiting
from tests.crash.losf_many import read_files, write_many
from tests.crash.losf_objects import MIB
from tests.crash.losf_power import Disk
from tests.crash.losf_traffic import many_changes
from tests.crash.losf_world import PATIENCE, Child

#: bytes of a disk for each object: there are two copies of it for a while
ROOM, SPARE = 24 * 1024, 512 * MIB
#: seconds that one conversion of all may take
LONG_PATIENCE = 3600
MANAGERS = {'files': diskfile.DiskFileManager, 'volumes': KVDiskFileManager}


@dataclass
class Done:
    """What conversions have done, and how long it took."""
    copied: int = 0
    bytes: int = 0
    removed: int = 0
    seconds: float = 0.0

    def __str__(self):
        return '%d copied and %d removed in %d s (%.0f/s, %.1f MB/s)' % (
            self.copied, self.removed, self.seconds,
            max(self.copied, self.removed) / self.seconds,
            self.bytes / self.seconds / 1e6)


class Conversion:
    """One way of a conversion.

    :param world: a World whose server runs
    :param source: 'files' or 'volumes'
    :param args: of the command line
    """

    def __init__(self, world, source, args):
        self.world = world
        self.written = {}
        self.source = source
        self.target, = set(MANAGERS) - {source}
        self.rounds = args.rounds
        self.seeds = itertools.count(args.seed * 1000)
        self.chance = random.Random(args.seed)
        self.done = {'copy': Done(), 'finish': Done()}

    def write(self, *args):
        """Write many files where they are converted from, as write_many."""
        child = Child(lambda send: send(write_many(
            self.side(self.source), *args)))
        written, = child.messages(LONG_PATIENCE)
        assert child.wait() == 0
        return written

    def run(self, written):
        """
        :param written: of write_many: what there is
        :returns: what it has done, as text
        """
        self.written = written
        self.world.manager = MANAGERS[self.source]
        self.fill_up()
        self.interrupt('copy')
        self.convert('copy')
        self.clients(self.begin('copy'), 'copy')
        self.convert('copy')
        self.require(self.source, self.written)
        self.require(self.target, self.written)
        self.world.manager = MANAGERS[self.target]
        self.world.check(hashes=False)
        self.interrupt('finish')
        self.convert('finish')
        self.require(self.source, {})
        self.require(self.target, self.written)
        self.world.check()
        return '%s to %s: %s' % (self.source, self.target, '; '.join(
            '%s: %s' % pair for pair in self.done.items()))

    def side(self, name):
        layout = self.world.layout
        return Files(layout) if name == 'files' else Volumes(
            Store(layout, LosfOptions(), logging.getLogger()))

    def begin(self, command, seconds=None):
        """:returns: a Child that converts, and is killed after a time"""
        def work(send):
            if seconds:
                threading.Timer(seconds, os.kill, (
                    os.getpid(), signal.SIGKILL)).start()
            begun = time.monotonic()
            converter = Converter(self.side(self.source),
                                  self.side(self.target))
            tally, full = converter.tally, False
            try:
                getattr(converter, command)()
            except OSError as err:
                full = err.errno == errno.ENOSPC
                if not full:
                    raise
            send((full, tally, time.monotonic() - begun))
        return Child(work)

    def end(self, child, command, is_full=False, may_die=False):
        """Note what a conversion has done, if it came to its end."""
        told = list(child.messages(LONG_PATIENCE))
        status = child.wait()
        if not told:
            assert may_die, status
            return
        (full, tally, seconds), = told
        assert full == is_full and not tally.failed, (full, tally.failed[:3])
        done = self.done[command]
        if tally.copied + tally.removed > done.copied + done.removed:
            # The one that did most tells how fast it is.
            self.done[command] = Done(tally.copied, tally.bytes,
                                      tally.removed, seconds)

    def convert(self, command):
        """Convert undisturbed."""
        self.end(self.begin(command), command)

    def clients(self, child, command, may_die=False, server=False):
        """Have clients write until a conversion ends.

        :param may_die: whether it may be killed
        :param server: whether the index server is killed too
        """
        while not os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG
                            | os.WNOWAIT):
            status = self.world.run(many_changes(next(self.seeds), 2))
            assert status == 0, status
            if server:
                self.world.restart_server()
                server = False
        self.end(child, command, may_die=may_die)

    def interrupt(self, command):
        """Kill conversions amid the writes of clients."""
        for number in range(self.rounds):
            self.clients(self.begin(command, self.chance.uniform(0.3, 3)),
                         command, may_die=True, server=number % 2)
            self.world.check(hashes=False)

    def fill_up(self):
        """Let the disk be full while there is something to be copied."""
        path = self.world.layout.device_path
        ballast, = self.world.layout.ballasts
        filler = os.path.join(path, 'filler')
        self.wait(lambda: os.path.exists(ballast), 'there is a ballast')
        with open(filler, 'wb') as file:
            # What XFS reserves for data that it has yet to place comes back.
            syncfs(file.fileno())
            stat = os.statvfs(path)
            os.posix_fallocate(file.fileno(), 0, max(
                1, stat.f_bavail * stat.f_frsize - 4 * MIB))
        self.wait(lambda: is_given_up(ballast), 'the disk is full')
        self.end(self.begin('copy'), 'copy', is_full=True)
        os.unlink(filler)
        self.wait(lambda: not is_given_up(ballast), 'there is room')
        self.world.check(hashes=False)

    @staticmethod
    def wait(condition, what):
        """Poll until a condition holds."""
        waiting.wait_for(condition, what, PATIENCE)

    def require(self, side, expected):
        """Check that a side has just what it should."""
        def compare(send):
            found = read_files(self.side(side))
            send([key for key in {*found, *expected}
                  if found.get(key) != expected.get(key)])
        child = Child(compare)
        wrong, = child.messages(LONG_PATIENCE)
        assert child.wait() == 0 and not wrong, (
            '%s: %d files are wrong: %s' % (side, len(wrong), wrong[:3]))


def conversions(world, args):
    """Convert a device, by default into volumes and back, amid trouble."""
    with Disk.at(world.layout.device_path, world.root,
                 args.objects * ROOM + SPARE):
        world.volume_size = 64 * MIB
        world.start_server()
        try:
            ways = [Conversion(world, source, args)
                    for source in args.sources]
            written = ways[0].write(args.objects, args.seed, time.time())
            for way in ways:
                print(way.run(written), flush=True)
        finally:
            world.stop_server(signal.SIGKILL)
    return len(written)
