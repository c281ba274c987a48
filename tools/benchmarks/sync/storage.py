# SPDX-License-Identifier: Apache-2.0
"""
The data set on disk: written, restored and looked at device by device.

Objects are written by Swift's own diskfile, into a *master* copy of every
device. A trial gets hard links to the master's files: Swift replaces files
and never changes one in place, except the queue of invalidations, which is
copied. So hashes.pkl keeps its inode and time, and restoring is quick.
"""

import filecmp
import logging
import os
import shutil
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from swift.common import utils

from tools.benchmarks.put import put

#: Swift's queue of suffixes to hash anew, in each partition.
HASH_INVALIDATIONS_FILE = 'hashes.invalid'
ACCOUNT, CONTAINER = 'AUTH_bench', 'bench'
WRITERS = os.cpu_count() or 1


@dataclass(frozen=True)
class Place:
    """
    Where an object belongs.

    :param partition: its number
    :param devices: names of the devices, a tuple
    :param path: of the object's directory in a device
    """
    partition: int
    devices: tuple
    path: str


@dataclass(frozen=True)
class DeviceWrites:
    """
    What is to be written to one device.

    :param swift_dir: the directory of swift.conf
    :param devices_dir: the directory of the device
    :param device: its name
    :param seed: of the objects' bytes
    :param writes: a tuple of (Version, partition)
    :param hash_partitions: whether to hash what was written
    """
    swift_dir: str
    devices_dir: str
    device: str
    seed: int
    writes: tuple
    hash_partitions: bool


def _write_device(task):
    utils.set_swift_dir(task.swift_dir)
    # Their modules read swift.conf.
    from swift.common.storage_policy import POLICIES
    from swift.obj import diskfile
    # The data set need not outlive a power cut.
    diskfile.fsync = diskfile.fsync_dir = lambda *args: None
    manager = diskfile.DiskFileManager(
        {'devices': task.devices_dir, 'mount_check': 'false'},
        logging.getLogger(__name__))
    for version, partition in task.writes:
        _write_version(manager.get_diskfile(
            task.device, partition, ACCOUNT, CONTAINER, version.name,
            policy=POLICIES[0]), version, task.seed)
    if task.hash_partitions:
        for partition in {partition for _, partition in task.writes}:
            manager._get_hashes(task.device, str(partition), POLICIES[0])


def _write_version(disk_file, version, seed):
    timestamp = utils.Timestamp(version.timestamp)
    if version.deleted:
        disk_file.delete(timestamp)
        return
    put(disk_file, version.body(seed), timestamp)


def restore(master, device):
    """
    Make a directory equal to its master copy, touching what differs only.

    :param master: path of the copy
    :param device: path of the directory, which exists
    """
    wanted, found = _entries(master), _entries(device)
    kept = {name for name, entry in found.items()
            if name in wanted and _same(wanted[name], entry)}
    for name in found.keys() - kept:
        if found[name].is_dir():
            shutil.rmtree(found[name].path)
        else:
            os.unlink(found[name].path)
    for name, entry in wanted.items():
        path = os.path.join(device, name)
        if entry.is_dir():
            if name not in kept:
                os.mkdir(path)
            restore(entry.path, path)
        elif name not in kept:
            (shutil.copy2 if name == HASH_INVALIDATIONS_FILE
             else os.link)(entry.path, path)


def _entries(directory):
    with os.scandir(directory) as entries:
        return {entry.name: entry for entry in entries}


def _same(wanted, found):
    if wanted.is_dir() or found.is_dir():
        return wanted.is_dir() and found.is_dir()
    if wanted.name == HASH_INVALIDATIONS_FILE:
        return filecmp.cmp(wanted.path, found.path, shallow=False)
    return wanted.inode() == found.inode()


class Storage:
    """
    The devices of all contestants: their rings are the same.

    This process must have been told the swift_dir, by ``set_swift_dir``.

    :param swift_dir: the directory of swift.conf and the ring
    :param ring: the object ring
    :param seed: of the objects' bytes
    """

    def __init__(self, swift_dir, ring, seed):
        self.swift_dir = swift_dir
        self.ring = ring
        self.seed = seed
        self._places = {}

    def place(self, name):
        """:returns: the Place of an object"""
        if name not in self._places:
            partition, nodes = self.ring.get_nodes(ACCOUNT, CONTAINER, name)
            path = utils.storage_directory(
                'objects', partition,
                utils.hash_path(ACCOUNT, CONTAINER, name))
            self._places[name] = Place(
                partition, tuple(node['device'] for node in nodes), path)
        return self._places[name]

    def devices_of(self, name):
        """:returns: the names of the devices that an object belongs to"""
        return self.place(name).devices

    def write(self, writes, devices_dir_of, hash_partitions=False):
        """
        Write versions to devices, in order, and flush them all.

        :param writes: an iterable of Write
        :param devices_dir_of: a function of a device's name: where it is
        :param hash_partitions: whether to hash what was written
        """
        by_device = defaultdict(list)
        for write in writes:
            partition = self.place(write.version.name).partition
            for device in write.devices:
                by_device[device].append((write.version, partition))
        tasks = [DeviceWrites(self.swift_dir, devices_dir_of(device), device,
                              self.seed, tuple(versions), hash_partitions)
                 for device, versions in sorted(by_device.items())]
        # A fork of a process with threads can inherit a lock for good.
        with ProcessPoolExecutor(
                WRITERS, mp_context=get_context('spawn')) as pool:
            list(pool.map(_write_device, tasks))
        os.sync()

    def stale(self, versions, path_of):
        """
        Count the replicas that are not what they should be.

        :param versions: the latest Version of every object, an iterable
        :param path_of: a function of a device's name: its path, or None if
            it is not to be looked at
        :returns: the number of replicas whose newest file is another one
        """
        return sum(
            not _holds(os.path.join(path_of(device), place.path), version)
            for version in versions
            for place in (self.place(version.name),)
            for device in place.devices if path_of(device))


def _holds(directory, version):
    try:
        with os.scandir(directory) as entries:
            files = [(entry.name, entry.stat().st_size) for entry in entries]
    except FileNotFoundError:
        return False
    # The newest file counts; Swift removes the older ones when it next
    # hashes the suffix, which may be in a later pass.
    return bool(files) and max(files) == (version.file_name, version.size)
