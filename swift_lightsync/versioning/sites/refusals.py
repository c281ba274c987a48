# SPDX-License-Identifier: Apache-2.0
"""What other sites are told of the errors that their requests meet."""

from swift.common.exceptions import ChunkReadError
from swift.common.swob import HTTPException

from swift_lightsync.versioning.core.clock import ClockAhead
from swift_lightsync.versioning.core.shipping import MAX_ERROR, Result
from swift_lightsync.versioning.rows.rows import ClockRefused, RowsUnavailable
from swift_lightsync.versioning.sites.life import LifeRefused
from swift_lightsync.versioning.sites.received_body import Disconnected


class Refusal(Exception):
    """
    A request, or a shipment, is refused.

    :param status: of the answer
    """

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


def result_of(err):
    """
    Return the ``Result`` that an error is told as.

    :returns: None if it is none of those that are expected
    """
    status, text = None, str(err)
    if isinstance(err, ClockAhead):
        status = 409
    elif isinstance(err, (Refusal, LifeRefused)):
        status = err.status
    elif isinstance(err, ValueError):
        status = 400
    elif isinstance(err, (RowsUnavailable, ClockRefused)):
        status, text = 503, 'rows: ' + text
    elif isinstance(err, (Disconnected, ChunkReadError, OSError)):
        status = 499
    elif isinstance(err, HTTPException):
        status, text = err.status_int, '%s %s' % (
            err.status, err.body.decode('utf8', 'replace'))
    return status and Result(status, text.encode(
        'utf8', 'replace')[:MAX_ERROR].decode('utf8', 'ignore'))
