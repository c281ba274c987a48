# SPDX-License-Identifier: Apache-2.0
"""The objects of ``bench sync``, and how they are laid out on disk.

Names, bytes, timestamps and changes follow from the seed, so that both
contestants get the same. Objects are written by Swift's own diskfile into a
*master* copy of every device. A trial gets hard links to the master's files:
Swift replaces files and never changes one in place, except the queue of
invalidations, which is copied. So hashes.pkl keeps its inode and time.
"""

import logging
import os
import random
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from hashlib import md5
from multiprocessing import get_context
from typing import Any

from swift.common import utils

#: Swift's queue of suffixes to hash anew, in each partition.
HASH_INVALIDATIONS_FILE = 'hashes.invalid'
ACCOUNT, CONTAINER = 'AUTH_bench', 'bench'
#: Seconds between the timestamps of two objects.
STEP = 0.001
#: Seconds after the epoch at which the changes of a scenario begin.
CHANGES = 1800.0
#: Per cent of the objects that a scenario changes (LightSync §3.5-3.6).
CHANGED = 10


@dataclass(frozen=True)
class Version:
    """The last change of an object.

    :param timestamp: when, seconds since 1970
    :param size: bytes; 0 for a delete
    """

    name: str
    timestamp: float
    size: int
    is_deleted: bool = False

    @property
    def file_name(self) -> str:
        """The name of the file that Swift keeps of it."""
        return utils.Timestamp(self.timestamp).internal + (
            '.ts' if self.is_deleted else '.data')


#: A version, and the names of the devices that it reaches.
Write = tuple[Version, tuple[str, ...]]


class DataSet:
    """The objects that a trial begins with, and the changes to them.

    :param seed: all choices follow from it
    :param count: how many objects there are
    :param sizes: (least, greatest) size of an object, bytes
    :param epoch: timestamp of the oldest object
    :param changed: per cent of them that a scenario changes
    """

    def __init__(self, seed: int, count: int, sizes: tuple[int, int],
                 epoch: float, changed: float = CHANGED) -> None:
        self.seed, self.sizes, self.epoch = seed, sizes, epoch
        self.changed = changed
        self.objects = self._versions('object', count, epoch)

    def _versions(self, prefix: str, count: int,
                  begin: float) -> list[Version]:
        rng = random.Random('%s/%s' % (self.seed, prefix))
        return [Version('%s-%07d' % (prefix, i), begin + i * STEP,
                        rng.randint(*self.sizes)) for i in range(count)]

    def changes(self, kind: str, seed: str,
                devices_of: Callable[[str], tuple[str, ...]],
                live: Iterable[str]) -> list[Write]:
        """Choose what a scenario writes, to some of the objects.

        :param kind: ``create`` (new objects), ``delete``, both at a quorum
            of their devices; ``single`` (new objects at one of them); or
            ``rewrite`` (deleted, then created anew), at all live ones
        :param seed: of the trial
        :param devices_of: tells the devices of an object's replicas
        :param live: the devices that can be written to
        """
        rng = random.Random('%s/%s' % (self.seed, seed))
        count = max(1, round(len(self.objects) * self.changed / 100))
        begin = self.epoch + CHANGES

        def quorum(name: str) -> tuple[str, ...]:
            devices = sorted(devices_of(name))
            return tuple(rng.sample(
                devices, 1 if kind == 'single' else utils.quorum_size(
                    len(devices))))

        if kind in ('create', 'single'):
            return [(each, quorum(each.name)) for each in self._versions(
                'new-' + seed.replace('/', '-'), count, begin)]
        chosen = rng.sample(self.objects, count)
        gone = [Version(each.name, begin + i * STEP, 0, True)
                for i, each in enumerate(chosen)]
        if kind == 'delete':
            return [(each, quorum(each.name)) for each in gone]
        known = set(live)
        again = [Version(each.name, each.timestamp + CHANGES / 2,
                         rng.randint(*self.sizes)) for each in gone]
        return [(each, tuple(sorted(known & set(devices_of(each.name)))))
                for each in gone + again]

    def overwrites(self, seed: str, count: int) -> list[Version]:
        """Choose objects, and a newer version of each.

        :param seed: of the trial
        :param count: how many
        """
        rng = random.Random('%s/%s' % (self.seed, seed))
        return [Version(each.name, self.epoch + CHANGES + i * STEP,
                        rng.randint(*self.sizes))
                for i, each in enumerate(rng.sample(
                    self.objects, min(count, len(self.objects))))]


def _write_device(swift_dir: str, devices_dir: str, device: str, seed: int,
                  writes: list[tuple[Version, int, int]],
                  rehash: bool) -> None:
    """Write versions, each with partition and row; then hash them."""
    utils.set_swift_dir(swift_dir)
    # Their modules read swift.conf.
    from swift.common.storage_policy import EC_POLICY, POLICIES
    from swift.obj import diskfile
    # The data set need not outlive a power cut.
    diskfile.fsync = diskfile.fsync_dir = lambda *args: None
    manager = diskfile.DiskFileRouter(
        {'devices': devices_dir, 'mount_check': 'false'},
        logging.getLogger(__name__))[POLICIES[0]]
    fragments = POLICIES[0].policy_type == EC_POLICY
    for version, partition, index in writes:
        disk_file = manager.get_diskfile(
            device, partition, ACCOUNT, CONTAINER, version.name,
            policy=POLICIES[0])
        timestamp = utils.Timestamp(version.timestamp)
        if version.is_deleted:
            disk_file.delete(timestamp)
        else:
            write_object(disk_file, random.Random('%s/%s/%r' % (
                seed, version.name, version.timestamp)).randbytes(
                    version.size), timestamp, fragment={
                        'X-Object-Sysmeta-Ec-Frag-Index': str(index)}
                if fragments else {})
    if rehash:
        for partition in {partition for _, partition, _ in writes}:
            manager._get_hashes(device, str(partition), POLICIES[0])


