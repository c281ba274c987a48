# SPDX-License-Identifier: Apache-2.0
"""
The objects of a benchmark, and the changes that scenarios make to them.

Everything here follows from the seed, so that both contestants get the same
bytes, names and timestamps.
"""

import random
from dataclasses import dataclass

from swift.common.utils import Timestamp, quorum_size

#: Seconds between the timestamps of two objects.
STEP = 0.001
#: Seconds after the epoch at which the changes of a scenario begin.
CHANGES = 1800.0
#: The share of the objects that a scenario changes (LightSync §3.5-3.6).
CHANGED_SHARE = 0.1


@dataclass(frozen=True)
class Version:
    """
    What was last done to an object.

    :param name: of the object
    :param timestamp: when, seconds since 1970
    :param size: bytes; 0 for a delete
    :param deleted: whether it was deleted
    """
    name: str
    timestamp: float
    size: int
    deleted: bool = False

    @property
    def file_name(self):
        """The name of the file that Swift keeps of it."""
        return Timestamp(self.timestamp).internal + (
            '.ts' if self.deleted else '.data')

    def body(self, seed):
        """:returns: its bytes"""
        return random.Random('%s/%s/%r' % (
            seed, self.name, self.timestamp)).randbytes(self.size)


@dataclass(frozen=True)
class Write:
    """
    A version, and the devices that it reaches.

    :param version: a Version
    :param devices: the names of the devices, a tuple
    """
    version: Version
    devices: tuple


class DataSet:
    """
    :param seed: all choices follow from it
    :param count: how many objects there are
    :param sizes: (least, greatest) size of an object, bytes
    :param epoch: timestamp of the oldest object
    """

    def __init__(self, seed, count, sizes, epoch):
        self.seed = seed
        self.count = count
        self.sizes = sizes
        self.epoch = epoch
        self.objects = self._versions('object', count, seed, epoch)

    def _versions(self, prefix, count, seed, begin):
        rng = random.Random('%s/%s' % (seed, prefix))
        return tuple(
            Version('%s-%07d' % (prefix, i), begin + i * STEP,
                    rng.randint(*self.sizes)) for i in range(count))

    @property
    def changed(self):
        """How many objects a scenario changes."""
        return max(1, round(self.count * CHANGED_SHARE))


class Changes:
    """
    The changes of one trial: each method returns a list of Write.

    :param data_set: the DataSet
    :param devices_of: a function of a name: the devices of its replicas
    :param live: the names of the devices that can be written to
    :param seed: of the trial
    """

    def __init__(self, data_set, devices_of, live, seed):
        self.data_set = data_set
        self.devices_of = devices_of
        self.live = frozenset(live)
        self.rng = random.Random('%s/%s' % (data_set.seed, seed))
        self.begin = data_set.epoch + CHANGES

    def _quorum(self, name):
        devices = sorted(self.devices_of(name))
        return tuple(self.rng.sample(devices, quorum_size(len(devices))))

    def _chosen(self):
        return self.rng.sample(self.data_set.objects, self.data_set.changed)

    def creations(self):
        """New objects, each at a quorum of its devices."""
        new = self.data_set._versions('new', self.data_set.changed,
                                      self.rng.random(), self.begin)
        return [Write(version, self._quorum(version.name))
                for version in new]

    def deletions(self):
        """Tombstones, each at a quorum of its devices."""
        return [Write(Version(old.name, self.begin + i * STEP, 0, True),
                      self._quorum(old.name))
                for i, old in enumerate(self._chosen())]

    def rewrites(self):
        """Deletes, then new objects in their place, at all live devices."""
        deletes, creates = [], []
        for i, old in enumerate(self._chosen()):
            devices = tuple(sorted(self.live & set(
                self.devices_of(old.name))))
            at = self.begin + i * STEP
            deletes.append(Write(Version(old.name, at, 0, True), devices))
            creates.append(Write(
                Version(old.name, at + CHANGES / 2,
                        self.rng.randint(*self.data_set.sizes)), devices))
        return deletes + creates
