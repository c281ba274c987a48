# SPDX-License-Identifier: Apache-2.0
"""The sets of partitions that peers have sent and now name by digest."""

from collections import OrderedDict
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from swift_lightsync.sync.core.shared_set import SharedSet
from swift_lightsync.sync.wire.sync_message import DIGEST_BYTES, Roots

#: Bytes of all sets together; a partition mostly takes one.
CAPACITY = 16 << 20
#: Bytes that an entry takes besides its set.
ENTRY = 256


class KnownSets:
    """Remembers the sets used last, by the digest of their content.

    The digest is computed here, so no peer can make it name another set.

    :param capacity: bytes to remember at most, of all sets together
    :param lock: a lock, if threads use it at the same time; it is held for no
        longer than a look-up takes
    """

    def __init__(self, capacity: int = CAPACITY,
                 lock: AbstractContextManager[Any] | None = None) -> None:
        self.capacity = capacity
        #: The bytes of each set by its digest, the one used last at the end.
        self._encoded: OrderedDict[bytes, bytes] = OrderedDict()
        self._bytes = 0
        self._lock = lock or nullcontext()

    def find(self, message: Roots) -> SharedSet | None:
        """Return the set that a message is about.

        :param message: a decoded sync message
        :returns: the set, or None if the message names it by a digest that
            is not known
        :raises PartitionSetError: if the set with that digest has another
            size than the message says
        """
        if message.partitions is not None:
            self._remember(message.partitions)
            return message.partitions
        if message.digest is None:
            return None
        with self._lock:
            encoded = self._encoded.get(message.digest)
            if encoded is None:
                return None
            self._encoded.move_to_end(message.digest)
        return SharedSet.decode(encoded, message.count)

    def _remember(self, partitions: SharedSet) -> None:
        if len(partitions.encoded) <= DIGEST_BYTES:
            # So short a set is never named by its digest.
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
