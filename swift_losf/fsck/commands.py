# SPDX-License-Identifier: Apache-2.0
"""The commands of swift-losf-fsck, and what they print."""

import contextlib
import json
import math
import os
import time
from collections import Counter
from dataclasses import asdict

import plyvel
from swift.common.ring import RingData

from swift_lightsync.common.command import Exit, UsageError
from swift_lightsync.common.progress import Progress
from swift_losf.format.header import FormatError
from swift_losf.fsck.backup import (
    back_up,
    forget_dead_of_others,
    put_in_place,
    staged,
)
from swift_losf.fsck.check import Check
from swift_losf.fsck.dump import Dump, Unknown
from swift_losf.fsck.entries import StoppedIndex, entries, require_index
from swift_losf.fsck.entry_order import EntryOrder
from swift_losf.fsck.findings import Finding, Kind
from swift_losf.fsck.quarantine import Wanted, purge
from swift_losf.fsck.rebuild import count_records, rebuild
from swift_losf.fsck.repair import Repair
from swift_losf.fsck.summary import readable, summary_text
from swift_losf.index.index import Index
from swift_losf.upkeep.lost_index import is_lost
from swift_losf.upkeep.recovery import Recovery, recover

#: seconds
DAY = 86400


class Output:
    """Prints lines on standard output, as text or as JSON objects.

    :param as_json: whether JSON is wanted
    :param progress: a Progress, which makes room
    """

    def __init__(self, as_json, progress):
        self._as_json = as_json
        self._progress = progress

    def line(self, text, **values):
        """Print a line.

        :param text: what there is to say
        :param values: the same for JSON
        """
        self._progress.clear()
        print(json.dumps(values, sort_keys=True) if self._as_json else text,
              flush=True)


def find_part_power(layout, args):
    """Return the part power of the ring; None if there is no ring here.

    :param args: of the command line
    """
    name = 'object-%d' % layout.policy_index if layout.policy_index \
        else 'object'
    path = os.path.join(args.swift_dir, name + '.ring.gz')
    if args.part_power is not None or not os.path.exists(path):
        return args.part_power
    return 32 - RingData.load(path, metadata_only=True)._part_shift


def require_index_or_say(layout):
    """Check that there is an index.

    :raises UsageError: if there is none
    """
    try:
        require_index(layout)
    except FormatError as err:
        raise UsageError('%s; or rebuild it' % err)


