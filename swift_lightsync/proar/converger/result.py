# SPDX-License-Identifier: Apache-2.0
"""What a push has come to. PROTOCOL.md, "Convergence"."""

from dataclasses import dataclass
from enum import Enum

from swift.common.http import (
    HTTP_CONFLICT,
    HTTP_NOT_FOUND,
    HTTP_UNPROCESSABLE_ENTITY,
    is_server_error,
    is_success,
)


class Outcome(Enum):
    """The outcome of a push."""
    APPLIED = 'applied'
    #: The peer has as new a version, or a newer one.
    NEWER = 'newer'
    #: There is no object here any more.
    GONE = 'gone'
    #: This object could not be pushed; others may be.
    FAILED = 'failed'
    #: ... since its body is not what its ETag says.
    DAMAGED = 'damaged'
    #: The peer takes nothing now.
    UNAVAILABLE = 'unavailable'


_REFUSALS = {HTTP_UNPROCESSABLE_ENTITY: Outcome.DAMAGED}


@dataclass(frozen=True)
class Result:
    """What a push has come to.

    :param outcome: the kind
    :param reason: why it failed, '' if it did not
    """
    outcome: Outcome
    reason: str = ''

    @property
    def is_applied(self):
        """Whether the peer needs no more."""
        return self.outcome in (Outcome.APPLIED, Outcome.NEWER, Outcome.GONE)


def judge(method, answer, is_newer):
    """Return the Result that an answer means.

    :param is_newer: whether the peer has said that it has a newer object or
        tombstone
    """
    if is_success(answer.status):
        return Result(Outcome.APPLIED)
    if answer.status == HTTP_CONFLICT:
        return Result(Outcome.NEWER)
    if answer.status == HTTP_NOT_FOUND and method == 'DELETE':
        # A tombstone, where no object was.
        return Result(Outcome.APPLIED)
    if answer.status == HTTP_NOT_FOUND and method == 'POST' and is_newer:
        return Result(Outcome.NEWER)
    outcome = Outcome.UNAVAILABLE if is_server_error(answer.status) else \
        _REFUSALS.get(answer.status, Outcome.FAILED)
    return Result(outcome, '%s: %s' % (method, answer.reason))
