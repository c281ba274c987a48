# SPDX-License-Identifier: Apache-2.0
"""
Operations that begin in the run time of a work and end after it: they count
in no figure, but a run whose last ones hang has to tell of it.
"""

from dataclasses import dataclass


@dataclass
class Late:
    """Mutable."""

    operations: int = 0
    #: Of these.
    failed: int = 0
    #: After the run time, when the last one ended.
    seconds: float = 0.0

    def add(self, seconds, failed):
        """
        :param seconds: after the run time
        :param failed: whether the operation was no success
        """
        self.operations += 1
        self.failed += failed
        self.seconds = max(self.seconds, seconds)

    def merge(self, other):
        self.operations += other.operations
        self.failed += other.failed
        self.seconds = max(self.seconds, other.seconds)

    @classmethod
    def from_json(cls, node):
        """
        :param node: a ``Node``
        :raises ResultError: if it is none
        """
        return cls(node.member('operations').integer(),
                   node.member('failed').integer(),
                   node.member('seconds').number(0, 1e12))
