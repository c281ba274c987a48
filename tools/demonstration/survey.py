# SPDX-License-Identifier: Apache-2.0
"""
What is on the disks of a cluster, and whether all replicas are identical.

It is read from the disks, never from a log or an answer. An object's file is
a file below a partition's suffix directories or, of a policy that keeps
objects in volumes, a record in a volume. A partition is in order when every
device that the ring names for it holds the same files, and no other any.
"""

import hashlib
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pickle import UnpicklingError  # nosec: B403
from typing import Any, NamedTuple, Optional

from swift.common.exceptions import DiskFileError
from swift.common.ring import Ring
from swift.common.utils import hash_path, storage_directory
from swift.obj.diskfile import DATADIR_BASE, read_metadata

from swift_lightsync.proar.proxy.role_nodes import Roles
from swift_losf.diskfile.vfile import VFileReader
from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout, policies_in
from swift_losf.index.index_client import IndexClient
from tools.cluster import Cluster
from tools.demonstration.errors import DemoError
from tools.demonstration.users import ObjectName

#: the directory of a policy's objects, with the policy's index
DATA_DIRECTORY = re.compile(r'%s(?:-([1-9]\d*))?' % DATADIR_BASE)
READERS = 2
EXAMPLES = 5


class StoredFile(NamedTuple):
    """A file of an object: with digests, or why it cannot be read."""

    policy: int
    partition: int
    object_hash: str
    name: str
    size: int
    content: str
    metadata: str


Survey = dict[str, frozenset[StoredFile]]
#: policy index and object hash
Key = tuple[int, str]


def _digest_of_metadata(metadata: dict) -> str:
    return hashlib.sha256(
        repr(sorted(metadata.items())).encode()).hexdigest()


def _stored_file(key: tuple[int, int, str], path: str) -> StoredFile:
    with open(path, 'rb') as stored:
        data = stored.read()
    try:
        metadata = _digest_of_metadata(read_metadata(path))
    except (DiskFileError, EOFError, UnpicklingError) as err:
        metadata = 'unreadable: %r' % err
    return StoredFile(*key, os.path.basename(path), len(data),
                      hashlib.sha256(data).hexdigest(), metadata)


def _in_directories(device_path: str) -> Iterator[StoredFile]:
    for name in os.listdir(device_path):
        match = DATA_DIRECTORY.fullmatch(name)
        top = os.path.join(device_path, name)
        for partition in filter(str.isdigit, os.listdir(top) if match else ()):
            within = os.path.join(top, partition)
            for directory, _, names in os.walk(within):
                # hashes.pkl and locks are each node's own.
                for each in names if directory != within else ():
                    yield _stored_file(
                        (int((match and match[1]) or 0), int(partition),
                         os.path.basename(directory)),
                        os.path.join(directory, each))


def _in_volumes(device_path: str) -> Iterator[StoredFile]:
    for policy in policies_in(os.listdir(device_path)):
        layout = Layout(device_path, policy)
        index = IndexClient(layout.socket)
        for partition in index.list_partitions():
            for suffix in index.list_partition(partition):
                for hashed, _ in index.list_suffix(partition, suffix):
                    for name, location in index.list_hash(partition, hashed):
                        yield StoredFile(
                            policy, partition, hashed.hex(), name,
                            location.data_length,
                            *_record(layout, location, hashed, name))


def _record(layout: Layout, location: Any, hashed: bytes, name: str
            ) -> tuple[str, str]:
    try:
        with VFileReader.open(layout, location, hashed, name) as record:
            return (hashlib.sha256(record.read()).hexdigest(),
                    _digest_of_metadata(record.metadata))
    except OSError as err:
        return ('unreadable: %s' % err,) * 2


def files_on_device(device_path: str) -> frozenset[StoredFile]:
    """
    Read every file of every object on a device.

    :param device_path: where the device is mounted
    :raises DemoError: if an index does not say what is in the volumes
    """
    try:
        return frozenset((*_in_directories(device_path),
                          *_in_volumes(device_path)))
    except IndexUnavailable as err:
        raise DemoError('%s: what is in its volumes cannot be told: %s' % (
            device_path, err)) from err


def survey(cluster: Cluster) -> Survey:
    """Read all devices; return a dict of device -> its files."""
    devices = [(device, cluster.device_path(node, device))
               for node in cluster.spec.node_numbers()
               for device in cluster.devices(node)]
    with ProcessPoolExecutor(READERS) as pool:
        found = pool.map(files_on_device, [path for _, path in devices])
        return {device: files for (device, _), files in zip(devices, found)}


