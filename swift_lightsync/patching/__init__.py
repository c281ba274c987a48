# SPDX-License-Identifier: Apache-2.0
"""Applies the patches of this distribution to a Swift tree.

series reads the patches, hunks computes texts, tree reads and writes a Swift
tree. Nothing here imports Swift, so that a broken Swift can be mended.
"""


class PatchingError(Exception):
    """What was asked is refused, and the tree is as it was before."""
