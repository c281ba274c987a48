# SPDX-License-Identifier: Apache-2.0
"""Hashing of Hashes: one root for all suffix hashes of a partition.

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


def leaf(name: str, digest: str) -> bytes:
    """Return the leaf of a suffix and its hash, 16 bytes."""
    return _hash(LEAF, name.encode('ascii'), digest.encode('ascii'))


def node(left: bytes, right: bytes) -> bytes:
    """Return the node above two others, 16 bytes."""
    return _hash(NODE, left, right)


#: The root of no suffixes.
EMPTY_ROOT = _hash(EMPTY).hex()


def root(suffix_hashes: Mapping[str, str]) -> str:
    """Aggregate the suffix hashes of a partition into the root of their tree.

    The leaves are (suffix, hash) pairs in the order of the suffixes, so that
    two partitions have one root only when they hold the same suffixes with
    the same hashes; a suffix that is missing, or whose hash moved to another
    suffix, changes it.

    :param suffix_hashes: the hash of each suffix (3 hex digits), without the
        ``valid`` and ``updated`` keys of hashes.pkl
    :returns: the root, 32 hex digits
    """
    return top([leaf(suffix, digest)
                for suffix, digest in sorted(suffix_hashes.items())])


def top(level: list[bytes]) -> str:
    """Return the root of a tree with these leaves, 32 hex digits."""
    if not level:
        return EMPTY_ROOT
    while len(level) > 1:
        pairs = [node(left, right)
                 for left, right in zip(level[::2], level[1::2])]
        # An odd last node rises a level as it is.
        level = pairs + level[2 * len(pairs):]
    return level[0].hex()
