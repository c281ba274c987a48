# SPDX-License-Identifier: Apache-2.0
"""What the processes of the engine want done, and what comes of it.

A process yields :class:`Pause`, :class:`Together` and actions; who runs it
sends back the result of each.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from swift_lightsync.common.address import NodeTuple, PlaceTuple
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import NEXT, Answer, Next
from swift_lightsync.sync.wire.notice import Notice

_Result = TypeVar('_Result')
#: A generator of actions.
Process = Generator[Any, Any, _Result]


@dataclass(frozen=True)
class Pause:
    """Waits.

    :param seconds: how long
    """
    seconds: float


@dataclass(frozen=True)
class Together:
    """Runs processes at the same time, until all are done.

    The result tells of each whether it came to its end: an unexpected
    exception, which the shell logs, ends only the process that it is raised
    in.

    :param processes: the processes
    :param limit: how many of them run at once
    """
    processes: Sequence[Process[None]]
    limit: int


class Outcome(Enum):
    """What became of a request."""
    ANSWERED = 1
    #: The connection was refused, or there is no route.
    REFUSED = 2
    #: No connection in time, or one without acknowledgements.
    SILENT = 3
    #: The connection broke before the answer.
    BROKEN = 4
    #: No answer in time.
    HANGING = 5


#: What a request that was not answered means for a round.
NO_ANSWER = {Outcome.REFUSED: Answer.REFUSED, Outcome.SILENT: Answer.TIMEOUT,
             Outcome.BROKEN: Answer.REFUSED, Outcome.HANGING: Answer.TIMEOUT}


@dataclass(frozen=True)
class Reply:
    """What came of a request; its action is the shell's own.

    :param outcome: what became of it
    :param value: the answer, if it is one
    :param refusal: what another answer means
    :param error: the exception that tells more, if there is one
    """
    outcome: Outcome
    value: Any = None
    refusal: Answer | None = None
    error: BaseException | None = None

    @property
    def answer(self) -> Answer | None:
        """What it means that there is no value; None: there is one."""
        return self.refusal or NO_ANSWER.get(self.outcome)

    @property
    def is_postponement(self) -> bool:
        """Whether to ask again later."""
        return self.answer is not None \
            and NEXT[self.answer] is Next.POSTPONE


@dataclass(frozen=True)
class Knock:
    """Makes a connection to a node, and closes it. Its result is a Reply.

    :param node: any device of the node
    """
    node: RingDevice


@dataclass(frozen=True)
class Failed:
    """Tells of a request that was not answered. Nobody waits for that.

    :param node: the device that it was sent to
    :param key: what it is charged to
    :param closes: whether the key has failed by it
    :param error: the exception that tells more, if there is one
    :param notice: what to tell other nodes, or None
    :param others: a device of each node to tell
    """
    node: RingDevice
    key: PlaceTuple
    closes: bool
    error: BaseException | None
    notice: Notice | None = None
    others: Sequence[RingDevice] = ()


#: The node that sends a request, if the ring names it.
Sender = NodeTuple | None
