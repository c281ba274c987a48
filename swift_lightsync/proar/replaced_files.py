# SPDX-License-Identifier: Apache-2.0
"""Requests that meet files which another request replaces just then.

Swift answers 503 if a file is gone that it has just listed, and 404, as for
an object that never was, if that file is a tombstone. A proxy that writes to
primary roles would take either for a reason to ask those that lag. For its
requests both are 503, and such a request is run again. All other requests are
answered as by stock Swift. PROTOCOL.md, "Reads".
"""

from functools import cache
from typing import TYPE_CHECKING, Any

from swift.common.concurrency import sleep
from swift.common.exceptions import DiskFileDeleted, DiskFileStateChanged
from swift.common.http import HTTP_SERVICE_UNAVAILABLE

from swift_lightsync.proar.names import REFUSED_HEADER

if TYPE_CHECKING:
    from swift.obj.diskfile import BaseDiskFile as _DiskFile
else:
    _DiskFile = object

#: How often a request is run.
ATTEMPTS = 20


class TellsReplaced(_DiskFile):
    """A mixin of diskfiles: a tombstone that is gone has been replaced."""

    def _construct_exception_from_ts_file(self, ts_file, **kwargs):
        found = super()._construct_exception_from_ts_file(ts_file, **kwargs)
        if ts_file and not isinstance(found, DiskFileDeleted):
            # Or it went into quarantine, and is not listed the next time.
            return DiskFileStateChanged()
        return found


@cache
def _telling(diskfile_cls):
    """Return a subclass of a class of diskfiles that TellsReplaced."""
    return type(diskfile_cls.__name__, (TellsReplaced, diskfile_cls), {})


def tell_replaced(diskfile):
    """Have a diskfile tell when a tombstone is replaced while it is read.

    :param diskfile: one that is not open
    :returns: the diskfile
    """
    of_files: Any = type(diskfile)
    diskfile.__class__ = _telling(of_files)
    return diskfile


def settled(answer, request):
    """Return Swift's answer, when no file is replaced while it is made.

    :param answer: a function of the request
    """
    for _ in range(ATTEMPTS):
        response = answer(request)
        if response.status_int != HTTP_SERVICE_UNAVAILABLE or \
                REFUSED_HEADER in response.headers:
            break
        sleep()
    return response
