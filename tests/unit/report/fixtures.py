# SPDX-License-Identifier: Apache-2.0
"""Records and answers for the tests of the report."""

from dataclasses import replace

from swift_lightsync.common.nodes import Outcome, Reply
from swift_lightsync.report.answer import NodeAnswer, State, Suspect
from swift_lightsync.report.health import Ring, assess
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.recon_records import PairRecord, PassRecord

NOW = 1000000.0


def place(number, device='sda'):
    """The device of a node on the replication network."""
    return '10.1.0.%d' % number, 6300, device


def host(number):
    """The address of a node's object-server."""
    return '10.0.0.%d' % number, 6200


PAIR = PairRecord(0, place(1), place(2), NOW - 9000, NOW - 10, NOW - 10, 64,
                  0, 0, Answer.MATCH)
PASS = PassRecord(place(1), NOW - 5, 20.0, 64, 2, 1)
SUSPECT = Suspect(place(2)[:2], State.FAILED, 10, NOW + 30)
RING = Ring(0, 'gold', {place(number): host(number) for number in (1, 2, 3)})


def reply(number=1, pairs=(PAIR,), devices=(PASS,), suspects=(), **fields):
    """An answer of a node."""
    answer = NodeAnswer(NOW, '/cache', tuple(pairs), tuple(devices),
                        tuple(suspects))
    return Reply(host(number), Outcome.ANSWERED,
                 answer=replace(answer, **fields))


def health(*replies, rings=(RING,), stale_after=3600):
    return assess(rings, list(replies or [reply()]), stale_after, NOW)
