# SPDX-License-Identifier: Apache-2.0
"""The index server of one device and storage policy.

    python -m swift_losf.daemon.index_server \
        --device-path /srv/node/d1 --policy 0

Its socket exists at once; until recovery is done, each call is answered with
UNAVAILABLE and the state of the recovery. The server ends when it gets
SIGTERM, or when LevelDB or a volume fails; started again, it recovers.
"""

import _thread
import argparse
import contextlib
import logging
import signal
import sys
import threading
import time
from dataclasses import dataclass, fields

import plyvel

from swift_lightsync.common.command import argument
from swift_losf.daemon.listener import listening
from swift_losf.format.layout import Layout
from swift_losf.index.db import VersionError
from swift_losf.index.index_lock import ServerError, locked
from swift_losf.index.index_service import FATAL, IndexService
from swift_losf.index.publisher import Publisher, identity
from swift_losf.options import CompactOptions, LosfOptions
from swift_losf.upkeep.compaction_plan import Limits, Rates
from swift_losf.upkeep.compactor import Compaction, Compactor
from swift_losf.upkeep.lost_index import is_lost, set_damaged_aside
from swift_losf.upkeep.partitions import tidy
from swift_losf.upkeep.recovery import recover
from swift_losf.upkeep.standby import drop_index, is_writable_again
from swift_losf.upkeep.sweeper import Sweeper
from swift_losf.volumes.ballast import PLENTY
from swift_losf.volumes.space import FilesystemError, part_of

#: seconds between two looks at the device: whether it is there, what is left
TICK = 1.0
#: a disk is nearly full with fewer parts of it free: more than Swift's default
#: fallocate_reserve, so that deletes help against it
SCARCE = 4

logger = logging.getLogger(__name__)


class Stopped(Exception):
    """The server was told to end before it has served."""


@dataclass(frozen=True)
class Options:
    """The times and sizes that an index server goes by.

    :param sweep_interval: seconds between two rounds of the sweeper
    :param sync_interval: seconds after which what has been written is made
        durable: so much has to be scanned after a crash
    :param max_volume_size: bytes from which on a volume gets no more records
    :param mount_check: whether the device has to be mounted
    :param compact: CompactOptions
    :param part_power: of the ring; None: what the index was told last
    :param index_metadata: bytes of metadata that an entry has at most
    """
    sweep_interval: float = 5.0
    sync_interval: float = 30.0
    max_volume_size: int = LosfOptions.max_volume_size
    mount_check: bool = False
    compact: CompactOptions = CompactOptions()
    part_power: int | None = None
    index_metadata: int = 0

    def compaction(self, disk):
        """Return the Compaction that a Compactor goes by.

        :param disk: a path on it
        """
        compact = self.compact
        return Compaction(
            Limits(compact.garbage / 100, compact.extents,
                   part_of(disk, compact.reserve),
                   scarce=SCARCE * part_of(disk, sys.maxsize)),
            Rates(compact.bandwidth, compact.idle_bandwidth),
            self.sweep_interval, part_of(disk, self.max_volume_size))


