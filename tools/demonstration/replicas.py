# SPDX-License-Identifier: Apache-2.0
"""
What is on all devices, and whether all replicas are identical.

A partition is in order when every device that the ring names for it holds the
same files and no other device holds any.
"""

from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from swift.common.utils import hash_path, set_swift_dir

from tools.demonstration.stored import files_on_device

READERS = 2
EXAMPLES = 5


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


def object_keys(cluster, account, names):
    """
    :param cluster: a Cluster
    :param account: the name of the account
    :param names: ObjectNames, in containers with the names of their policies
    :returns: a dict of (policy index, object hash) -> ObjectName
    """
    set_swift_dir(cluster.layout.etc)   # from where the hash is salted
    return {(cluster.spec.policy(each.container).index,
             hash_path(account, each.container, each.name)): each
            for each in names}


@dataclass(frozen=True)
class Verdict:
    """
    What a survey shows.

    :param contents: a dict of (policy index, object hash) -> digest of the
        newest content; None if only a tombstone should be left
    :param outdated: replicas without the newest file of their object
    :param unclean: replicas that have it, but also files it supersedes, or
        have it with other contents or metadata
    :param differing: partitions that have outdated or unclean replicas
    :param handoffs: partitions found on a device that the ring does not name
    :param examples: some of all those, in words
    """

    contents: dict
    outdated: int
    unclean: int
    differing: int
    handoffs: int
    examples: tuple

    @property
    def deleted(self):
        return sum(each is None for each in self.contents.values())

    @property
    def live(self):
        return len(self.contents) - self.deleted

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
    contents = {}
    wrong = {'outdated': [], 'unclean': []}
    handoffs = set()
    for key, on_device in _by_object(found).items():
        primaries = devices_of.get(key[:2], frozenset())
        handoffs.update((*key[:2], device)
                        for device in set(on_device) - primaries)
        name, newest = _newest(list(on_device.values()))
        contents[key[0], key[2]] = next(
            (stored.content for stored in newest
             if stored.name.endswith('.data')), None)
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
        contents, len(wrong['outdated']), len(wrong['unclean']),
        len({each[:2] for replicas in wrong.values() for each in replicas}),
        len(handoffs), tuple(examples))
