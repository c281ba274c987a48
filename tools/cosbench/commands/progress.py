# SPDX-License-Identifier: Apache-2.0
"""How a run goes, for people, on a terminal or in a log."""

import asyncio
import time

from cosbench.measure.result import Result
from swift_lightsync.common import progress

#: Seconds.
PERIOD = 1.0


class Progress:
    """Shows how a run goes.

    :param entry: the ``Entry`` of the run
    :param out: a text stream
    :param quiet: whether only what went wrong is shown
    """

    def __init__(self, entry, out, quiet=False):
        self.entry = entry
        self._out = progress.Progress(out, interval=0)
        self._is_terminal = out.isatty()
        self._quiet = quiet
        self._last = (time.monotonic(), 0)
        self._stage = None
        self._warned = 0

    async def show(self):
        """Show until cancelled each stage that begins, and what it does."""
        while True:
            await asyncio.sleep(PERIOD)
            run = self.entry.run
            if run is not None and not self._quiet:
                self._warn(run.context.warnings)
                if run.current is not None:
                    self._line(run)

    def say(self, text):
        """Show a line, whether quiet or not."""
        self._out.say(text)

    def _warn(self, warnings):
        for text in warnings[self._warned:]:
            self.say('warning: ' + text)
        self._warned = len(warnings)

    def _line(self, run):
        stage = run.current
        if stage is not self._stage:
            self._stage = stage
            # When it is first seen it may have run for a while.
            self._last = (time.monotonic() - (time.time() - stage.started), 0)
            self.say('stage %d of %d: %s' % (
                stage.index + 1, len(run.stages), stage.stage.name))
        done = sum(share.progress.operations for work in stage.works
                   for share in work.shares)
        if done != self._last[1] or self._is_terminal:
            self._out.show(lambda: self._rate(stage, done))

    def _rate(self, stage, done):
        failed = sum(work.measured.failed for work in stage.works)
        now = time.monotonic()
        then, before = self._last
        rate = (done - before) / (now - then) if now > then else 0
        self._last = (now, done)
        return '  %s %4.0f s: %d operations, %.0f a second, %d failed' % (
            stage.state.value, time.time() - stage.started, done, rate,
            failed)

    def end(self, document):
        """Show what a run has done.

        :param document: the result document
        """
        result = Result.from_json(document, 'result')
        if not self._quiet or result.state != 'finished':
            self.say(_outcome(result))
        if self._quiet:
            return
        for stage in result.stages:
            self.say('%-16s %s %s' % (stage.name, stage.state,
                                         stage.reason))
            for work in stage.works:
                for each in work.operations:
                    self.say(_row(work, each))
                again = sum(each.resent or 0 for each in work.drivers)
                if again:
                    self.say('  %-14s %d requests were sent again'
                                % (work.name, again))
        for text in document['warnings']:
            self.say('warning: ' + text)


def _outcome(result):
    """Return a line: how the run ended and, if it is known, why."""
    reasons = ['%s: %s' % (stage.name, stage.reason)
               for stage in result.stages if stage.reason]
    if result.state == 'failed' and not reasons:
        reasons = result.warnings[-1:]
    return ' '.join(': '.join(
        ['%s %s' % (result.id, result.name), result.state]
        + ['; '.join(reasons)] * bool(reasons)).split())


def _row(work, operation):
    found = work.metrics(operation)
    row = '  %-14s %-10s %9d ops %8d failed %10.1f/s %8.2f MB/s' % (
        work.name, operation.type, found.op_count, found.failures,
        found.throughput, found.bandwidth / 1e6)
    if found.p99 is None:
        return row
    return row + '  mean %.2f p99 %.2f max %.2f ms' % (
        found.avg_res, found.p99, found.p100)