class IndexServer:
    """Serves the index of one device and storage policy.

    :param layout: a Layout
    :param options: Options
    """

    def __init__(self, layout, options):
        self.layout = layout
        self.options = options
        self.service = IndexService(self.fail)
        self._stop = threading.Event()
        self._failure = None

    def stop(self):
        """Make run() return. Signal handlers must not call this."""
        self._stop.set()

    def stop_on(self, *numbers):
        """Let signals call stop(). REQUIRES: the main thread."""
        for number in numbers:
            # In a thread of its own: run() may be holding the Event's lock
            # where the signal interrupts it, and would wait for itself.
            signal.signal(number, lambda *_: _thread.start_new_thread(
                self.stop, ()))

    def fail(self, error):
        """Make run() return, since the index cannot go on.

        :param error: the exception
        """
        self._failure = self._failure or error
        self._stop.set()

    def run(self):
        """Recover, then serve until stop() or fail().

        :returns: whether all went well
        :raises ServerError: if it cannot be started
        """
        with locked(self.layout, self.options.mount_check) as lock:
            try:
                self._serve(lock)
            except Stopped:
                pass
            except FATAL as err:
                self.fail(err)
            return self._conclude(lock)

    def _serve(self, lock):
        with contextlib.ExitStack() as at_end:
            # At the end: calls, sweeper and compactor, index.
            with listening(self.layout, self.service):
                drop_index(self.layout)
                index = recover(self.layout, self._progress,
                                self._serve_part, self.options.part_power,
                                self.options.index_metadata)
                at_end.callback(self._close, index)
                if not index.db.durable:
                    self._stand_by(index, lock)
                    return
                self._publish(index, at_end)
                compaction = self.options.compaction(
                    lock.pinned.device_path)
                sweeper = Sweeper(
                    lock.pinned, index, self.options.sweep_interval,
                    self.fail, max(compaction.room, 2 * PLENTY.bytes))
                compactor = Compactor(lock.pinned, index, compaction,
                                      self.fail, self.service.is_busy)
                for each in (sweeper, compactor):
                    at_end.callback(each.stop)
                    each.start()
                self.service.index = index
                logger.info('%s: serving', self.layout.root)
                self._tend(index, lock)

    def _publish(self, index, at_end):
        try:
            publisher = Publisher(index.db, identity(self.layout.socket))
        except OSError as err:
            # No memory, or a socket that is elsewhere: readers call.
            logger.warning('%s: readers have to call the index server: %s',
                           self.layout.root, err)
            return
        at_end.callback(publisher.close)
        publisher.start()

    def _stand_by(self, index, lock):
        """Serve from memory until stop(), or the disk can be written."""
        self.service.index = index
        logger.warning('%s: serving; what has to be durable in the index is '
                       'refused', self.layout.root)
        begun = time.monotonic()
        while not self._stop.wait(min(TICK, self.options.sync_interval)):
            if not lock.is_in_place():
                return
            # An index that could not be opened all the same is not tried
            # again and again.
            if (time.monotonic() - begun >= self.options.sync_interval
                    and is_writable_again(self.layout)):
                logger.warning('%s can be written again: the server ends, '
                               'to be started anew', self.layout.root)
                return

    def _tend(self, index, lock):
        """Tend the ballasts and the directories of partitions, and sync the
        index, until stop() or an unmount.
        """
        interval = self.options.sync_interval
        synced = time.monotonic()
        tidied_for = index.part_power.view
        while not self._stop.wait(min(TICK, interval)):
            if not lock.is_in_place():
                logger.warning('%s is not there any more, the server ends',
                               self.layout.root)
                return
            for ballast in lock.ballasts:
                ballast.tend()
            is_due = time.monotonic() - synced >= interval
            view = index.part_power.view
            if view != tidied_for or is_due and not index.part_power.is_tidy:
                tidied_for = view
                tidy(lock.pinned, index, self._stop.is_set)
            if is_due:
                synced = time.monotonic()
                index.sync()

    def _serve_part(self, index):
        self.service.index = index

    def _close(self, index):
        try:
            index.close()
        except plyvel.Error as err:
            self.fail(err)

    def _progress(self, state):
        if self._stop.is_set():
            raise Stopped()
        self.service.state = 'recovering: ' + state
        logger.debug('%s: %s', self.layout.root, self.service.state)

    def _conclude(self, lock):
        error = self._failure
        if error is None:
            return True
        logger.error('%s: the index cannot go on, the server ends; started '
                     'again, it recovers: %s: %s', self.layout.index,
                     type(error).__name__, error)
        if is_lost(error) and lock.is_in_place() and is_writable_again(
                self.layout):
            set_damaged_aside(self.layout, error)
        return False


def _parse(argv):
    parser = argparse.ArgumentParser(
        prog='python -m swift_losf.daemon.index_server',
        description='Serve the index of one device and storage policy.')
    parser.add_argument('--device-path', required=True,
                        help='where the device is mounted')
    parser.add_argument('--policy', type=int, required=True,
                        help='index of the storage policy')
    parser.add_argument('--index-path',
                        help='directory for the indexes on another device')
    for name, kind, text in (
            ('sweep_interval', float, 'seconds between giving space back'),
            ('sync_interval', float, 'seconds between syncs of the index'),
            ('max_volume_size', int,
             'bytes from which on a volume gets no more records'),
            ('index_metadata', int,
             'bytes of metadata that an entry has at most')):
        parser.add_argument('--' + name.replace('_', '-'), type=kind,
                            default=getattr(Options, name), help=text)
    parser.add_argument('--part-power', type=int, help='of the ring; without '
                        'it, that which the index was told last')
    parser.add_argument('--mount-check', action='store_true',
                        help='refuse a device path where nothing is mounted')
    for each in fields(CompactOptions):
        parser.add_argument(
            '--compact-' + each.name.replace('_', '-'), default=each.default,
            type=argument(each.metadata['parse']),
            help='compact_%s of object-losf' % each.name)
    return parser.parse_args(argv)


def main(argv=None):
    """Run an index server, and return the exit status."""
    args = _parse(argv)
    logging.basicConfig(level=logging.INFO,
                        format='%(asctime)s %(levelname)s %(message)s')
    server = IndexServer(
        Layout(args.device_path, args.policy, args.index_path),
        Options(args.sweep_interval, args.sync_interval,
                args.max_volume_size, args.mount_check,
                CompactOptions(**{
                    each.name: getattr(args, 'compact_' + each.name)
                    for each in fields(CompactOptions)}), args.part_power,
                args.index_metadata))
    server.stop_on(signal.SIGTERM, signal.SIGINT)
    try:
        return 0 if server.run() else 1
    except (ServerError, VersionError, FilesystemError, OSError) as err:
        print(err, file=sys.stderr)
        return 1


if __name__ == '__main__':
    sys.exit(main())
