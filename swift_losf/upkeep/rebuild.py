# SPDX-License-Identifier: Apache-2.0
"""Makes anew what an index has lost. FORMAT.md, "A lost index".

1. Processes, one for each processor, read the volumes in pieces, and write
   what an entry is made of to sorted runs.
2. The runs are merged, and the entries written in the order of the index. What
   has been written is served, the rest is not known yet.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections import defaultdict, deque
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from swift_losf.format import keys
from swift_losf.index.known import ALL
from swift_losf.upkeep.scan_worker import scan_piece
from swift_losf.upkeep.settling import settle
from swift_losf.upkeep.sorted_runs import Entry, merged

#: bytes of a volume that are one task
PIECE = 256 * 2 ** 20
#: bytes of all volumes from which on processes are worth their start
LARGE = 32 * 2 ** 20
#: hashes that are entered with one change
BATCH = 2000


class ScanError(OSError):
    """A process that scans volumes has died."""


@dataclass
class Scan:
    """What the first step has found."""
    runs: list = field(default_factory=list)
    records: int = 0
    #: (volume, offset) of each incomplete record
    damaged: list = field(default_factory=list)

    def add(self, number, result):
        """Take in what scan_piece gave of a volume."""
        runs, records, damaged = result
        self.runs += runs
        self.records += records
        self.damaged += [(number, offset) for offset in damaged]


class Rebuild:
    """Fills an index that lacks what is in its volumes.

    :param layout: a Layout
    :param index: the Index, whose db.known tells what it lacks
    :param progress: called with a few words on what is being done
    """

    def __init__(self, layout, index, progress):
        self.layout = layout
        self.index = index
        self.progress = progress
        self._view = index.part_power.view
        #: of an index that lacks but some hashes; else None
        self._gaps = index.db.known.gaps
        if self._gaps == [ALL]:
            self._gaps = None
        self._directory = layout.index + '.runs'
        if not index.db.durable:
            self._directory = index.db.path + '.runs'

    def run(self, volumes, invalidate):
        """Enter all records of volumes.

        :param volumes: (number, size) each
        :param invalidate: called with a partition and a set of suffixes
        :returns: the Scan
        """
        shutil.rmtree(self._directory, ignore_errors=True)
        os.makedirs(self._directory)
        try:
            scan = self._scan(volumes)
            self._enter_all(merged(scan.runs), invalidate)
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)
        return scan

    def _tasks(self, volumes):
        return deque(
            dict(path=self.layout.volume(number), number=number, start=start,
                 end=start + PIECE, part_power=self._view.keyed,
                 most_metadata=self.index.db.most_metadata,
                 gaps=self._gaps and [(first.hex(), end.hex())
                                      for first, end in self._gaps])
            for number, size in volumes for start in range(0, size, PIECE))

    def _scan(self, volumes):
        tasks, scan = self._tasks(volumes), Scan()
        if sum(size for _, size in volumes) < LARGE:
            for task in tasks:
                scan.add(task['number'], scan_piece(self._directory, **task))
                self.progress('%d records found' % scan.records)
            return scan
        workers = [_Worker(self._directory, tasks, scan)
                   for _ in range(os.cpu_count() or 1)]
        try:
            while any(each.is_alive() for each in workers):
                for each in workers:
                    each.join(0.1)
                self.progress('%d records found' % scan.records)
        finally:
            for each in workers:
                each.stop()
        for each in workers:
            if each.error:
                raise each.error
        return scan

    def _enter_all(self, groups, invalidate):
        while batch := list(islice(groups, BATCH)):
            suffixes: dict[int, set[int]] = defaultdict(set)
            for group in batch:
                partition, suffix = self._view.split_place(group[0])
                suffixes[partition].add(suffix)
            for partition, numbers in suffixes.items():
                invalidate(partition, numbers)
            self._enter(map(self._settled, batch),
                        batch[-1][-1][:keys.PLACE])
            self.progress('%d files recovered'
                          % self.index.adopter.recovered)

    def _settled(self, group):
        """Return what settle() says of what has no entry."""
        entries = [Entry.unpack(each) for each in group]
        if self._gaps is None:
            return settle(entries)
        get = self.index.db.get
        files, held, dead = settle([
            each for each in entries
            if get(keys.dead_key(each.volume, each.offset)) is None])
        return files, [each for each in held
                       if get(_held_key(each)) is None], dead

    def _enter(self, settled, last):
        counts: dict[int, dict[str, int]] = defaultdict(
            lambda: defaultdict(int))
        recovered = 0
        with self.index.db.change() as change:
            for files, held, dead in settled:
                recovered += len(files) + len(held) + len(dead)
                for each in files:
                    change.put(keys.FILE + each.place + each.code,
                               each.location)
                    count = counts[each.volume]
                    count['files'] += 1
                    count['bytes'] += each.length
                for each in held:
                    change.put(_held_key(each), each.location)
                    count = counts[each.volume]
                    count['held'] += 1
                    count['held_bytes'] += each.length
                    change.quarantined += 1
                for each in dead:
                    change.reclaim_range(each.volume, each.offset,
                                         each.length)
            for number, count in counts.items():
                change.count(number, **count)
        self.index.adopter.recovered += recovered
        self.index.db.known.up_to(last)


def _held_key(entry):
    return (keys.QUARANTINED + entry.place + entry.code
            + keys.spot(entry.volume, entry.offset))


class _Worker(threading.Thread):
    """Gives tasks to a process, one after the other.

    :param directory: of the runs
    :param tasks: a deque of dicts
    :param scan: the Scan that results are added to
    """

    def __init__(self, directory, tasks, scan):
        super().__init__(daemon=True)
        self.error = None
        self._tasks = tasks
        self._scan = scan
        self._process: Any = subprocess.Popen(
            [sys.executable, '-m', 'swift_losf.upkeep.scan_worker',
             directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)
        self.start()

    def run(self):
        try:
            while True:
                self._do(self._tasks.popleft())
        except IndexError:
            pass
        except (OSError, ValueError) as err:
            self.error = ScanError(str(err))

    def _do(self, task):
        self._process.stdin.write(json.dumps(task) + '\n')
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise ScanError('the process that scans volume %d has ended'
                            % task['number'])
        self._scan.add(task['number'], json.loads(line))

    def stop(self):
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.communicate()
        self.join()
