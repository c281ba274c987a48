# SPDX-License-Identifier: Apache-2.0
"""What an exchange of many partitions wants done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from swift_lightsync.sync.core.engine.actions import Reply
from swift_lightsync.sync.core.engine.rounds import Round
from swift_lightsync.sync.core.replica_ring import RingDevice


@dataclass(frozen=True)
class Difference:
    """How a partition differs between a neighbour and here.

    :param suffixes: the suffixes that differ
    :param absent: those of them of which the neighbour has nothing
    :param count: how many suffixes the partition has here
    """
    suffixes: Sequence[str]
    absent: frozenset[str]
    count: int


#: By the round of the partition.
Differences = Mapping[Round, Difference]


@dataclass(frozen=True)
class Batch:
    """Partitions of one device and policy, and a device to exchange them with.

    :param node: the device
    :param rounds: the rounds of the partitions, one at least
    """
    node: RingDevice
    rounds: Sequence[Round]

    @property
    def policy(self) -> Any:
        """The policy of the partitions."""
        return self.rounds[0].policy

    @property
    def device(self) -> str:
        """The name of the local device."""
        return self.rounds[0].device


@dataclass(frozen=True)
class MayGoOn:
    """Finds out whether the ring is still the pass's; the result is a bool."""
    batch: Batch


@dataclass(frozen=True)
class AskSuffixes:
    """Asks for suffix hashes; the value of its Reply has them by partition.

    :param batch: the batch
    :param partitions: the partitions that are asked about
    """
    batch: Batch
    partitions: Sequence[int]


@dataclass(frozen=True)
class Compare:
    """Compares partitions with a neighbour's suffix hashes.

    The result has the Difference of each partition that could be read.

    :param batch: the batch
    :param theirs: the neighbour's suffix hashes, by partition
    """
    batch: Batch
    theirs: Mapping[int, Any]


@dataclass(frozen=True)
class AskMissing:
    """Finds out what a neighbour lacks; the value of its Reply has the paths
    by partition, without those that cannot be read here or there.

    It is charged already: it may take several messages, or none.

    :param batch: the batch
    :param differing: what differs
    :param all_of_it: whether the neighbour can only be pushed whole suffixes
    """
    batch: Batch
    differing: Differences
    all_of_it: bool


@dataclass(frozen=True)
class PushPaths:
    """Pushes paths at once; the result tells whether all of them were.

    :param batch: the batch
    :param differing: what differs, of the rounds that have paths
    :param paths: the paths of each round, relative to the objects directory
    """
    batch: Batch
    differing: Differences
    paths: Mapping[Round, Sequence[str]]


@dataclass(frozen=True)
class PushSuffixes:
    """Pushes a partition's suffixes by itself; the result tells if all were.

    :param batch: the batch
    :param round: the partition's round
    :param suffixes: what to push
    """
    batch: Batch
    round: Round
    suffixes: Sequence[str]


@dataclass(frozen=True)
class AskRehash:
    """Makes a neighbour hash suffixes anew; its result is a Reply.

    :param batch: the batch
    :param suffixes: the suffixes by partition
    """
    batch: Batch
    suffixes: Mapping[int, Sequence[str]]


@dataclass(frozen=True)
class GaveUp:
    """Tells that a batch is left to be exchanged one by one.

    :param batch: the batch
    :param reply: why
    """
    batch: Batch
    reply: Reply
