# SPDX-License-Identifier: Apache-2.0
"""A line of JSON for each request of a mission, or for some of them.

For analysis afterwards: what no sum keeps, as which operations were slow at
the same time. RESULT.md has the format. What cannot be written is logged
once, and no more is tried: the load goes on.
"""

import json
import logging
import os
import random
import time
from functools import lru_cache
from typing import Any

from cosbench.errors import ConfigError

#: Bytes that wait in memory to be written.
BUFFER = 2 ** 20
_LINE = '{"op":%s,"at":%.6f,"late":%.6f,"first":%.6f,"took":%.6f,' \
    '"bytes":%d,"error":%s%s}\n'
#: Returns JSON; of operations and errors there are few.
_text = lru_cache(1000)(json.dumps)
log = logging.getLogger('cosbench.mission')


class RequestLog:
    """The log of one mission.

    :param directory: what the driver's operator allows; None: none is
        written
    :param share: of the requests, more than 0, at most 1
    :param mission: a ``Mission``
    :param instance: of the driver's process
    :raises ConfigError: if there is no directory, or no file can be made
    """

    def __init__(self, directory, share, mission, instance):
        if directory is None:
            raise ConfigError.of('log', share, '0: this driver keeps no log '
                                 'of requests (--request-log)')
        path = os.path.join(directory, '%s-%s.jsonl' % (mission.id, instance))
        try:
            # The begin of no other file, and not through a link.
            self._file: Any = open(
                path, 'x', buffering=BUFFER, encoding='utf8', opener=_opened)
        except OSError as err:
            raise ConfigError('--request-log %s: %s' % (
                path, err.strerror)) from None
        self._share = share
        self._head = {'mission': mission.id, 'driver': mission.driver,
                      'stage': mission.stage, 'work': mission.work,
                      'share': share}
        # Not the workers': the same operations are done with it or without.
        self._random = random.Random(mission.id).random
        self._origin = 0.0

    def begin(self, origin):
        """Write the first line.

        :param origin: the begin of the work, on the monotonic clock
        """
        self._origin = origin
        self._write(json.dumps({
            **self._head, 'origin': time.time() - time.monotonic() + origin})
            + '\n')

    def add(self, sample):
        """Write a line, unless it is one of those left out.

        :param sample: a ``Sample``
        """
        if self._file is None or self._random() >= self._share:
            return
        started, rows = sample.started, sample.rows
        self._write(_LINE % (
            _text(sample.operation), started - self._origin,
            started - sample.intended, sample.first_byte - started,
            sample.ended - started, sample.size, _text(sample.error),
            ',"row":' + _text(rows[0]) if rows else ''))

    def _write(self, line):
        try:
            if self._file is not None:
                self._file.write(line)
        except OSError as err:
            self._give_up(err)

    def close(self):
        """Write what waits; more than once does no harm."""
        if self._file is None:
            return
        try:
            self._file.close()
        except OSError as err:
            self._give_up(err)
        self._file = None

    def _give_up(self, err):
        log.error('mission %s: the log of its requests ends here: %s',
                  self._head['mission'], err)
        self._file = None


def _opened(path, flags):
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
