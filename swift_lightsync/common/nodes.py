# SPDX-License-Identifier: Apache-2.0
"""Asking the object-servers of a cluster, all at once."""

import os
from dataclasses import dataclass
from enum import Enum
from typing import Any, Callable

from swift.common.concurrency import (
    GreenPool,
    Timeout,
    green_http_client,
    socket,
)

from swift_lightsync.common.recon_record import MAX_BYTES

#: Nodes asked at the same time.
CONCURRENCY = 64
#: What a server says that has no such filter: Swift's recon filter, the
#: object-server itself, and one of another kind.
WITHOUT_STATUSES = (400, 404, 405, 501)


class Outcome(Enum):
    """What came of asking a node."""
    ANSWERED = 'answered'
    WITHOUT = 'without LightSync'
    UNREACHABLE = 'unreachable'
    #: An answer that cannot be used.
    INVALID = 'invalid'


@dataclass(frozen=True)
class Question:
    """
    :param path: of the GET that asks it
    :param decode: a function of the bytes of an answer that returns it, or
        raises ValueError
    """
    path: str
    decode: Callable


@dataclass(frozen=True)
class Reply:
    """
    :param host: who was asked: (IP, port)
    :param outcome: an Outcome
    :param problem: what went wrong, '' if nothing
    :param answer: what the question decodes, if the node has answered
    """
    host: tuple
    outcome: Outcome
    problem: str = ''
    answer: Any = None


def ask_all(hosts, timeout, question):
    """
    :param hosts: an iterable of (IP, port)
    :param timeout: seconds that a node has for its whole answer
    :param question: a Question
    :returns: a list of a :class:`Reply` of each, in the order of the hosts
    """
    pool = GreenPool(CONCURRENCY)
    return list(pool.imap(lambda host: _ask(host, timeout, question),
                          sorted(hosts)))


def _ask(host, timeout, question):
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


def _get(host, path):
    connection = green_http_client.HTTPConnection(*host)
    try:
        connection.request('GET', path)
        response = connection.getresponse()
        # No node has as much to say; more than that is no answer.
        return response.status, response.read(2 * MAX_BYTES)
    finally:
        connection.close()
