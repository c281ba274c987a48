# SPDX-License-Identifier: Apache-2.0
"""What the states in a segment tell together, without reading each record.

PROTOCOL.md, "The log".
"""

import re
from typing import Iterator, Optional, Tuple

from swift_lightsync.proar.core.oplog import (
    EXPOSED,
    OVER,
    RECORD,
    RING_OFFSET,
    STATE_OFFSET,
    State,
)

#: Who has noted one of these has seen the record synced.
DURABLE = State.COMMITTED, State.HELD, State.CONVERGED
_NOT_OVER = re.compile(b'[^%s]' % re.escape(bytes(OVER)), re.DOTALL)


def exposed(content: bytes, has_writer: bool) -> Tuple[int, Optional[int]]:
    """Count the operations of a segment that no other device is known to hold.

    :param content: of the segment, from its begin on
    :param has_writer: whether its intents are those of a process at work;
        if not, they may be durable
    :returns: how many, and the index of the oldest, None if there is none
    """
    states = content[STATE_OFFSET::RECORD]
    # The first byte is the header's.
    wanted = EXPOSED if has_writer else (*EXPOSED, State.INTENT)
    places = [states.find(state, 1) for state in wanted]
    return (sum(states.count(state, 1) for state in wanted),
            min((each for each in places if each > 0), default=None))


def not_over(content: bytes, ring_version: int) -> Iterator[int]:
    """Yield the indexes of the records of a segment that some device may lack.

    :param content: of the segment, from its begin on
    :param ring_version: of the present object ring
    """
    ring = ring_version.to_bytes(4, 'little')
    records = len(content) // RECORD - 1
    if all(content[RECORD + RING_OFFSET + place::RECORD].count(byte)
           == records for place, byte in enumerate(ring)):
        states = content[STATE_OFFSET::RECORD]
        yield from (match.start() for match in _NOT_OVER.finditer(states, 1))
    else:
        yield from range(1, records + 1)


def position(content: bytes) -> Tuple[int, int]:
    """Return how far a segment is.

    :param content: of the segment, from its begin on
    :returns: the index of the last record whose operation was acknowledged,
        or could have been, and so is durable; and of the last record
    """
    states = content[STATE_OFFSET::RECORD]
    durable = max(states.rfind(state, 1) for state in DURABLE)
    return max(durable, 0), len(content) // RECORD - 1
