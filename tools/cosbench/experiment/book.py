# SPDX-License-Identifier: Apache-2.0
"""The directory of an experiment, from which it goes on after a crash.

EXPERIMENT.md has the files. The plan names a run before it begins; whether it
has finished is in the archive alone. What had not finished when the process
was killed is run again, under another id.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from cosbench import adaptors
from cosbench.controller.run_store import RUN, Archive, run_directories
from cosbench.controller.runfile import read_run
from cosbench.document.reader import portable, read
from cosbench.errors import ArchiveError, ConfigError, WorkloadError
from cosbench.experiment.core.figures import Run
from cosbench.measure.limits import Count, Name, Text
from cosbench.measure.result import Result
from swift_lightsync.common.files import open_locked, replace_file
from swift_lightsync.common.records import Between, Length, Record, RecordError

PLAN, RESULT, PAGE = 'experiment.json', 'result.json', 'report.html'
ARCHIVE, _LOCK = 'archive', '.lock'
MOST_CONFIGURATIONS, MOST_ROUNDS = 50, 10000
#: Bytes of an experiment.json.
MAX_PLAN = 128 << 20
#: It has the documents, and the passwords in them.
_PRIVATE, _PRIVATE_DIRECTORY = 0o600, 0o700
#: The state of a run that counts.
_FINISHED = 'finished'


@dataclass(frozen=True)
class Configuration(Record):
    """One of the workloads that an experiment compares."""

    name: Name
    xml: Text

    @property
    def digest(self) -> str:
        """The SHA-256 of the document."""
        return hashlib.sha256(self.xml.encode('utf8')).hexdigest()


@dataclass(frozen=True)
class Begun(Record):
    """A run that has begun: which one it is in the archive."""

    round: Count
    configuration: Name
    id: Name


@dataclass(frozen=True)
class Plan(Record):
    """What an experiment runs; the first configuration is the base."""

    version: Literal[1]
    seed: Annotated[int, Between(0, 2 ** 63)]
    #: Driver processes of each run.
    drivers: Annotated[int, Between(1, 10000)]
    #: Rounds that do not count, before those that do.
    warm_up: Annotated[int, Between(0, MOST_ROUNDS)]
    configurations: Annotated[tuple[Configuration, ...],
                              Length(MOST_CONFIGURATIONS)]
    runs: Annotated[tuple[Begun, ...],
                    Length(MOST_CONFIGURATIONS * MOST_ROUNDS)] = ()

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.configurations]


def new_plan(named: Iterable[tuple[str, bytes]], drivers: int, warm_up: int,
             seed: int | None = None) -> Plan:
    """Make the plan of an experiment.

    :param named: (name of a configuration, bytes of its document), the base
        first
    :param seed: None: a new one
    :raises ConfigError: if one is no workload, or two are called the same
    """
    configurations = []
    for name, data in named:
        try:
            # Refused before the first of many runs.
            read(data, adaptors.installed())
            configurations.append(Configuration(name[:40], portable(data)))
        except WorkloadError as err:
            raise ConfigError('%s: %s' % (name, err)) from None
    names = [each.name for each in configurations]
    if not 1 <= len(set(names)) == len(names) <= MOST_CONFIGURATIONS:
        raise ConfigError('configurations %s: must be 1 to %d, each of '
                          'another name: NAME=WORKLOAD gives one' % (
                              ', '.join(names), MOST_CONFIGURATIONS))
    return Plan(1, secrets.randbits(53) if seed is None else seed, drivers,
                warm_up, tuple(configurations))


def read_plan(directory: str) -> Plan:
    """Read what an experiment's directory says that it runs.

    :param directory: its path
    :raises ConfigError: if it is no experiment's
    """
    path = os.path.join(directory, PLAN)
    try:
        with open(path, 'rb') as source:
            return Plan.parse(source.read(MAX_PLAN + 1), MAX_PLAN, path)
    except OSError as err:
        raise ConfigError('%s: %s' % (path, err.strerror)) from None
    except RecordError as err:
        raise ConfigError(str(err)) from None


def finished_runs(plan: Plan, archive: str) -> dict[tuple[int, str], Run]:
    """Return the runs of an experiment that have finished, also while it runs.

    :param archive: the path of that of its runs; there may be none
    :returns: (round, configuration) -> its run
    """
    places, known = run_directories(archive), {}
    for begun in plan.runs:
        # One that cannot be read is run again, and stays for who wants to
        # look; one that is not there has not begun to write.
        with suppress(ArchiveError, KeyError):
            _, result = read_run(os.path.join(places[begun.id], RUN),
                                 begun.id)
            if result.state == _FINISHED:
                known[begun.round, begun.configuration] = Run.of(result)
    return known


def whole_rounds(plan: Plan, known: Mapping[tuple[int, str], Run]
                 ) -> dict[str, list[Run]]:
    """Return the runs of all whole rounds that count.

    :param known: (round, configuration) -> its finished run
    :returns: name of each configuration -> its runs, by rounds
    """
    found: dict[str, list[Run]] = {name: [] for name in plan.names}
    round_ = plan.warm_up
    while all((round_, name) in known for name in found):
        for name, runs in found.items():
            runs.append(known[round_, name])
        round_ += 1
    return found


class Book:
    """The directory of an experiment that one process runs.

    :param directory: its path
    :param wanted: the ``Plan`` that is asked for; None: as it is there
    :raises ConfigError: if what is there is another experiment
    :raises ArchiveError: if another process runs it
    """

    def __init__(self, directory: str, wanted: Plan | None = None) -> None:
        self.directory = os.path.abspath(directory)
        os.makedirs(self.directory, _PRIVATE_DIRECTORY, exist_ok=True)
        lock = open_locked(os.path.join(self.directory, _LOCK))
        if lock is None:
            raise ArchiveError('another process runs the experiment in %s'
                               % self.directory)
        self._lock = lock
        try:
            self.plan = self._taken_up(wanted)
        except BaseException:
            os.close(lock)
            raise
        self._known: dict[tuple[int, str], Run] = {}

    def _taken_up(self, wanted: Plan | None) -> Plan:
        if not os.path.exists(self._path(PLAN)):
            if wanted is None:
                raise ConfigError('%s is no directory of an experiment'
                                  % self.directory)
            self._write(PLAN, wanted.to_json())
            return wanted
        found = read_plan(self.directory)
        if wanted is not None:
            _same(found, wanted, self.directory)
        return found

    def close(self) -> None:
        os.close(self._lock)

    @property
    def archive(self) -> str:
        """The path of the archive of its runs."""
        return self._path(ARCHIVE)

    def recover(self) -> None:
        """Settle the run that a process which was killed has left."""
        if os.path.isdir(self.archive):
            archive = Archive(self.archive)
            try:
                archive.recover()
            finally:
                archive.close()
            self._known = finished_runs(self.plan, self.archive)

    def begin(self, round_: int, name: str, run_id: str) -> None:
        """Note which run is about to begin, before it does."""
        self.plan = replace(self.plan, runs=(
            *self.plan.runs, Begun(round_, name, run_id)))
        self._write(PLAN, self.plan.to_json())

    def end(self, round_: int, name: str, result: Result) -> None:
        """Take what a run has done, if it counts."""
        if result.state == _FINISHED:
            self._known[round_, name] = Run.of(result)

    def run(self, round_: int, name: str) -> Run | None:
        """Return the finished run of a place, or None."""
        return self._known.get((round_, name))

    def rounds(self) -> dict[str, list[Run]]:
        """Return the runs of all whole rounds that count, by name."""
        return whole_rounds(self.plan, self._known)

    def put(self, document: Any, page: str) -> None:
        """Write what was found so far, as JSON and as a page."""
        self._write(RESULT, document)
        replace_file(self._path(PAGE), page.encode('utf8', 'replace'),
                     is_durable=True)

    def _write(self, name: str, document: Any) -> None:
        replace_file(self._path(name),
                     json.dumps(document, allow_nan=False).encode(),
                     mode=_PRIVATE, is_durable=True)

    def _path(self, name: str) -> str:
        return os.path.join(self.directory, name)


def _same(found: Plan, wanted: Plan, directory: str) -> None:
    """Refuse to go on with what is another experiment."""
    for what, there, here in (
            ('configurations', found.names, wanted.names),
            ('documents', [each.digest[:12] for each in found.configurations],
             [each.digest[:12] for each in wanted.configurations]),
            ('seed', found.seed, wanted.seed),
            ('drivers', found.drivers, wanted.drivers),
            ('warm-up', found.warm_up, wanted.warm_up)):
        if there != here:
            raise ConfigError(
                '%s has another experiment: its %s are %s, not %s: name '
                'another directory, or the same as before' % (
                    directory, what, there, here))
