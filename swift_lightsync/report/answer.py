# SPDX-License-Identifier: Apache-2.0
"""What a node answers to ``GET /recon/lightsync``: written by the recon
filter, and read by the report.
"""

import json
from dataclasses import dataclass
from enum import Enum

from swift_lightsync.common.address import Place
from swift_lightsync.common.nodes import MAX_BYTES, Question
from swift_lightsync.common.records import Record
from swift_lightsync.sync.core.failure_table import FailureTable
from swift_lightsync.sync.recon_records import (
    Count,
    Number,
    PairRecord,
    PassRecord,
)

PATH = '/recon/lightsync'


class State(Enum):
    """How a node sees another node or device that once did not answer."""
    FAILED = 'failed'
    REJOINING = 'rejoining'
    #: It timed out; the next time-out makes it fail.
    HINTED = 'hinted'
    #: It had exceptions, but fewer than make it fail.
    COUNTING = 'counting'


@dataclass(frozen=True)
class Suspect(Record):
    """A row of a node's failure table. See RECON.md."""
    key: Place
    state: State
    exceptions: Count
    until: Number


def suspects(table: FailureTable, now: float) -> list[Suspect]:
    """Return the rows of a failure table that still count.

    :param table: the table; what is past is dropped from it
    :param now: the time, seconds
    """
    table.forget(now)
    found = []
    for key in sorted({*table.rows, *table.hints, *table.rejoined}, key=str):
        row = table.row(key, now)
        if row.n_exception >= table.limit:
            state = State.FAILED
        elif key in table.rejoined:
            state = State.REJOINING
        else:
            state = State.HINTED if key in table.hints else State.COUNTING
        last = max(row.t_exception, table.hints.get(key, 0),
                   table.rejoined.get(key, 0))
        found.append(Suspect(key, state, row.n_exception,
                             last + table.interval))
    return found


@dataclass(frozen=True)
class NodeAnswer(Record):
    """The answer of one node. See RECON.md.

    :param time: the node's clock, Unix time; all its times are of it
    :param source: the directory of its recon files; processes of one host
        that share it answer the same
    :param pairs: what it knows of pairs of devices
    :param devices: the last pass over each device
    :param suspects: the rows of its failure table
    """
    time: Number
    source: str
    pairs: tuple[PairRecord, ...]
    devices: tuple[PassRecord, ...]
    suspects: tuple[Suspect, ...]

    def encode(self) -> bytes:
        """Return the bytes of the answer."""
        return json.dumps(self.to_json()).encode('ascii')


def decode(data: bytes) -> NodeAnswer:
    """Decode an answer.

    :param data: the bytes of the answer
    :raises RecordError: if they are no answer
    """
    return NodeAnswer.parse(data, 2 * MAX_BYTES)


#: Asks how far the replicators are.
QUESTION = Question(PATH, decode)
