# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""
What is on the devices: read from the disks, never from a log or an answer.

Each file below a partition's suffixes counts with its name, size, content
and metadata. A partition is in order when every device that the ring names
for it holds the same files and no other device holds any.
"""

from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
import hashlib
import os
from pickle import UnpicklingError  # nosec: B403
import re

from swift.common.exceptions import DiskFileError
from swift.obj.diskfile import DATADIR_BASE, read_metadata

READERS = 2
WITH_METADATA = ('.data', '.meta', '.ts')
EXAMPLES = 5
#: the directory of a policy's objects, with the policy's index
DATA_DIRECTORY = re.compile(r'%s(?:-([1-9]\d*))?' % DATADIR_BASE)


@dataclass(frozen=True)
class StoredFile:
    """
    A file of an object on a device.

    :param policy: the index of the storage policy
    :param partition: the partition's number
    :param object_hash: the name of its directory
    :param name: its own name
    :param size: in bytes
    :param content: digest of its content
    :param metadata: digest of Swift's metadata in its extended attributes,
        or why there is none
    """

    policy: int
    partition: int
    object_hash: str
    name: str
    size: int
    content: str
    metadata: str


def _metadata_digest(path):
    if not path.endswith(WITH_METADATA):
        return 'not a file of Swift'
    try:
        metadata = read_metadata(path)
    except (DiskFileError, EOFError, UnpicklingError) as err:
        return 'unreadable: %r' % err
    return hashlib.sha256(
        repr(sorted(metadata.items())).encode()).hexdigest()


def _stored_file(policy, partition, object_hash, path):
    with open(path, 'rb') as stored:
        content = hashlib.file_digest(stored, 'sha256') \
            if hasattr(hashlib, 'file_digest') \
            else hashlib.sha256(stored.read())
        size = stored.tell()
    return StoredFile(policy, partition, object_hash, os.path.basename(path),
                      size, content.hexdigest(), _metadata_digest(path))


def _partitions(device_path):
    for name in os.listdir(device_path):
        match = DATA_DIRECTORY.fullmatch(name)
        if match:
            top = os.path.join(device_path, name)
            for partition in filter(str.isdigit, os.listdir(top)):
                yield (int(match.group(1) or 0), int(partition),
                       os.path.join(top, partition))


def files_on_device(device_path):
    """
    :param device_path: where the device is mounted
    :returns: a frozenset of StoredFile
    """
    found = set()
    for policy, partition, top in _partitions(device_path):
        for directory, _, names in os.walk(top):
            if directory == top:
                continue   # hashes.pkl, locks: each node's own
            found.update(
                _stored_file(policy, partition, os.path.basename(directory),
                             os.path.join(directory, name))
                for name in names)
    return frozenset(found)


def survey(cluster):
    """
    Read every file of every device.

    :param cluster: a Cluster
    :returns: a dict of device -> frozenset of StoredFile
    """
    devices = [(device, cluster.device_path(node, device))
               for node in cluster.spec.node_numbers()
               for device in cluster.devices(node)]
    with ProcessPoolExecutor(READERS) as pool:
        pending = {device: pool.submit(files_on_device, path)
                   for device, path in devices}
        return {device: each.result() for device, each in pending.items()}


def placement(cluster):
    """
    :param cluster: a Cluster
    :returns: a dict of (policy index, partition) -> frozenset of devices
    """
    return {(policy.index, partition): frozenset(
        node['device'] for node in ring.get_part_nodes(partition))
        for policy in cluster.spec.policies
        for ring in [cluster.ring(policy)]
        for partition in range(ring.partition_count)}


@dataclass(frozen=True)
class Verdict:
    """
    What a survey shows.

    :param live: objects whose newest state has a ``.data`` file
    :param deleted: objects of which only a tombstone should be left
    :param outdated: replicas without the newest file of their object
    :param unclean: replicas that have it, but also files it supersedes, or
        have it with other contents or metadata
    :param differing: partitions that have outdated or unclean replicas
    :param handoffs: partitions found on a device that the ring does not name
    :param examples: some of all those, in words
    """

    live: int
    deleted: int
    outdated: int
    unclean: int
    differing: int
    handoffs: int
    examples: tuple

    @property
    def equal(self):
        return not self.differing and not self.handoffs

    def __str__(self):
        if self.equal:
            return 'all replicas identical'
        return ('%d replicas outdated, %d with superseded or wrong files, '
                'in %d partitions; %d hand-off copies of partitions' % (
                    self.outdated, self.unclean, self.differing,
                    self.handoffs))


def _newest(states):
    """
    Of the states with the newest file, one with the fewest files; of those,
    the one that most devices have.

    :returns: the name of the newest file, and the state
    """
    newest_name = max(stored.name for state in states for stored in state)
    frequency = Counter(
        state for state in states
        if any(stored.name == newest_name for stored in state))
    fewest = min(map(len, frequency))
    return newest_name, max(
        (state for state in frequency if len(state) == fewest),
        key=lambda state: (frequency[state],
                           sorted(stored.content for stored in state)))


def _by_object(found):
    objects = defaultdict(lambda: defaultdict(set))
    for device, stored_files in found.items():
        for stored in stored_files:
            objects[stored.policy, stored.partition, stored.object_hash][
                device].add(stored)
    return {key: {device: frozenset(state)
                  for device, state in on_device.items()}
            for key, on_device in sorted(objects.items())}


def judge(found, devices_of):
    """
    Compare every partition across the devices that the ring names for it.

    :param found: a survey
    :param devices_of: the placement
    :returns: a Verdict
    """
    live = deleted = 0
    wrong = {'outdated': [], 'unclean': []}
    handoffs = set()
    for key, on_device in _by_object(found).items():
        primaries = devices_of.get(key[:2], frozenset())
        handoffs.update((*key[:2], device)
                        for device in set(on_device) - primaries)
        name, newest = _newest(list(on_device.values()))
        if any(stored.name.endswith('.data') for stored in newest):
            live += 1
        else:
            deleted += 1
        for device in sorted(primaries):
            state = on_device.get(device, frozenset())
            if state != newest:
                has_newest = any(stored.name == name for stored in state)
                wrong['unclean' if has_newest else 'outdated'].append(
                    (*key, device))
    examples = [
        'policy %d, partition %d, object %s on %s: ' % each + what
        for what, replicas in wrong.items() for each in replicas[:EXAMPLES]]
    examples += ['policy %d, partition %d on %s: hand-off copy' % each
                 for each in sorted(handoffs)[:EXAMPLES]]
    return Verdict(
        live, deleted, len(wrong['outdated']), len(wrong['unclean']),
        len({each[:2] for replicas in wrong.values() for each in replicas}),
        len(handoffs), tuple(examples))
