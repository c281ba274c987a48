# SPDX-License-Identifier: Apache-2.0
"""The failure table of a node, in a file that its processes share.

The replicator, its workers and the object-servers of a node read and write
one table (LightSync §5.4); it survives their restarts. PROTOCOL.md, "Failed
neighbours".
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from logging import Logger
from typing import Annotated, Any, Final, Literal, TypeVar

from swift.common.exceptions import LockTimeout
from swift.common.recon import DEFAULT_RECON_CACHE_PATH
from swift.common.utils import lock_file

from swift_lightsync.common.address import Place
from swift_lightsync.common.files import replace_file
from swift_lightsync.common.options import Options, integer, option, seconds
from swift_lightsync.common.records import Between, Record, RecordError
from swift_lightsync.sync.core.failure_table import (
    ERROR_SUPPRESSION_INTERVAL,
    ERROR_SUPPRESSION_LIMIT,
    FailureTable,
    Row,
)
from swift_lightsync.sync.core.failures import Failures
from swift_lightsync.sync.names import FAILURES_FILE

VERSION: Final = 1
#: Longest file that is read, bytes; a full table has about a tenth.
MAX_BYTES = 4 << 20
#: Seconds; anything later is no time at all.
END_OF_TIME = 1e11
MAX_COUNT = 1 << 31
#: Highest error_suppression_limit: so many exceptions can be counted.
MAX_LIMIT = 1000000
#: Seconds between two looks at the file.
REFRESH = 0.5
#: Seconds to wait for the file; then what happens is known here alone.
LOCK_TIMEOUT = 1

_Count = Annotated[int, Between(0, MAX_COUNT - 1)]
_Time = Annotated[float, Between(0, END_OF_TIME)]
_Result = TypeVar('_Result')


@dataclass(frozen=True)
class FailureOptions(Options):
    """The options of the failure table."""
    error_suppression_limit: int = option(
        ERROR_SUPPRESSION_LIMIT, integer(1, MAX_LIMIT))
    error_suppression_interval: float = option(
        ERROR_SUPPRESSION_INTERVAL, seconds)


@dataclass(frozen=True)
class _State(Record):
    """The content of the file. PROTOCOL.md says what each field means."""
    version: Literal[1]
    rows: tuple[tuple[Place, _Count, _Time, bool], ...]
    hints: tuple[tuple[Place, _Time], ...]
    rejoined: tuple[tuple[Place, _Time], ...]
    reports: tuple[tuple[Place, Place, _Time], ...]


def _to_json(table: FailureTable) -> bytes:
    return json.dumps(_State(
        VERSION,
        tuple((key, row.n_exception, row.t_exception, row.waited)
              for key, row in table.rows.items()),
        tuple(table.hints.items()), tuple(table.rejoined.items()),
        tuple((*who, when) for who, when in table.reports.items())
    ).to_json()).encode('ascii')


def _from_json(data: bytes, table: FailureTable) -> None:
    state = _State.parse(data, MAX_BYTES)
    table.rows = {key: Row(count, when, waited)
                  for key, count, when, waited in state.rows}
    table.hints, table.rejoined = dict(state.hints), dict(state.rejoined)
    table.reports = {(reporter, key): when
                     for reporter, key, when in state.reports}


class FailureStore(Failures):
    """A :class:`FailureTable` on disk.

    Its methods can be called in the hub and in pool threads at once: ``table``
    is replaced as a whole by its successor, and never changed itself.

    :param conf: a section: ``recon_cache_path`` is the directory of the file,
        and :class:`FailureOptions` are the table's; for a node's processes to
        share the file they belong in [DEFAULT]
    :param logger: where a file that cannot be read or written is logged
    :raises OptionError: if an option has a value that is not allowed
    """

    def __init__(self, conf: Mapping[str, Any], logger: Logger) -> None:
        options = FailureOptions.from_conf(conf)
        super().__init__(FailureTable(
            options.error_suppression_limit,
            options.error_suppression_interval), lambda: time.time())
        self.path = os.path.join(conf.get(
            'recon_cache_path', DEFAULT_RECON_CACHE_PATH), FAILURES_FILE)
        self.logger = logger
        self._looked = float('-inf')
        #: The inode and the mtime of the file that ``table`` was read from.
        self._version: tuple[int, int] | None = None

    def _refresh(self) -> None:
        """Read what other processes wrote, if some time has passed."""
        if time.monotonic() - self._looked >= REFRESH:
            self._load()

    def _load(self, changed_only: bool = True) -> None:
        now, version = time.monotonic(), None
        try:
            with open(self.path, 'rb') as state:
                stat = os.fstat(state.fileno())
                version = stat.st_ino, stat.st_mtime_ns
                if changed_only and version == self._version:
                    return
                table = self.table.copy()
                _from_json(state.read(MAX_BYTES + 1), table)
                self.table, self._version = table, version
        except FileNotFoundError:
            pass
        except (OSError, RecordError) as err:
            # It is told of once.
            self._version = version
            self.logger.warning('Unable to read the failure table %s: %s',
                                self.path, err)
        finally:
            # Not before: until then others have to read it themselves.
            self._looked = now

    def _change(self, change: Callable[[FailureTable, float], _Result]
                ) -> _Result:
        """Change the table, here and in the file.

        :param change: a function of a table and the time
        :returns: what the function returns
        """
        try:
            # It is held for no longer than writing a small file takes; but
            # its holder may be stopped, and must not stop all others.
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

    def _changed(self, change: Callable[[FailureTable, float], _Result]
                 ) -> tuple[FailureTable, _Result]:
        table = self.table.copy()
        return table, change(table, self.clock())

    def _store(self, table: FailureTable) -> None:
        stat = replace_file(self.path, _to_json(table), mode=0o600)
        self._version = stat.st_ino, stat.st_mtime_ns
