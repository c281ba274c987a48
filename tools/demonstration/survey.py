# SPDX-License-Identifier: Apache-2.0
"""What is on the disks of a cluster, and whether all replicas are identical.

It is read from the disks, never from a log or an answer. An object's file is
a file below a partition's suffix directories or, of a policy that keeps
objects in volumes, a record in a volume. A partition is in order when every
device that the ring names for it holds the same files, and no other any.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError  # nosec: B403
from typing import Any, NamedTuple

from swift.common.exceptions import DiskFileError
from swift.common.utils import hash_path, storage_directory
from swift.obj.diskfile import read_metadata

from swift_lightsync.proar.proxy.role_nodes import Roles
from swift_losf.diskfile.vfile import VFileReader
from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout, policies_in
from swift_losf.index.index_client import IndexClient
from tools import ToolError
from tools.cluster import Cluster, Policy
from tools.demonstration.users import ObjectName, digest

READERS = 2
EXAMPLES = 5


class StoredFile(NamedTuple):
    """A file of an object: with digests, or why it cannot be read."""

    policy: int
    partition: int
    object_hash: str
    name: str
    content: str
    metadata: str


Survey = dict[str, frozenset[StoredFile]]
#: index of a policy, and a partition -> devices that the ring names
Placement = dict[tuple[int, int], frozenset[str]]


def _in_directories(device_path: str, policy: int) -> Iterator[StoredFile]:
    for path in Path(Layout(device_path, policy).objects).glob(
            '[0-9]*/???/*/*'):
        partition, _, hashed, name = path.parts[-4:]
        content = digest(path.read_bytes())
        try:
            metadata = _digest_of_metadata(read_metadata(str(path)))
        except (DiskFileError, EOFError, UnpicklingError) as err:
            metadata = 'unreadable: %r' % err
        yield StoredFile(policy, int(partition), hashed, name, content,
                         metadata)


def _digest_of_metadata(metadata: dict) -> str:
    return digest(repr(sorted(metadata.items())).encode())


def _in_volumes(device_path: str, policy: int) -> Iterator[StoredFile]:
    layout = Layout(device_path, policy)
    index = IndexClient(layout.socket)
    for partition in index.list_partitions():
        for suffix in index.list_partition(partition):
            for hashed, _ in index.list_suffix(partition, suffix):
                for name, location in index.list_hash(partition, hashed):
                    yield StoredFile(policy, partition, hashed.hex(), name,
                                     *_record(layout, location, hashed, name))


def _record(layout: Layout, location: Any, hashed: bytes, name: str
            ) -> tuple[str, str]:
    try:
        with VFileReader.open(layout, location, hashed, name) as record:
            return digest(record.read()), _digest_of_metadata(record.metadata)
    except OSError as err:
        return ('unreadable: %s' % err,) * 2


def files_on_device(device_path: str) -> frozenset[StoredFile]:
    """Read every file of every object on a device.

    :param device_path: where the device is mounted
    :raises ToolError: if an index does not say what is in the volumes
    """
    names = os.listdir(device_path)
    try:
        return frozenset((
            *(each for name in names if name.split('-')[0] == 'objects'
              for each in _in_directories(
                  device_path, int(name.partition('-')[2] or 0))),
            *(each for policy in policies_in(names)
              for each in _in_volumes(device_path, policy))))
    except IndexUnavailable as err:
        raise ToolError('%s: what is in its volumes cannot be told: %s' % (
            device_path, err)) from err


def survey(cluster: Cluster) -> Survey:
    """Read all devices; return a dict of device -> its files."""
    devices = cluster.device_paths()
    with ProcessPoolExecutor(READERS) as pool:
        return dict(zip(devices, pool.map(files_on_device,
                                          devices.values())))


def placement(cluster: Cluster) -> Placement:
    """Return which devices hold each partition."""
    return {(policy.index, partition): frozenset(
        node['device'] for node in ring.get_part_nodes(partition))
        for policy in cluster.spec.policies
        for ring in [cluster.ring(policy)]
        for partition in range(ring.partition_count)}


@dataclass(frozen=True)
class Findings:
    """What a survey shows.

    :param contents: policy index and object hash -> digest of the newest
        content; None if only a tombstone should be left
    :param wrong: (policy, partition, object hash, device) of each replica
        that is not as the newest state of its object
    :param handoffs: (policy, partition, object hash, device) where the ring
        names other devices
    """

    contents: dict[tuple[int, str], str | None]
    wrong: list[tuple]
    handoffs: list[tuple]

    @property
    def equal(self) -> bool:
        return not self.wrong and not self.handoffs

    @property
    def examples(self) -> str:
        """Some of what is wrong, in words."""
        return '\n  '.join(
            'policy %d, partition %d, object %s on %s: ' % each + what
            for what, some in (('differs', self.wrong),
                               ('a hand-off copy', self.handoffs))
            for each in some[:EXAMPLES])

    def __str__(self) -> str:
        deleted = sum(each is None for each in self.contents.values())
        return '%d objects, %d tombstones: %s' % (
            len(self.contents) - deleted, deleted, 'all replicas identical'
            if self.equal else '%d replicas differ; %d hand-off copies' % (
                len(self.wrong), len(self.handoffs)))


def _newest(states: list[frozenset[StoredFile]]) -> frozenset[StoredFile]:
    """Return the state with the newest file and the fewest besides.

    Of several, the one that most devices have counts.
    """
    name = max(stored.name for state in states for stored in state)
    frequency = Counter(state for state in states
                        if any(stored.name == name for stored in state))
    return min(frequency, key=lambda state: (
        len(state), -frequency[state], sorted(state)))


def judge(found: Survey, devices_of: Placement) -> Findings:
    """Compare every partition across the devices that the ring names."""
    objects: dict = defaultdict(lambda: defaultdict(set))
    for device, files in found.items():
        for stored in files:
            objects[stored[:3]][device].add(stored)
    findings = Findings({}, [], [])
    for key, on_device in sorted(objects.items()):
        primaries = devices_of.get(key[:2], frozenset())
        newest = _newest(list(map(frozenset, on_device.values())))
        findings.contents[key[0], key[2]] = next(
            (stored.content for stored in newest
             if stored.name.endswith('.data')), None)
        findings.wrong.extend((*key, device) for device in sorted(primaries)
                              if on_device.get(device, set()) != newest)
        findings.handoffs.extend(
            (*key, device) for device in sorted(set(on_device) - primaries))
    return findings


class Copies:
    """Where the copies of one object in files are at this moment.

    Quick enough to be asked again and again, while devices take writes.

    :param cluster: a Cluster, whose containers have their policies' names
    :param account: the name of the account
    """

    def __init__(self, cluster: Cluster, account: str) -> None:
        self.cluster = cluster
        self.account = account
        self.rings = {policy.name: cluster.ring(policy)
                      for policy in cluster.spec.policies}

    def policy(self, where: ObjectName) -> Policy:
        return self.cluster.spec.policy(where.container)

    def hash(self, where: ObjectName) -> str:
        return hash_path(self.account, where.container, where.name)

    def primary_role(self, where: ObjectName) -> str:
        """Return the device that takes the writes of an object."""
        return Roles.of(self.rings[where.container], self.policy(where).index,
                        self.account, where.container,
                        where.name).nodes[0]['device']

    def holders(self, where: ObjectName) -> set[str]:
        """Return the devices that hold an object's newest file."""
        partition, nodes = self.rings[where.container].get_nodes(
            self.account, where.container, where.name)
        below = storage_directory('', partition, self.hash(where))
        index, paths = self.policy(where).index, self.cluster.device_paths()
        names = {device: max((each.name for each in Path(Layout(
            paths[device], index).objects, below).glob('*')), default='')
            for device in (node['device'] for node in nodes)}
        newest = max(names.values())
        return {device for device, name in names.items()
                if name and name == newest}
