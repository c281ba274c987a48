# SPDX-License-Identifier: Apache-2.0
"""COSBench's CSV files, as rows of cells, with exactly its columns.

Differences from its 0.4.2 are in the values only: response times have
microseconds, and the bins of the histogram grow with the time, where there
they were 10 ms wide, which is more than most small objects take.
"""

from bisect import bisect_right
from heapq import merge
from itertools import groupby

from cosbench.reports.numbers import NOTHING, moment, number, ratio
from cosbench.workload.model import OperationType, WorkType

_METRICS = ('Avg-ResTime', 'Avg-ProcTime', '60%-ResTime', '80%-ResTime',
            '90%-ResTime', '95%-ResTime', '99%-ResTime', '100%-ResTime',
            'Throughput', 'Bandwidth', 'Succ-Ratio')
RUN_HISTORY = ('Id', 'Name', 'Submitted-At', 'Started-At', 'Stopped-At',
               'Op-Info', 'State', 'Detailed State')
#: From when each operation was due; behind what COSBench has.
DUE = ('Avg-DueTime', '50%-DueTime', '95%-DueTime', '99%-DueTime',
       '100%-DueTime')
INTERVAL_DUE = ('Avg-DueTime', '99%-DueTime')
MATRIX = ('Id', 'Op-Name', 'Op-Count', 'Byte-Count', 'Worker-Count',
          *_METRICS, 'Config-Info', *DUE)
WORKLOAD = ('Stage', 'Op-Name', 'Op-Type', 'Op-Count', 'Byte-Count',
            *_METRICS, 'Status', 'Detailed Status')
INTERVAL = ('Op-Count', 'Byte-Count', 'Avg-ResTime', 'Avg-ProcTime',
            'Throughput', 'Bandwidth', 'Succ-Ratio')
#: Digits of milliseconds after the point.
_TIME_DIGITS = 3
#: What the operations of special works are made of.
_MADE_OF = {kind.value: made for kind, made in (
    (OperationType.INIT, 'write'), (OperationType.PREPARE, 'write'),
    (OperationType.CLEANUP, 'delete'), (OperationType.DISPOSE, 'delete'))}
#: Characters that readers of CSV take.
_LONGEST_CELL = 10000
#: Begins of bins in each decade: round ones, and such as are equally wide on
#: a logarithmic axis.
ROUND = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
EVEN = tuple(10 ** (number / 20) for number in range(20))


def label(operation):
    """Return what COSBench called an operation.

    :param operation: an ``OperationResult``
    """
    made = _MADE_OF.get(operation.type)
    return '%s-%s' % (operation.name, made) if made else operation.name


def measured(stage):
    """Return a list of (work, operation) of the works that have any."""
    return [(work, operation) for work in stage.works
            if work.type != WorkType.DELAY.value
            for operation in work.operations]


def _times(metrics):
    return [number(value, _TIME_DIGITS) for value in (
        metrics.avg_res, metrics.avg_proc, metrics.p60, metrics.p80,
        metrics.p90, metrics.p95, metrics.p99, metrics.p100)]


def _figures(metrics):
    return _times(metrics) + [
        number(metrics.throughput), number(metrics.bandwidth),
        ratio(metrics.success_ratio)]


def _due(metrics):
    due = metrics.intended
    return [number(due and value, _TIME_DIGITS) for value in (
        [due.average, due.p50, due.p95, due.p99, due.p100]
        if due else [None] * len(DUE))]


def _has_rate(works):
    return any(work.rate is not None for work in works)


def _states(thing, zone):
    """What happened to a stage or a workload, a cell each."""
    history = thing.history or [
        (state, when) for state, when in (
            ('running', thing.started), (thing.state, thing.stopped))
        if when is not None]
    return ['%s @ %s' % (state.lower(), moment(when, zone))
            for state, when in history]


def run_history(result, zone=None):
    """Return the row of run-history.csv."""
    names = dict.fromkeys(operation.name for stage in result.stages
                          for _, operation in measured(stage))
    return [result.id, result.name, moment(result.submitted, zone),
            moment(result.started, zone), moment(result.stopped, zone),
            ' '.join(names), result.state.lower(), *_states(result, zone)]


def matrix(result):
    """Return the rows of workloads.csv."""
    return [['%s-%s-%d' % (result.id, stage.id, index), label(operation),
             metrics.op_count, metrics.byte_count, metrics.workers,
             *_figures(metrics), _config_info(operation), *_due(metrics)]
            for stage in result.stages
            for index, (operation, metrics) in enumerate(
                ((operation, work.metrics(operation))
                 for work, operation in measured(stage)), 1)]


def _config_info(operation):
    share = '' if operation.ratio is None else '%d%% ' % operation.ratio
    config = operation.config.replace(',', '-').replace(';', ' ')
    return (share + config[:_LONGEST_CELL]).rstrip()


