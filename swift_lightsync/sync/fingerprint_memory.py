# SPDX-License-Identifier: Apache-2.0
"""The fingerprints of many partitions, kept in little memory."""

import ctypes
import struct
import time
from contextlib import suppress

from swift_lightsync.sync.changed_file import Fingerprint


def give_memory_back() -> None:
    """Have the C library return what is free to the kernel.

    It keeps what threads have freed, which is much after many partitions were
    looked at for the first time.
    """
    # Other libraries than glibc have no such function.
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


class FingerprintMemory:
    """Fingerprints that were current once, a hundred bytes each.

    Those that nobody has asked for in an hour or two are forgotten: their
    partitions have left the node.
    """

    #: root, fragment, suffixes, source, exchanged
    PACKED = struct.Struct('<16shHQQqd')
    INTERVAL = 3600

    def __init__(self) -> None:
        self._recent: dict[int, bytes] = {}
        self._older: dict[int, bytes] = {}
        self._begin = time.monotonic()

    def get(self, key: int) -> Fingerprint | None:
        """Return the fingerprint of a partition, or None."""
        now = time.monotonic()
        if now - self._begin >= self.INTERVAL:
            self._begin = now
            self._recent, self._older = {}, self._recent
        packed = self._recent.get(key)
        if packed is None:
            packed = self._older.pop(key, None)
            if packed is None:
                return None
            self._recent[key] = packed
        root, fragment, suffixes, *source, exchanged = self.PACKED.unpack(
            packed)
        return Fingerprint(root.hex(), suffixes, tuple(source), exchanged,
                           fragment=fragment)

    def put(self, key: int, known: Fingerprint) -> None:
        """Remember the fingerprint of a partition, which was current once."""
        self._recent[key] = self.PACKED.pack(
            bytes.fromhex(known.root), known.fragment, known.suffixes,
            *known.source, known.exchanged)

    def drop(self, key: int) -> None:
        """Forget the fingerprint of a partition."""
        self._recent.pop(key, None)
        self._older.pop(key, None)
