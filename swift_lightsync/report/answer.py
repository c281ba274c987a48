# SPDX-License-Identifier: Apache-2.0
"""
What a node answers to ``GET /recon/lightsync``: made by it, and read by the
report.
"""

import json
from dataclasses import asdict, dataclass
from enum import Enum

from swift_lightsync.common.nodes import Question
from swift_lightsync.common.places import place
from swift_lightsync.common.recon_record import (
    ReconError,
    Record,
    count,
    number,
    parsed_by,
    text,
)
from swift_lightsync.sync.recon_records import PairRecord, PassRecord

PATH = '/recon/lightsync'


class State(Enum):
    """How a node sees another node or device that once did not answer."""
    FAILED = 'failed'
    REJOINING = 'rejoining'
    #: It let somebody wait; the next time-out decides.
    HINTED = 'hinted'
    #: Exceptions, but fewer than it takes.
    COUNTING = 'counting'


@dataclass(frozen=True)
class Suspect(Record):
    """A row of a node's failure table. See RECON.md."""
    key: tuple = parsed_by(place)
    state: State = parsed_by(State)
    exceptions: int = parsed_by(count)
    until: float = parsed_by(number)


def suspects(table, now):
    """
    :param table: a FailureTable
    :param now: the time, seconds
    :returns: a list of :class:`Suspect`
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
class NodeAnswer:
    """
    :param time: the node's clock, Unix time; all its times are of it
    :param source: the directory of its recon files: processes of a host that
        have it in common tell of the same
    :param pairs: a tuple of PairRecords
    :param devices: a tuple of PassRecords
    :param suspects: a tuple of Suspects
    """
    time: float
    source: str
    pairs: tuple
    devices: tuple
    suspects: tuple

    def encode(self):
        """:returns: the bytes of the answer"""
        return json.dumps(dict(asdict(self), **{
            name: [each.to_fields() for each in getattr(self, name)]
            for name in ('pairs', 'devices', 'suspects')})).encode('ascii')


def decode(data):
    """
    :param data: bytes
    :returns: a :class:`NodeAnswer`
    :raises ReconError: if they are none
    """
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError) as err:
        raise ReconError('no JSON: %s' % err)
    if not isinstance(answer, dict):
        raise ReconError('%.80r must be an object' % (answer,))
    try:
        return NodeAnswer(
            number(answer['time']), text(answer['source']),
            *(tuple(kind.of_fields(each) for each in answer[name])
              for kind, name in ((PairRecord, 'pairs'),
                                 (PassRecord, 'devices'),
                                 (Suspect, 'suspects'))))
    except KeyError as err:
        raise ReconError('%s is missing' % err)
    except TypeError as err:
        raise ReconError('no list of records: %s' % err)


#: How far the replicators are.
QUESTION = Question(PATH, decode)
