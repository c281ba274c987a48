# SPDX-License-Identifier: Apache-2.0
"""The disks: the versions of the suffixes that each replica holds.

All replicas begin equal. A suffix that nobody has written since then has
version 0 and is left out of the roots; it counts where suffix hashes are sent.
A replica that comes to a node later begins without any suffix.
"""

from swift_lightsync.sync.core import merkle


class Replica:
    """One partition on one device.

    :param missing: the suffixes that all replicas have at first and it lacks
    """

    __slots__ = ('versions', 'missing', 'dirty', 'exchanged', '_root')

    def __init__(self, missing=()):
        #: Suffix -> version; the higher is the newer.
        self.versions = {}
        self.missing = set(missing) if missing else ()
        #: Suffixes that have to be hashed before they are compared.
        self.dirty = ()
        self.exchanged = 0.0
        self._root = None

    @property
    def root(self):
        if self._root is None:
            leaves = {'%04x' % suffix: '%x' % version
                      for suffix, version in self.versions.items()}
            leaves.update(('%04x' % suffix, '') for suffix in self.missing)
            self._root = merkle.root(leaves)
        return self._root

    def version(self, suffix):
        """Return the version of a suffix, or -1 if the replica lacks it."""
        return self.versions.get(suffix, -1 if suffix in self.missing else 0)

    def store(self, suffix, version):
        """Store a version, if it is newer.

        :returns: whether it was
        """
        if version <= self.version(suffix):
            return False
        if version:
            self.versions[suffix] = version
        if suffix in self.missing:
            self.missing.discard(suffix)
        self.dirty = self.dirty or set()
        self.dirty.add(suffix)
        self._root = None
        return True

    def hash(self):
        """Bring the suffix hashes up to date.

        :returns: how many suffixes had to be hashed
        """
        hashed = len(self.dirty)
        self.dirty = ()
        return hashed


class Disks:
    """All replicas.

    :param placement: the :class:`Placement` in the beginning
    :param objects: objects of a partition, each in a suffix of its own
    """

    def __init__(self, placement, objects):
        self.objects = objects
        self._replicas = {}
        #: The partitions that each node holds, and the nodes that hold each.
        self.held = [set(held) for held in placement.held]
        self.holders = [set(row) for row in placement.rows]
        self._deleted = set()

    def replica(self, node, partition):
        """Return the replica of a node that holds the partition, or soon will.
        """
        place = node, partition
        if place not in self._replicas:
            missing = () if partition in self.held[node] else range(
                self.objects)
            self._replicas[place] = Replica(missing)
        return self._replicas[place]

    def root(self, node, partition):
        return self.replica(node, partition).root

    def store(self, node, partition, differ):
        """Store suffixes, a dict to versions, each if it is newer."""
        replica = self.replica(node, partition)
        for suffix, version in differ.items():
            replica.store(suffix, version)
        self.held[node].add(partition)
        self.holders[partition].add(node)

    def remove(self, node, partition):
        """Delete a replica."""
        self.held[node].discard(partition)
        self.holders[partition].discard(node)
        self._replicas.pop((node, partition), None)

    def write(self, partition, suffix, version, holders, delete=False):
        """Play a client's write that reaches some of the nodes."""
        if delete:
            self._deleted.add((partition, suffix, version))
        for node in holders:
            self.store(node, partition, {suffix: version})

    def suffixes(self, node, partition):
        """Return how many suffixes a replica has."""
        replica = self.replica(node, partition)
        return self.objects - len(replica.missing) + sum(
            suffix >= self.objects for suffix in replica.versions)

    def lacking(self, sender, receiver, partition):
        """Return the suffixes that differ and are pushed: suffix -> version at
        the sender.
        """
        ours = self.replica(sender, partition)
        theirs = self.replica(receiver, partition)
        # The sender's old version of what is newer there is pushed as well.
        suspects = set(ours.versions).union(
            (suffix for suffix in theirs.versions if suffix < self.objects),
            theirs.missing).difference(ours.missing)
        return {suffix: ours.version(suffix) for suffix in sorted(suspects)
                if ours.version(suffix) != theirs.version(suffix)}

    def has_contents(self, partition, suffix, version):
        """Check whether a version is an object rather than a tombstone."""
        return (partition, suffix, version) not in self._deleted

    def differs(self, partition, nodes):
        """Check whether the replicas on some nodes differ from each other."""
        return len({self.root(node, partition) for node in nodes}) > 1

    def newest(self, partition):
        """Return the newest version of each written suffix, on any node."""
        newest = {}
        for node in self.holders[partition]:
            for suffix, version in self.replica(
                    node, partition).versions.items():
                newest[suffix] = max(version, newest.get(suffix, 0))
        return newest

    def stale(self, node, partition, newest):
        """Return how many suffixes of a replica are not the newest."""
        replica = self.replica(node, partition)
        return len(set(replica.missing).difference(newest)) + sum(
            replica.version(suffix) < version
            for suffix, version in newest.items())

    def state(self):
        """Return all contents, to compare them with another world's."""
        return {place: dict(replica.versions)
                for place, replica in self._replicas.items()
                if replica.versions}