def workload(result, zone=None):
    """Return the rows of wN-name.csv.

    Those of a workload with a rate have further columns at the end.
    """
    rows, due = [list(WORKLOAD)], []
    for stage in result.stages:
        status = [stage.state.lower(), *_states(stage, zone)]
        found = measured(stage)
        if not found:
            rows.append([stage.id] + [NOTHING] * (len(WORKLOAD) - 3)
                        + status)
            due.append([NOTHING] * len(DUE))
        for work, operation in found:
            metrics = work.metrics(operation)
            rows.append([stage.id, label(operation), operation.type,
                         metrics.op_count, metrics.byte_count,
                         *_figures(metrics), *status])
            due.append(_due(metrics))
    if not _has_rate(work for stage in result.stages for work in stage.works):
        return rows
    width = max(map(len, rows))
    return [row + [''] * (width - len(row)) + list(more)
            for row, more in zip(rows, [DUE, *due])]


def stage_series(stage, zone=None):
    """Yield the rows of sN-stage.csv.

    Two rows are headings, then one is at the end of each interval.
    """
    found = measured(stage)
    names = [label(operation) for _, operation in found]
    heading, below = ['Timestamp'], ['']
    for column in INTERVAL:
        heading += [column] + [''] * (len(names) - 1) if names else [column]
        below += names or ['']
    late = INTERVAL_DUE if _has_rate(stage.works) else ()
    yield heading + ['Version-Info', '', ''] + [
        cell for column in late for cell in (
            column, *[''] * (len(names) - 1))]
    yield below + ['Min-Version', 'Version', 'Max-Version'] + \
        names * len(late)
    # The stage has begun before, to log in and to make ready.
    begin = min((work.started for work, _ in found
                 if work.started is not None), default=stage.started or 0)
    streams = [_ends(column, work.timeline, operation.id)
               for column, (work, operation) in enumerate(found)
               if work.timeline is not None]
    for version, (end, group) in enumerate(
            groupby(merge(*streams), key=lambda each: each[0]), 1):
        points = {column: point for _, column, point in group}
        cells = [_cells(work.timeline, points.get(column), end)
                 for column, (work, _) in enumerate(found)]
        yield [moment(begin + end, zone, '%H:%M:%S'),
               *(cell for column in zip(*cells) for cell in column),
               version, version, version,
               *(_due_cell(points.get(column), name) for name in late
                 for column in range(len(found)))]


def _ends(column, timeline, operation):
    for point in timeline.points(operation):
        yield point.start + point.seconds, column, point


def _cells(timeline, point, end):
    """In the order of ``INTERVAL``."""
    if point is None:
        if timeline is None or end % timeline.seconds:
            return [NOTHING] * len(INTERVAL)
        return [0, 0, NOTHING, NOTHING, '0', '0', NOTHING]
    attempts = point.count + point.failed
    return [point.count, point.bytes, number(point.mean, _TIME_DIGITS),
            number(point.mean_processing, _TIME_DIGITS),
            number(point.throughput), number(point.bandwidth),
            ratio(point.count / attempts if attempts else None)]


def _due_cell(point, name):
    """Return the cell of a column of ``INTERVAL_DUE``."""
    value = point and (point.mean_intended if name == INTERVAL_DUE[0]
                       else point.p99_intended)
    return number(value, _TIME_DIGITS)


def bins(histograms, steps=ROUND):
    """Count times in bins that grow.

    :param histograms: each a ``Histogram``
    :param steps: the begins of bins in each decade
    :returns: (the edges in microseconds, ascending, of the bins from the
        first to the last that is used, a list of counts per bin of each
        histogram)
    """
    used = [[((low + high) / 2, count)
             for low, high, count in histogram.buckets()]
            for histogram in histograms]
    values = [value for each in used for value, _ in each]
    if not values:
        return [], [[] for _ in histograms]
    edges = [step * 10 ** decade for decade in range(10)
             for step in steps] + [10 ** 10]
    edges = edges[bisect_right(edges, min(values)) - 1:
                  bisect_right(edges, max(values)) + 1]
    lots = [[0] * (len(edges) - 1) for _ in used]
    for counts, each in zip(lots, used):
        for value, count in each:
            counts[bisect_right(edges, value) - 1] += count
    return edges, lots


def histogram(result):
    """Return the rows of wN-name-rt-histogram.csv.

    They say of each operation of a normal work how many took that many
    milliseconds, and how many percent that or less.
    """
    found = [(stage, number, work, operation) for stage in result.stages
             for number, work in enumerate(stage.works, 1)
             if work.is_normal and work.histogram
             for operation in work.operations]
    rows = [['ResTime']]
    for stage, index, work, operation in found:
        rows[0] += ['%s-w%d-%s-%s' % (stage.id, index, work.name,
                                      operation.name), '(%)']
    edges, counts = bins([operation.tally.response
                          for *_, operation in found])
    seen = [0] * len(counts)
    for place in range(len(edges) - 1):
        row = ['%s~%s' % tuple(number(edge / 1000, 4)
                               for edge in edges[place:place + 2])]
        for column, each in enumerate(counts):
            seen[column] += each[place]
            total = sum(each)
            row += [each[place],
                    ratio(seen[column] / total if total else 0)]
        rows.append(row)
    return rows
