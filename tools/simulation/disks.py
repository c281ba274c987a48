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
The disks: the versions of the suffixes that each replica holds.

All replicas begin equal. A suffix that nobody has written since is held by
all with version 0, and is left out of the roots; it counts where suffix
hashes are sent.
"""

from swift_lightsync.sync import merkle


class Replica:
    """
    One partition on one device.

    :param versions: suffix -> version; the higher is the newer
    :param dirty: suffixes that have to be hashed before they are compared
    """

    __slots__ = ('versions', 'dirty', 'exchanged', '_root')

    def __init__(self):
        self.versions = {}
        self.dirty = set()
        self.exchanged = 0.0
        self._root = None

    @property
    def root(self):
        if self._root is None:
            self._root = merkle.root({
                '%04x' % suffix: '%x' % version
                for suffix, version in self.versions.items()})
        return self._root

    def store(self, suffix, version):
        """
        Take a version, if it is newer.

        :returns: whether it was
        """
        if version <= self.versions.get(suffix, 0):
            return False
        self.versions[suffix] = version
        self.dirty.add(suffix)
        self._root = None
        return True

    def hash(self):
        """:returns: how many suffixes had to be hashed for it"""
        hashed = len(self.dirty)
        self.dirty.clear()
        return hashed


class Disks:
    """
    All replicas.

    :param rows: the nodes that hold each partition
    :param objects: objects of a partition, each in a suffix of its own
    """

    def __init__(self, rows, objects):
        self.rows = rows
        self.objects = objects
        self._replicas = {}
        self._deleted = set()

    def replica(self, node, partition):
        place = node, partition
        if place not in self._replicas:
            self._replicas[place] = Replica()
        return self._replicas[place]

    def write(self, partition, suffix, version, holders, delete=False):
        """A client's write, that reaches some of the nodes."""
        if delete:
            self._deleted.add((partition, suffix, version))
        for node in holders:
            self.replica(node, partition).store(suffix, version)

    def suffixes(self, node, partition):
        """How many suffixes a replica has."""
        versions = self.replica(node, partition).versions
        return self.objects + sum(suffix >= self.objects
                                  for suffix in versions)

    def lacking(self, sender, receiver, partition):
        """What differs and is pushed: suffix -> version at the sender."""
        ours = self.replica(sender, partition).versions
        theirs = self.replica(receiver, partition).versions
        differ = {suffix: version for suffix, version in ours.items()
                  if theirs.get(suffix, 0) != version}
        # The sender's old version of what is newer there is pushed as well.
        differ.update((suffix, 0) for suffix in theirs
                      if suffix < self.objects and suffix not in ours)
        return differ

    def has_contents(self, partition, suffix, version):
        """Whether a version is an object, and not a tombstone."""
        return (partition, suffix, version) not in self._deleted

    def differs(self, partition, down=()):
        """Whether the replicas on nodes that are up are not all equal."""
        return len({self.replica(node, partition).root
                    for node in self.rows[partition]
                    if node not in down}) > 1

    def newest(self, partition):
        """The newest version of each suffix, wherever it is."""
        newest = {}
        for node in self.rows[partition]:
            for suffix, version in self.replica(
                    node, partition).versions.items():
                newest[suffix] = max(version, newest.get(suffix, 0))
        return newest

    def state(self):
        """All contents, to be compared with those of another world."""
        return {place: dict(replica.versions)
                for place, replica in self._replicas.items()
                if replica.versions}
