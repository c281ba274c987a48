# SPDX-License-Identifier: Apache-2.0
"""``workload.log`` of a run: what the controller says while it goes on."""

import logging
import os
import time
from contextlib import contextmanager

NAME = 'workload.log'
_FORMAT = '%(asctime)s,%(msecs)03d [%(levelname)s] [%(name)s] - %(message)s'
_ROOT = logging.getLogger('cosbench')


class _Formatter(logging.Formatter):
    """Times are UTC, and a message is one line whoever wrote it."""

    converter = staticmethod(time.gmtime)

    def format(self, record):
        return super().format(record).replace('\r', '\\r').replace(
            '\n', '\n    ')


@contextmanager
def journal(directory):
    """Have all that is logged in the block written there, too.

    :param directory: of the run in the archive
    """
    handler = logging.FileHandler(os.path.join(directory, NAME),
                                  encoding='utf8',
                                  errors='backslashreplace')
    handler.setFormatter(_Formatter(_FORMAT, '%Y-%m-%dT%H:%M:%SZ'))
    before = _ROOT.level
    _ROOT.setLevel(min(before or logging.INFO, logging.INFO))
    _ROOT.addHandler(handler)
    try:
        yield
    finally:
        _ROOT.removeHandler(handler)
        _ROOT.setLevel(before)
        handler.close()
