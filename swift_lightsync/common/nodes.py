# SPDX-License-Identifier: Apache-2.0
"""Asks the object-servers of a cluster, all at the same time."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from swift.common.concurrency import (
    GreenPool,
    Timeout,
    green_http_client,
    socket,
)

from swift_lightsync.common.address import NodeTuple

#: Longest recon file of a node, bytes: some 200,000 pairs of devices.
MAX_BYTES = 64 << 20
#: Nodes asked at the same time.
CONCURRENCY = 64
#: Statuses of a server without the filter: from Swift's recon filter, from the
#: object-server itself, and from a server of another kind.
WITHOUT_STATUSES = (400, 404, 405, 501)


class Outcome(Enum):
    """Whether a node answered, and if not, why."""
    ANSWERED = 'answered'
    WITHOUT = 'without LightSync'
    UNREACHABLE = 'unreachable'
    #: An answer that cannot be used.
    INVALID = 'invalid'


@dataclass(frozen=True)
class Question:
    """What to ask a node, and how to read its answer.

    :param path: the path of the GET
    :param decode: makes the answer of its bytes, or raises ValueError
    """
    path: str
    decode: Callable[[bytes], Any]


@dataclass(frozen=True)
class Reply:
    """The outcome of asking one node.

    :param host: the node: (IP, port)
    :param outcome: whether it answered
    :param problem: what went wrong, '' if nothing
    :param answer: what the question decodes, if the node has answered
    """
    host: NodeTuple
    outcome: Outcome
    problem: str = ''
    answer: Any = None


def ask_all(hosts: Iterable[NodeTuple], timeout: float,
            question: Question) -> list[Reply]:
    """Ask nodes at the same time.

    :param hosts: their addresses
    :param timeout: seconds that a node has for its whole answer
    :param question: what to ask
    :returns: the reply of each, in the order of the hosts
    """
    pool = GreenPool(CONCURRENCY)
    return list(pool.imap(lambda host: _ask(host, timeout, question),
                          sorted(hosts)))


def _ask(host: NodeTuple, timeout: float, question: Question) -> Reply:
    try:
        with Timeout(timeout):
            status, body = _get(host, question.path)
    except Timeout:
        return Reply(host, Outcome.UNREACHABLE,
                     'no answer in %g seconds' % timeout)
    except socket.gaierror as err:
        return Reply(host, Outcome.UNREACHABLE, err.strerror)
    except OSError as err:
        return Reply(host, Outcome.UNREACHABLE,
                     os.strerror(err.errno) if err.errno else str(err))
    except green_http_client.HTTPException as err:
        return Reply(host, Outcome.INVALID, 'no HTTP: %r' % err)
    if status in WITHOUT_STATUSES:
        return Reply(host, Outcome.WITHOUT, 'status %d' % status)
    try:
        if status != 200:
            raise ValueError('status %d: %.200s' % (
                status, body.decode('utf8', 'replace')))
        return Reply(host, Outcome.ANSWERED, answer=question.decode(body))
    except ValueError as err:
        return Reply(host, Outcome.INVALID, str(err))


def _get(host: NodeTuple, path: str) -> tuple[int, bytes]:
    connection = green_http_client.HTTPConnection(*host)
    try:
        connection.request('GET', path)
        response = connection.getresponse()
        # No node has that much to say; a longer answer is cut, and invalid.
        return response.status, response.read(2 * MAX_BYTES)
    finally:
        connection.close()
