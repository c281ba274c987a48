# SPDX-License-Identifier: Apache-2.0
"""The error of Swift's processes that an index server does not answer."""

from swift.common.exceptions import DiskFileDeviceUnavailable
from swift.common.swob import HTTPException


class IndexUnavailable(DiskFileDeviceUnavailable, HTTPException):
    """The index of a device and policy cannot be asked.

    So nothing can be said or done about the objects there.

    To code that works with diskfiles it is an unavailable device. To an
    object-server, in whose verbs it may come up anywhere, it is the response:
    507, which lets a proxy leave the device alone for a while, or 503 while
    the index server recovers, or if it has just ended, and will be back by
    itself.

    :param reason: what happened, and to which index server
    :param status: of the response
    :param cause: a text that all errors of one cause share; None: the reason
    """

    #: whether the log tells of it
    is_told = False

    def __init__(self, reason, status=507, cause=None):
        HTTPException.__init__(self, body=reason + '\n', status=status,
                               headers={'Content-Type': 'text/plain'})
        self.args = (reason,)
        self.cause = cause or reason

    def __str__(self):
        return self.args[0]
