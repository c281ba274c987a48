# SPDX-License-Identifier: Apache-2.0
"""
What the objects of a policy cost the file systems of a cluster.

What grows with the number of objects is counted apart from what does not: the
directory, hashes and lock of each partition, and what volumes need besides
themselves and their index.
"""

import os
from contextlib import suppress
from dataclasses import dataclass

from swift_losf.format.layout import Layout


@dataclass(frozen=True)
class Cost:
    """
    :param entries: files and directories
    :param allocated: bytes that they take on the disks, without inodes
    """

    entries: int = 0
    allocated: int = 0

    def __add__(self, other):
        return Cost(self.entries + other.entries,
                    self.allocated + other.allocated)


@dataclass(frozen=True)
class Footprint:
    """
    :param objects: the Cost that grows with the number of objects
    :param fixed: the Cost of all else
    """

    objects: Cost = Cost()
    fixed: Cost = Cost()

    def __add__(self, other):
        return Footprint(self.objects + other.objects,
                         self.fixed + other.fixed)


def _cost(path):
    # A LevelDB removes files of its own while it is counted.
    with suppress(FileNotFoundError):
        return Cost(1, 512 * os.lstat(path).st_blocks)
    return Cost()


def _costs(top):
    """Yield (path below top, Cost) of each file and directory there."""
    for directory, subdirectories, names in os.walk(top):
        for name in subdirectories + names:
            path = os.path.join(directory, name)
            yield os.path.relpath(path, top), _cost(path)


def _total(costs, of_objects):
    """
    :param costs: (path, Cost) of each file and directory
    :param of_objects: tells of a path whether there are more with more objects
    """
    total = Footprint()
    for path, cost in costs:
        total += (Footprint(objects=cost) if of_objects(path)
                  else Footprint(fixed=cost))
    return total


def of_device(device_path, policy_index):
    """
    :param device_path: where a device is mounted
    :param policy_index: of a storage policy
    :returns: the Footprint of the policy there
    """
    layout = Layout(device_path, policy_index)
    suffixes = _total(_costs(layout.objects), lambda path: os.path.isdir(
        os.path.join(layout.objects, *path.split(os.sep)[:2]))
        and os.sep in path)
    volumes = _total(_costs(layout.root), lambda path: path.startswith(
        ('volumes' + os.sep, 'index' + os.sep)))
    return suffixes + volumes


def of_cluster(cluster, policy):
    """
    :param cluster: a Cluster
    :param policy: a Policy of it
    :returns: the Footprint of the policy on all devices
    """
    return sum((of_device(cluster.device_path(node, device), policy.index)
                for node in cluster.spec.node_numbers()
                for device in cluster.devices(node)), Footprint())
