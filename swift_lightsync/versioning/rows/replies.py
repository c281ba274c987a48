# SPDX-License-Identifier: Apache-2.0
"""What one or several container servers answer to the verb VERSION."""

from dataclasses import dataclass
from typing import Annotated

from swift.common.http import HTTP_CONFLICT, HTTP_NOT_FOUND, HTTP_OK

from swift_lightsync.common.records import Between, Length, Record
from swift_lightsync.versioning.core import verb

#: Where a node did not answer.
NO_ANSWER = 0


@dataclass(frozen=True)
class Refusal(Record):
    """What a container server says of a clock that differs from its own."""
    error: Annotated[str, Length(10000)]
    clock: Annotated[float, Between(0, 1e10)]


@dataclass(frozen=True)
class Reply:
    """What came of a request to one replica.

    :param node: the node's dict from the ring
    :param status: of HTTP, or ``NO_ANSWER``
    :param answer: if the status is 200
    :param error: what the server says of a wrong clock
    """
    node: dict
    status: int
    answer: verb.Answer | None = None
    error: str = ''

    @property
    def good(self):
        """Whether the replica did what it was asked."""
        return self.answer is not None


class RowsUnavailable(Exception):
    """Too few replicas of a container answered, or they do not agree.

    :param container: its path
    :param statuses: a list of all answers, 0 for a node without an answer
    :param needed: how many good answers are needed
    :param missing: whether a majority says that there is no such container
    """

    def __init__(self, container, statuses, needed, missing=False,
                 reason=''):
        super().__init__(
            'rows of %r: %d good answers of its replicas are needed, all '
            'answers are: %s%s' % (
                container, needed, ', '.join(map(str, statuses)) or 'none',
                reason and '; ' + reason))
        self.container = container
        self.statuses = statuses
        self.needed = needed
        self.missing = missing


class ClockRefused(Exception):
    """A majority of the replicas says that the clock of this node is wrong."""


class VerbMissing(Exception):
    """Some container servers do not have the verb VERSION."""


def majority(replicas):
    """Return how many of some replicas are more than half of them."""
    return replicas // 2 + 1


def unavailable(place, replies, needed, reason=''):
    """Return the ``RowsUnavailable`` that describes some replies."""
    missing = count_of(replies, HTTP_NOT_FOUND) >= needed
    return RowsUnavailable('/%s/%s' % place,
                           [reply.status for reply in replies], needed,
                           missing, reason)


def count_of(replies, status):
    """Return how many replies have a status."""
    return sum(reply.status == status for reply in replies)


def reply_of(node, status, text):
    """Read what a node has answered.

    :raises ValueError: if it is no answer of the verb
    """
    if status == HTTP_OK:
        return Reply(node, status, verb.read(verb.Answer, text,
                                             verb.MAX_ANSWER))
    if status == HTTP_CONFLICT:
        refusal = Refusal.parse(text, verb.MAX_BODY)
        return Reply(node, status, error='%s: %s (its clock: %.3f)' % (
            name_of(node), refusal.error, refusal.clock))
    return Reply(node, status)


def name_of(node):
    """Return what the log calls a node."""
    return '%s:%s/%s' % (node['ip'], node['port'], node['device'])
