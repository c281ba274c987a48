# SPDX-License-Identifier: Apache-2.0
"""Says of each index server once a minute that it cannot be asked.

A daemon asks again for each partition, and logs each failure in words of its
own, mostly with a traceback. All of that passes through its logger: there,
what is logged of an IndexUnavailable gives way to one line.
"""

import logging
from typing import Any

from swift_lightsync.common.quiet_logger import QuietLogger
from swift_losf.errors import IndexUnavailable


class Complaints(logging.Filter):
    """Tells of index servers that cannot be asked; a filter of a logger.

    :param logger: where it tells
    """

    def __init__(self, logger: Any) -> None:
        super().__init__()
        self._logger = QuietLogger(logger)

    def of(self, err: IndexUnavailable) -> IndexUnavailable:
        """Tell of an error, if its cause was not told of lately; return it."""
        if not err.is_told:
            err.is_told = True
            self._logger.error_of(
                err.cause, 'Unavailable until swift-init object-losf runs '
                'and it answers: %s', str(err))
        return err

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is logged as it is."""
        arguments = record.args if isinstance(record.args, tuple) else ()
        for each in (*(record.exc_info or ()), *arguments):
            if isinstance(each, IndexUnavailable):
                self.of(each)
                return False
        return True


def complaints_of(logger: Any) -> Complaints:
    """Return the Complaints of a logger, which it has from now on.

    :param logger: a logger, or one of Swift's adapters of one
    """
    target = getattr(logger, 'logger', logger)
    for each in getattr(target, 'filters', ()):
        if isinstance(each, Complaints):
            return each
    complaints = Complaints(logger)
    # That of Swift's tests takes no filter.
    if hasattr(target, 'filters'):
        target.addFilter(complaints)
    return complaints
