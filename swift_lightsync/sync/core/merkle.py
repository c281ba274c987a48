# SPDX-License-Identifier: Apache-2.0
"""
Hashing of Hashes: one root for all suffix hashes of a partition.

LightSync §5.2, Figs. 19-20. PROTOCOL.md, "The root", has the bytes.
"""

from collections.abc import Mapping
from hashlib import md5

EMPTY, LEAF, NODE = b'\x00', b'\x01', b'\x02'


def _hash(kind: bytes, *parts: bytes) -> bytes:
    digest = md5(kind, usedforsecurity=False)
    for part in parts:
        digest.update(part)
    return digest.digest()


def root(suffix_hashes: Mapping[str, str]) -> str:
    """
    Aggregate the suffix hashes of a partition into the root of their tree.

    The leaves are (suffix, hash) pairs in the order of the suffixes, so that
    two partitions have one root only when they hold the same suffixes with
    the same hashes; a suffix that is missing, or whose hash moved to another
    suffix, changes it.

    :param suffix_hashes: the hash of each suffix (3 hex digits), without the
        ``valid`` and ``updated`` keys of hashes.pkl
    :returns: the root, 32 hex digits
    """
    level = [_hash(LEAF, suffix.encode('ascii'), digest.encode('ascii'))
             for suffix, digest in sorted(suffix_hashes.items())]
    if not level:
        return _hash(EMPTY).hex()
    while len(level) > 1:
        pairs = [_hash(NODE, left, right)
                 for left, right in zip(level[::2], level[1::2])]
        # An odd last node rises a level as it is.
        level = pairs + level[2 * len(pairs):]
    return level[0].hex()
