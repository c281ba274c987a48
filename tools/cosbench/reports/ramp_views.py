# SPDX-License-Identifier: Apache-2.0
"""A ramp as text, as JSON, as a part of a page."""

from dataclasses import asdict

from cosbench.measure.drivers import BUSY_PERCENT
from cosbench.reports.numbers import aligned, ratio, short, size
from cosbench.reports.page import heading, paragraph, plots, table
from cosbench.reports.run_plots import against_workers
from swift_lightsync.common.text import printable

VERSION = 1
_COLUMNS = ('Workers', 'Operations/s', 'Bytes/s', 'Mean ms', 'p95 ms',
            'p99 ms', 'Success', 'Driver CPU %', '')


def summary(ramp):
    """Return one sentence on the peak, and one on the knee."""
    if ramp.peak is None:
        return '%s: no step was acceptable.' % ramp.name
    peak, knee = ramp.peak, ramp.knee
    words = '%s: the performance peaked at %d workers (%s operations/s, ' \
        '%s ms in 95%% response time).' % (
            ramp.name, peak.workers, short(peak.metrics.throughput),
            short(peak.metrics.p95))
    if knee is not peak:
        words += ' The knee is at %d workers (%s operations/s, %s ms).' % (
            knee.workers, short(knee.metrics.throughput),
            short(knee.metrics.p95))
    if ramp.peak is ramp.steps[-1]:
        words += ' It is the last step: more workers may bring more.'
    if peak.driver_bound:
        words += ' A driver used more than %s%% of its CPU: this is what ' \
            'the drivers can.' % short(BUSY_PERCENT)
    return words


def _rows(ramp):
    for step in ramp.steps:
        found = step.metrics
        names = [name for name, which in (('peak', ramp.peak),
                                          ('knee', ramp.knee))
                 if which is step]
        yield (str(step.workers), short(found.throughput),
               size(found.bandwidth), short(found.avg_res), short(found.p95),
               short(found.p99), ratio(found.success_ratio),
               short(step.driver_cpu), ', '.join(
                   names + ['driver-bound'] * step.driver_bound))


def as_text(ramps):
    """Return lines for a terminal."""
    lines = []
    for ramp in ramps:
        lines += [summary(ramp), *aligned([_COLUMNS, *_rows(ramp)], True)]
    return printable('\n'.join(lines), keep='\n') + '\n'


def as_json(ramps):
    """Return a document."""
    return {'version': VERSION, 'operations': [{
        'name': ramp.name,
        'peak_workers': ramp.peak and ramp.peak.workers,
        'knee_workers': ramp.knee and ramp.knee.workers,
        'steps': [{**asdict(step.metrics), 'driver_cpu': step.driver_cpu,
                   'driver_bound': step.driver_bound}
                  for step in ramp.steps]} for ramp in ramps]}


def section(ramp):
    """Return HTML, as a list: sentences, plots, table."""
    return [heading(ramp.name + ' against workers'), paragraph(summary(ramp)),
            plots(against_workers(
                {ramp.name: [step.metrics for step in ramp.steps]},
                _marks(ramp))),
            table('Steps of ' + ramp.name, _COLUMNS[:-1] + ('Note',),
                  _rows(ramp))]


def _marks(ramp):
    if ramp.peak is None:
        return ()
    if ramp.peak is ramp.knee:
        return ((ramp.peak.workers, 'peak'),)
    return ((ramp.knee.workers, 'knee'), (ramp.peak.workers, 'peak'))