def write_object(disk_file: Any, body: bytes, timestamp: utils.Timestamp,
                 kind: str = 'application/octet-stream',
                 fragment: dict[str, str] | None = None) -> None:
    """Put an object, or a fragment, on a device as an object-server does."""
    with disk_file.create(size=len(body)) as writer:
        writer.write(body)
        writer.put({
            'X-Timestamp': timestamp.internal, 'Content-Type': kind,
            'Content-Length': str(len(body)),
            'ETag': md5(body, usedforsecurity=False).hexdigest(),
            **(fragment or {})})
        writer.commit(timestamp)


def empty(device: str) -> None:
    """Make a device that of a new disk."""
    shutil.rmtree(device)
    os.mkdir(device)


def restore(master: str, device: str) -> None:
    """Make a directory equal to its master copy."""
    shutil.rmtree(device)
    shutil.copytree(master, device, copy_function=_link)


def _link(source: str, target: str) -> None:
    if os.path.basename(source) == HASH_INVALIDATIONS_FILE:
        shutil.copy2(source, target)
    else:
        os.link(source, target)


class Storage:
    """The devices of all contestants: their rings are the same.

    This process must have been told the swift_dir, by ``set_swift_dir``.

    :param swift_dir: the directory of swift.conf and the ring
    :param ring: the object ring
    :param seed: of the objects' bytes
    """

    def __init__(self, swift_dir: str, ring: Any, seed: int) -> None:
        self._swift_dir, self._ring, self._seed = swift_dir, ring, seed
        #: Of each object.
        self.replicas = ring.replica_count
        self._places: dict[str, tuple[int, tuple[str, ...], str]] = {}

    def place(self, name: str) -> tuple[int, tuple[str, ...], str]:
        """Return an object's partition, devices, and directory in them."""
        if name not in self._places:
            part, nodes = self._ring.get_nodes(ACCOUNT, CONTAINER, name)
            self._places[name] = part, tuple(
                node['device'] for node in nodes), utils.storage_directory(
                    'objects', part, utils.hash_path(
                        ACCOUNT, CONTAINER, name))
        return self._places[name]

    def puts(self, version: Version) -> Iterator[tuple[Any, ...]]:
        """Yield the arguments of ``sync_steps.put`` for each replica."""
        path = ACCOUNT, CONTAINER, version.name
        part, nodes = self._ring.get_nodes(*path)
        for node in nodes:
            yield (node, (part, *path), utils.Timestamp(
                version.timestamp).internal, version.size)

    def devices_of(self, name: str) -> tuple[str, ...]:
        return self.place(name)[1]

    def holders(self, partition: int) -> set[str]:
        """Return the devices that the ring names for a partition."""
        return {node['device']
                for node in self._ring.get_part_nodes(partition)}

    def write(self, writes: Iterable[Write],
              devices_dir_of: Callable[[str], str],
              rehash: bool = False) -> None:
        """Write versions to devices, in order, and flush them all.

        :param devices_dir_of: tells where a device of a name is
        :param rehash: whether to hash what was written
        """
        by_device = defaultdict(list)
        for version, devices in writes:
            for device in devices:
                partition, rows, _ = self.place(version.name)
                by_device[device].append((version, partition,
                                          rows.index(device)))
        # A fork of a process with threads can inherit a lock for good.
        with ProcessPoolExecutor(
                os.cpu_count(), mp_context=get_context('spawn')) as pool:
            for done in [pool.submit(
                    _write_device, self._swift_dir, devices_dir_of(device),
                    device, self._seed, versions, rehash)
                    for device, versions in sorted(by_device.items())]:
                done.result()
        os.sync()

    def stale(self, versions: Iterable[Version],
              path_of: Callable[[str], str | None]) -> int:
        """Count the replicas that are not what they should be.

        :param versions: the latest one of every object
        :param path_of: tells the path of a device of a name, or None if it
            is not to be looked at
        :returns: the number of replicas whose newest file is another one
        """
        count = 0
        for version in versions:
            _, devices, directory = self.place(version.name)
            for path in map(path_of, devices):
                count += bool(path) and not _holds(
                    os.path.join(path or '', directory), version)
        return count


def _holds(directory: str, version: Version) -> bool:
    try:
        with os.scandir(directory) as entries:
            # A fragment's name has more of it: <timestamp>#<index>#d.data
            files = [(re.sub('#.*[.]', '.', entry.name),
                      entry.stat().st_size) for entry in entries]
    except FileNotFoundError:
        return False
    # The newest counts; others go when the suffix is next hashed.
    return bool(files) and max(files) == (version.file_name, version.size)