class Fsck:
    """The commands, each of which returns the exit status.

    :param layout: a Layout
    :param args: of the command line
    """

    def __init__(self, layout, args):
        self.layout = layout
        self.args = args
        self.progress = Progress()
        self.output = Output(args.json, self.progress)
        self.counts: Counter[str] = Counter()
        self._part_power = find_part_power(layout, args)

    # check and repair

    def check(self):
        """Compare the index with the volumes."""
        try:
            require_index(self.layout)
            index = self._index()
        except (plyvel.Error, FormatError) as err:
            if not is_lost(err):
                raise UsageError('%s: %s' % (self.layout.index, err))
            self._report(Finding(Kind.NO_INDEX, detail=str(err)), None)
            return Exit.NOT_WELL
        with contextlib.closing(index):
            totals = self._walk(index, lambda finding: None)
            self._summarize(totals, index)
        return Exit.NOT_WELL if self.counts else Exit.WELL

    def repair(self):
        """Put right what check finds."""
        if self.args.dry_run:
            return self.check()
        require_index_or_say(self.layout)
        return self._mend(self._open())

    def _mend(self, index):
        with contextlib.closing(index):
            repair = Repair(self.layout, index)
            totals = self._walk(index, repair.fix)
            self.progress.begin('entering what is missing', 0)
            repair.finish(lambda state: self.progress.step())
            self._summarize(totals, index, mended=repair.fixed,
                            recovered=index.adopter.recovered)
        return Exit.NOT_WELL if sum(
            self.counts.values()) > repair.fixed else Exit.WELL

    def _index(self, path=None):
        index = Index(path or self.layout.index)
        index.part_power.set(self._part_power)
        return index

    def _open(self):
        try:
            return self._index()
        except (plyvel.Error, FormatError) as err:
            if not is_lost(err):
                raise UsageError('%s: %s' % (self.layout.index, err))
            self._report(Finding(Kind.NO_INDEX, detail=str(err)), True)
            self.counts.clear()
            return recover(self.layout, part_power=self._part_power)

    def _walk(self, index, fix):
        with EntryOrder.temporary(self.args.temp_dir) as order:
            known = index.statistics()
            self.progress.begin('reading the index',
                                known.files + known.quarantined)
            self._handle(order.fill(index.db, self.progress), fix)
            check = Check(self.layout, index, order, self.progress,
                          self.args.data)
            self.progress.begin('checking the volumes', order.entries)
            self._handle(check.run(), fix)
            return check.totals

    def _handle(self, findings, fix):
        for finding in findings:
            self._report(finding, fix(finding))

    def _report(self, finding, fixed):
        self.counts[finding.kind.label] += 1
        if self.args.command == 'restore':
            return  # all that has changed since the backup: it is counted
        verb = 'done' if fixed else 'cannot be repaired' \
            if fixed is False else 'to mend it'
        self.output.line('%s; %s: %s' % (
            finding.text(), verb, finding.kind.remedy),
            mended=fixed, **finding.fields())

    def _summarize(self, totals, index, **done):
        known = index.statistics()
        values = {**asdict(totals), 'data_read': self.args.data,
                  'files': known.files, 'quarantined': known.quarantined,
                  'dead_bytes': known.dead_bytes,
                  'found': dict(self.counts), **done}
        self.output.line(summary_text(values), summary=values)

    # backup, restore, rebuild, dump and quarantine

    def backup(self):
        """Copy the index, consistently, to another directory."""
        files = back_up(self.layout, self.args.directory)
        self.output.line('files: %d' % files, files=files)
        return Exit.WELL

    def restore(self):
        """Let a backup be the index, brought up to date by the volumes."""
        path = staged(self.layout, self.args.directory)
        index = self._index(path)
        try:
            forget_dead_of_others(self.layout, index, self.args.directory)
            # What came since the backup, as after a crash.
            Recovery(self.layout, index, lambda state: None).run()
        except BaseException:
            index.close()
            raise
        status = self._mend(index)
        put_in_place(self.layout, path)
        return status

    def rebuild(self):
        """Make the index anew from the volumes."""
        if self.args.dry_run:
            seen = count_records(self.layout, self.progress)
            self.output.line('\n'.join(
                '%s: %s' % (name, readable(value))
                for name, value in asdict(seen).items()), **asdict(seen))
            return Exit.WELL
        aside, statistics = rebuild(self.layout, self.progress,
                                    self._part_power)
        text = 'files: %d\nquarantined: %d\nvolumes: %d' % (
            statistics.files, statistics.quarantined, statistics.volumes)
        self.output.line(
            '%s\nthe index before: %s' % (text, aside or 'there was none'),
            before=aside, **vars(statistics))
        return Exit.WELL

    def dump(self):
        """Show volumes, the records of one, or the files of an object."""
        with contextlib.ExitStack() as at_end:
            dump = Dump(self.layout, self._entries(at_end),
                        self.output.line)
            if self.args.volume is not None:
                return dump.volume(self.args.volume)
            if self.args.hash is not None:
                return dump.hash(self.args.hash)
            return dump.volumes()

    def quarantine(self):
        """List the files in quarantine, and give them up if that is wanted."""
        days = self.args.older_than
        wanted = Wanted(self.args.hash, math.inf if days is None
                        else time.time() - days * DAY)
        purges = self.args.purge and not self.args.dry_run
        with contextlib.ExitStack() as at_end:
            if purges:
                index = self._open_sound()
                at_end.callback(index.close)
            tally = Dump(self.layout, StoppedIndex(index) if purges
                         else self._entries(at_end),
                         self.output.line).quarantined(wanted)
            if purges:
                purge(index, wanted)
        self._say_purged(tally, purges)
        return Exit.WELL

    def _say_purged(self, tally, purged):
        text = 'files: %d\nbytes: %d' % (tally.files, tally.bytes)
        if purged:
            text += ('\npurged; the index server gives the bytes back when '
                     'it runs again')
        elif self.args.purge:
            text += '\nnothing was purged: this was a dry run'
        self.output.line(text, summary={**asdict(tally), 'purged': purged})

    def _open_sound(self):
        require_index_or_say(self.layout)
        try:
            return Index(self.layout.index)
        except (plyvel.Error, FormatError) as err:
            raise UsageError('%s: %s' % (self.layout.index, err))

    def _entries(self, at_end):
        try:
            return entries(self.layout, at_end)
        except UsageError as err:
            return Unknown(str(err))
