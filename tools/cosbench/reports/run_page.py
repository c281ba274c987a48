# SPDX-License-Identifier: Apache-2.0
"""The report of a workload as one page.

The workload's own text is not in it: it has passwords, and pages are passed
on.
"""

from cosbench.reports import node_plots, run_plots
from cosbench.reports.bottleneck import limits, node_means
from cosbench.reports.numbers import moment, ratio, short, size
from cosbench.reports.page import page, paragraph, plots, table
from cosbench.reports.page import sections as page_sections
from cosbench.reports.ramp import ramps
from cosbench.reports.ramp_views import section
from cosbench.reports.tables import label, measured

_OPERATIONS = (
    'Stage', 'Operation', 'Workers', 'Successes', 'Failures', 'Success',
    'Operations/s', 'Bytes/s', 'Bytes', 'Mean ms', 'First byte ms', 'p50 ms',
    'p90 ms', 'p95 ms', 'p99 ms', 'p99.9 ms', 'max ms')
_INTENDED = ('Stage', 'Operation', 'Wanted/s', 'Mean ms', 'p50 ms', 'p95 ms',
             'p99 ms', 'p99.9 ms', 'max ms')
_DRIVERS = ('Driver', 'State', 'CPU % (p95)', 'Loop lag ms (p99)',
            'Clock offset s', 'Operations per CPU second', 'Reason')
_WORK_DRIVERS = ('Stage', 'Work', 'Driver', 'Workers', 'CPU % (p95)',
                 'Loop lag ms (p99)', 'Requests sent again')
_NODES = ('Stage', 'Work', 'Node', 'CPU %', 'Busiest core %',
          'Busiest disk %', 'Disk access ms', 'Read/s', 'Written/s',
          'Received/s', 'Sent/s', 'Network %', 'Updates pending',
          'Proxy ms', 'Container ms', 'Object ms')
GOOD = 'finished'


def run_page(result, zone=None):
    """Return the report of a workload.

    :param result: a ``Result``
    :param zone: a ``tzinfo`` of the times; None: the local one
    """
    return page('%s %s' % (result.id, result.name), sections(result, zone))


def sections(result, zone=None):
    """Return the parts of the page, HTML, as a list."""
    parts = [
        ('Summary', [_summary(result)]),
        ('Warnings', [paragraph('Warning: ' + each, 'bad')
                      for each in result.warnings]),
        ('Operations', [_operations(result), _intended(result),
                        _failures(result)]),
        ('Stages', [_about(result, zone), _stages(result, zone)]),
        ('Drivers', [_drivers(result), _work_drivers(result)]),
        ('Storage nodes', [_nodes(result)])]
    for ramp in ramps([result]):
        if len({step.workers for step in ramp.steps}) > 1:
            # It brings its own heading.
            parts.append(('', section(ramp)))
    parts += [('%s: %s' % (stage.id, work.name),
               list(_work(stage, work, result.nodes)))
              for stage, work in result.works if work.is_normal]
    return [*_head(result), *page_sections(
        (title, ''.join(filter(None, pieces))) for title, pieces in parts)]


def _head(result):
    """Return what became of the run and, if that is bad, why."""
    yield paragraph(result.state, 'good' if result.state == GOOD else 'bad')
    for stage in result.stages:
        if stage.reason:
            yield paragraph('%s: %s' % (stage.name, stage.reason), 'bad')
    if result.description:
        yield paragraph(result.description)


def _summary(result):
    """Return the few figures that most people look for."""
    rows, said = [], []
    for stage, work in result.works:
        if not work.is_normal:
            continue
        said += ['%s, %s: %s' % (stage.id, work.name, each)
                 for each in limits(work, result.nodes)]
        for operation in work.operations:
            found = work.metrics(operation)
            times = found.intended
            rows.append((
                '%s, %s, %s' % (stage.id, work.name, label(operation)),
                short(found.throughput), size(found.bandwidth),
                *(short(times and getattr(times, name))
                  for name in ('p50', 'p99', 'p100')),
                found.failures))
    return table('Times count from when an operation was due', (
        'Operation', 'Operations/s', 'Bytes/s', 'p50 ms', 'p99 ms', 'max ms',
        'Failures'), rows) + ''.join(
            paragraph('Limit: ' + each, 'bad') for each in said)


def _about(result, zone):
    rows = [(words, moment(when, zone)) for words, when in (
        ('Submitted', result.submitted), ('Started', result.started),
        ('Stopped', result.stopped)) if when is not None]
    if result.seed is not None:
        rows.append(('Seed', result.seed))
    return table('The run', ('What', 'Value'), rows)


def _stages(result, zone):
    return table('Stages', ('Stage', 'State', 'Started', 'Stopped',
                            'Reason'),
                 [(stage.id, stage.state, moment(stage.started, zone),
                   moment(stage.stopped, zone), stage.reason or '-')
                  for stage in result.stages])


def _measured(result):
    return [(stage, *each) for stage in result.stages
            for each in measured(stage)]


def _operations(result):
    rows = []
    for stage, work, operation in _measured(result):
        found = work.metrics(operation)
        rows.append((
            stage.id, label(operation), found.workers, found.op_count,
            found.failures, ratio(found.success_ratio),
            short(found.throughput), size(found.bandwidth),
            size(found.byte_count), *map(short, (
                found.avg_res, found.avg_proc, found.p50, found.p90,
                found.p95, found.p99, found.p999, found.p100))))
    return table('Operations: response times are of successes', _OPERATIONS,
                 rows)


def _intended(result):
    rows = []
    for stage, work, operation in _measured(result):
        found = work.metrics(operation).intended
        if work.rate and found:
            rows.append((stage.id, label(operation), short(work.rate),
                         *map(short, (
                             found.average, found.p50, found.p95,
                             found.p99, found.p999, found.p100))))
    return table('From when each operation was due to its end', _INTENDED,
                 rows)


def _failures(result):
    return table('Failures', ('Stage', 'Operation', 'Failure', 'Count',
                              'One of them'), [
        (stage.id, label(operation), error, count,
         operation.tally.examples.get(error, '-'))
        for stage, _, operation in _measured(result)
        for error, count in sorted(operation.tally.failures.items())])


def _drivers(result):
    return table('Drivers', _DRIVERS, [
        (driver.name, driver.state, *map(short, (
            driver.cpu_percent_p95, driver.loop_lag_ms_p99,
            driver.clock_offset_s, driver.operations_per_cpu_second)),
         driver.reason or '-')
        for driver in result.drivers])


def _work_drivers(result):
    return table('Drivers in each work', _WORK_DRIVERS, [
        (stage.id, work.name, each.name, *map(short, (
            each.workers, each.cpu_percent_p95, each.loop_lag_ms_p99,
            each.resent)))
        for stage, work in result.works for each in work.drivers])


def _nodes(result):
    return table('Storage nodes in each work: means of its run time', _NODES, [
        (stage.id, work.name, node.name, *map(short, (
            node.cpu, node.core, node.disk, node.wait)), *map(size, (
                node.read, node.written, node.received, node.sent)),
         *map(short, (node.network, node.pending, node.proxy_ms,
                      node.container_ms, node.object_ms)))
        for stage, work in result.works
        for node in node_means(work, result.nodes)])


def _work(stage, work, nodes):
    state = ', '.join(filter(None, (
        '%d workers' % work.workers, work.state, work.reason)))
    yield paragraph(state)
    yield from (paragraph('Limit: ' + each, 'bad')
                for each in limits(work, nodes))
    yield plots([*run_plots.of_work(stage, work),
                 *node_plots.of_work(stage, work, nodes)])