def placement(cluster: Cluster) -> dict[tuple[int, int], frozenset[str]]:
    """Return (policy index, partition) -> devices that the ring names."""
    return {(policy.index, partition): frozenset(
        node['device'] for node in ring.get_part_nodes(partition))
        for policy in cluster.spec.policies
        for ring in [cluster.ring(policy)]
        for partition in range(ring.partition_count)}


@dataclass(frozen=True)
class Findings:
    """
    What a survey shows.

    :param contents: digest of the newest content of each object; None if
        only a tombstone should be left
    :param wrong: (policy, partition, object hash, device) of each replica
        that is not as the newest state of its object
    :param handoffs: (policy, partition, device) where the ring names others
    """

    contents: dict[Key, Optional[str]]
    wrong: list[tuple[int, int, str, str]]
    handoffs: list[tuple[int, int, str]]

    @property
    def equal(self) -> bool:
        return not self.wrong and not self.handoffs

    @property
    def examples(self) -> str:
        """Some of what is wrong, in words."""
        return '\n  '.join([
            'policy %d, partition %d, object %s on %s: differs' % each
            for each in self.wrong[:EXAMPLES]] + [
            'policy %d, partition %d on %s: hand-off copy' % each
            for each in self.handoffs[:EXAMPLES]])

    def __str__(self) -> str:
        deleted = sum(each is None for each in self.contents.values())
        return '%d objects, %d tombstones: %s' % (
            len(self.contents) - deleted, deleted, 'all replicas identical'
            if self.equal else '%d replicas differ, in %d partitions; %d '
            'hand-off copies of partitions' % (
                len(self.wrong), len({each[:2] for each in self.wrong}),
                len(self.handoffs)))


def _newest(states: Iterable[frozenset[StoredFile]]) -> frozenset[StoredFile]:
    """
    Return the state with the newest file and the fewest besides.

    Of several, the one that most devices have counts.
    """
    states = list(states)
    name = max(stored.name for state in states for stored in state)
    frequency = Counter(state for state in states
                        if any(stored.name == name for stored in state))
    return min(frequency, key=lambda state: (
        len(state), -frequency[state], sorted(state)))


def judge(found: Survey, devices_of: dict[tuple[int, int], frozenset[str]]
          ) -> Findings:
    """
    Compare every partition across the devices that the ring names for it.

    :param found: a survey
    :param devices_of: the placement
    """
    objects: dict = defaultdict(lambda: defaultdict(set))
    for device, files in found.items():
        for stored in files:
            objects[stored[:3]][device].add(stored)
    findings = Findings({}, [], [])
    handoffs = set()
    for (policy, partition, hashed), on_device in sorted(objects.items()):
        primaries = devices_of.get((policy, partition), frozenset())
        handoffs.update((policy, partition, device)
                        for device in set(on_device) - primaries)
        newest = _newest(map(frozenset, on_device.values()))
        findings.contents[policy, hashed] = next(
            (stored.content for stored in newest
             if stored.name.endswith('.data')), None)
        findings.wrong.extend(
            (policy, partition, hashed, device)
            for device in sorted(primaries)
            if on_device.get(device, set()) != newest)
    findings.handoffs.extend(sorted(handoffs))
    return findings


class Copies:
    """
    Where the copies of one object in files are at this moment.

    Quick enough to be asked again and again, while devices take writes.

    :param cluster: a Cluster, whose containers have their policies' names
    :param account: the name of the account
    """

    def __init__(self, cluster: Cluster, account: str) -> None:
        self.cluster = cluster
        self.account = account
        self.rings: dict[str, Ring] = {
            policy.name: cluster.ring(policy)
            for policy in cluster.spec.policies}

    def key(self, where: ObjectName) -> Key:
        """Return the policy's index and the hash that Swift goes by."""
        return (self.cluster.spec.policy(where.container).index,
                hash_path(self.account, where.container, where.name))

    def primary_role(self, where: ObjectName) -> str:
        """Return the device that takes the writes of an object."""
        return Roles.of(self.rings[where.container], self.account,
                        where.container, where.name).nodes[0]['device']

    def holders(self, where: ObjectName) -> set[str]:
        """Return the devices that hold an object's newest file."""
        index, hashed = self.key(where)
        partition, nodes = self.rings[where.container].get_nodes(
            self.account, where.container, where.name)
        below = storage_directory(
            DATADIR_BASE + ('-%d' % index if index else ''), partition,
            hashed)
        names = {}
        for device in (node['device'] for node in nodes):
            path = os.path.join(self.cluster.device_path(
                self.cluster.node_of(device), device), below)
            try:
                names[device] = max(os.listdir(path), default='')
            except FileNotFoundError:
                continue
        newest = max(names.values(), default='')
        return {device for device, name in names.items()
                if name == newest != ''}
