# SPDX-License-Identifier: Apache-2.0
"""
The sets of partitions that peers have sent, to be named by their digest.
"""

from collections import OrderedDict
from contextlib import nullcontext

from swift_lightsync.sync.core.partition_set import PartitionSet
from swift_lightsync.sync.wire.sync_message import DIGEST_BYTES

#: Bytes of all sets together; a partition mostly takes one.
CAPACITY = 16 << 20
#: Bytes that an entry takes besides its set.
ENTRY = 256


class KnownSets:
    """
    Remembers the sets used last, by content: it cannot be told a wrong one.

    :param capacity: bytes to remember at most, of all sets together
    :param lock: a lock, if threads use it at the same time; held for no longer
        than a look-up takes
    """

    def __init__(self, capacity=CAPACITY, lock=None):
        self.capacity = capacity
        self._encoded = OrderedDict()
        self._bytes = 0
        self._lock = lock or nullcontext()

    def find(self, message):
        """
        The set that a message is about.

        :param message: a ``sync_message.Roots``
        :returns: a PartitionSet, or None if the message has the digest of one
            that is not known
        :raises PartitionSetError: if the digest is that of a set of another
            size than the message says
        """
        if message.partitions is not None:
            self._remember(message.partitions)
            return message.partitions
        with self._lock:
            encoded = self._encoded.get(message.digest)
            if encoded is None:
                return None
            self._encoded.move_to_end(message.digest)
        return PartitionSet.decode(encoded, message.count)

    def _remember(self, partitions):
        if len(partitions.encoded) <= DIGEST_BYTES:
            # Nobody names it by its digest.
            return
        digest, encoded = partitions.digest, partitions.encoded
        with self._lock:
            if digest in self._encoded:
                self._encoded.move_to_end(digest)
                return
            self._encoded[digest] = encoded
            self._bytes += len(encoded) + ENTRY
            while self._bytes > self.capacity:
                self._bytes -= len(
                    self._encoded.popitem(last=False)[1]) + ENTRY
