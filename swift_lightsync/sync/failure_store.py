# SPDX-License-Identifier: Apache-2.0
"""
The failure table of a node, in a file that its processes share.

The replicator, its workers and the object-servers of a node read and write
one table (LightSync §5.4); it survives their restarts. PROTOCOL.md, "Failed
neighbours".
"""

import json
import os
import time
from tempfile import NamedTemporaryFile

from swift.common.exceptions import LockTimeout
from swift.common.recon import DEFAULT_RECON_CACHE_PATH
from swift.common.utils import lock_file

from swift_lightsync.common.conf_options import between, finite_float, option
from swift_lightsync.common.places import place
from swift_lightsync.sync.core.failure_table import (
    ERROR_SUPPRESSION_INTERVAL,
    ERROR_SUPPRESSION_LIMIT,
    FailureTable,
    Row,
)
from swift_lightsync.sync.names import FAILURES_FILE

VERSION = 1
#: Longest file that is read, bytes; a full table has about a tenth.
MAX_BYTES = 4 << 20
#: Seconds; what lies behind is no time at all.
END_OF_TIME = 1e11
MAX_COUNT = 1 << 31
#: Highest error_suppression_limit: so many exceptions can be counted.
MAX_LIMIT = 1000000
#: Seconds between two looks at the file.
REFRESH = 0.5
#: Seconds to wait for the file; then what happens is known here alone.
LOCK_TIMEOUT = 1


def _count(value):
    if type(value) is not int or not 0 <= value < MAX_COUNT:
        raise ValueError('not a number of exceptions: %.80r' % (value,))
    return value


def _when(value):
    # NaN is neither past nor to come: it would hold for ever.
    if type(value) not in (int, float) or not 0 <= value < END_OF_TIME:
        raise ValueError('not a time: %.80r' % (value,))
    return float(value)


def _to_json(table):
    return json.dumps({
        'version': VERSION,
        'rows': [[key, row.n_exception, row.t_exception, row.waited]
                 for key, row in table.rows.items()],
        'hints': list(table.hints.items()),
        'rejoined': list(table.rejoined.items()),
        'reports': [[reporter, key, when] for (reporter, key), when
                    in table.reports.items()]})


def _from_json(data, table):
    state = json.loads(data)
    if state['version'] != VERSION:
        raise ValueError('version is %r, must be %d'
                         % (state['version'], VERSION))
    rows = {place(key): Row(_count(count), _when(when), bool(waited))
            for key, count, when, waited in state['rows']}
    hints = {place(key): _when(when) for key, when in state['hints']}
    rejoined = {place(key): _when(when) for key, when in state['rejoined']}
    reports = {(place(reporter), place(key)): _when(when)
               for reporter, key, when in state['reports']}
    table.rows, table.hints = rows, hints
    table.rejoined, table.reports = rejoined, reports


class FailureStore:
    """
    A :class:`FailureTable` on disk. Its methods are those of the table, at
    the present time.

    They can be called in the hub and in pool threads at once: ``table`` is
    replaced as a whole by its successor, and never changed itself.

    :param conf: a dict: ``recon_cache_path`` is the directory of the file,
        ``error_suppression_limit`` and ``error_suppression_interval`` are the
        table's; for a node's processes to share it they belong in [DEFAULT]
    :param logger: a logger
    :raises ValueError: if an option has a value that is not allowed
    """

    def __init__(self, conf, logger):
        self.table = FailureTable(
            option(conf, 'error_suppression_limit', ERROR_SUPPRESSION_LIMIT,
                   between(1, MAX_LIMIT)),
            option(conf, 'error_suppression_interval',
                   ERROR_SUPPRESSION_INTERVAL, finite_float))
        self.path = os.path.join(conf.get(
            'recon_cache_path', DEFAULT_RECON_CACHE_PATH), FAILURES_FILE)
        self.logger = logger
        self._looked = float('-inf')
        self._version = None

    def has_failed(self, key):
        self._refresh()
        return self.table.has_failed(key, time.time())

    def refusing(self):
        self._refresh()
        return self.table.refusing(time.time())

    def is_reported(self, reporter, key):
        self._refresh()
        return self.table.is_reported(reporter, key, time.time())

    def rejoined(self):
        """:returns: a dict, key to when it came back"""
        self._refresh()
        return dict(self.table.rejoined)

    def record(self, key, weight):
        return self._change(lambda table, now: table.record(
            key, now, weight))

    def contact(self, key):
        self._refresh()
        if key in self.table.rows:
            self._change(lambda table, now: table.contact(key, now))

    def hint(self, key):
        return self._change(lambda table, now: table.hint(key, now))

    def report(self, reporter, key):
        self._refresh()
        if self.table.is_news(reporter, key, time.time()):
            self._change(lambda table, now: table.report(
                reporter, key, now))

    def _refresh(self):
        """Take over what other processes wrote, if some time has passed."""
        if time.monotonic() - self._looked >= REFRESH:
            self._load()

    def _load(self, changed_only=True):
        self._looked = time.monotonic()
        try:
            with open(self.path, 'rb') as state:
                stat = os.fstat(state.fileno())
                version = stat.st_ino, stat.st_mtime_ns
                if changed_only and version == self._version:
                    return
                self._version = version
                table = self.table.copy()
                _from_json(state.read(MAX_BYTES), table)
                self.table = table
        except FileNotFoundError:
            pass
        except (OSError, LookupError, TypeError, ValueError,
                RecursionError) as err:
            self.logger.warning('Unable to read the failure table %s: %s',
                                self.path, err)

    def _change(self, change):
        """
        Change the table, here and in the file.

        :param change: a function of a table and the time
        :returns: what it returns
        """
        try:
            # Held for the time that it takes to write a small file; but its
            # holder may be stopped, and nobody is to be stopped with it.
            with lock_file(self.path + '.lock', timeout=LOCK_TIMEOUT,
                           append=True, unlink=False):
                self._load(changed_only=False)
                table, result = self._changed(change)
                self._store(table)
        except (OSError, LockTimeout) as err:
            self.logger.warning('Unable to write the failure table %s: %s',
                                self.path, err)
            table, result = self._changed(change)
        self.table = table
        return result

    def _changed(self, change):
        table = self.table.copy()
        return table, change(table, time.time())

    def _store(self, table):
        with NamedTemporaryFile('w', dir=os.path.dirname(self.path),
                                prefix=FAILURES_FILE, delete=False) as state:
            try:
                state.write(_to_json(table))
                state.flush()
                os.rename(state.name, self.path)
            except OSError:
                os.unlink(state.name)
                raise
            stat = os.fstat(state.fileno())
            self._version = stat.st_ino, stat.st_mtime_ns
