# SPDX-License-Identifier: Apache-2.0
"""The plots of a result, each with its figures as a table."""

from itertools import accumulate

from cosbench.measure.heat import heat_map
from cosbench.measure.histogram import Histogram
from cosbench.reports.numbers import ratio, short
from cosbench.reports.page import figure, table
from cosbench.reports.tables import EVEN, bins, label
from swift_lightsync.common.scale import Scale
from swift_lightsync.common.svg import Axis, Series, bar_plot, line_plot
from swift_lightsync.common.svg_heat import heat_plot

#: Points of a line, and rows of a table, at most.
MOST_POINTS, MOST_ROWS = 600, 200
#: Of a heat map: columns, and rows of its table.
MOST_COLUMNS, MOST_CELLS = 100, 500
#: What the end of a work may be off, in seconds: times are whole microseconds.
_CLOCK = 1e-6
_SECONDS = 'Seconds since the begin of the work'
_RATE = Axis('Operations/s')
_MILLISECONDS = Axis('Response time, ms', log=True)


def of_work(stage, work):
    """Return figures, as HTML: over time, then how the times are spread."""
    title = '%s, %s' % (stage.id, work.name)
    found = []
    if work.timeline is not None:
        found += [_throughput(title, work), _times(title, work)]
        found += [_heat(title, work, operation)
                  for operation in work.operations]
    if work.histogram:
        found += [_histogram(title, operation)
                  for operation in work.operations]
        found.append(_cumulated(title, work))
    return [each for each in found if each]


def _points(work, most=MOST_POINTS):
    return [(label(operation), list(work.timeline.points(
        operation.id, most))) for operation in work.operations]


def _middle(point):
    return point.start + point.seconds / 2


def _throughput_in(work, point):
    """Return operations a second.

    None in an interval that the work did not fill, or which only what had
    begun before its end is in.
    """
    end = work.end
    filled = end is None or point.start + point.seconds <= end + _CLOCK
    return point.throughput if filled else None


def _seconds(named):
    """Return the axis of all points of a work."""
    ends = [point.start + point.seconds
            for _, points in named for point in points]
    return Axis(_SECONDS, scale=Scale.over(ends) if ends else None)


def _ramps(work):
    begin, end = work.window
    return [(at, words) for at, words in (
        (begin if work.rampup else 0, 'run time'),
        (end if work.rampdown else 0, 'ramp-down')) if at]


def _throughput(title, work):
    named = _points(work)
    series = [Series(name, tuple(
        (_middle(point), _throughput_in(work, point)) for point in points))
        for name, points in named]
    return figure(
        title + ': throughput',
        line_plot(title + ': throughput', 'Successful operations a second '
                  'over the time of the work, a line each operation.',
                  _seconds(named), _RATE, series, _ramps(work)),
        _over_time(title, work))


def _times(title, work):
    series, named = [], _points(work)
    for name, points in named:
        for words, key in _over(work):
            series.append(Series('%s %s' % (name, words), tuple(
                (_middle(point), getattr(point, key)) for point in points)))
    return figure(
        title + ': response time',
        line_plot(title + ': response time', 'Mean and 99th percentile of '
                  'the response time over the time of the work; of a rate, '
                  'from when each operation was due, too.',
                  _seconds(named), _MILLISECONDS, series, _ramps(work)),
        _over_time(title, work))


def _over(work):
    """Return (name, field of a ``Point``) of the times that are shown."""
    found = [('mean', 'mean'), ('p99', 'p99')]
    if work.rate is not None:
        found += [('mean from due', 'mean_intended'),
                  ('p99 from due', 'p99_intended')]
    return found


def _over_time(title, work):
    rows = [(short(point.start), name, point.count, point.failed,
             short(_throughput_in(work, point)),
             *(short(getattr(point, key)) for _, key in _over(work)))
            for name, points in _points(work, MOST_ROWS)
            for point in points]
    return table(title, (
        'From second', 'Operation', 'Successes', 'Failures', 'Operations/s',
        *(words + ' ms' for words, _ in _over(work))), rows)


def _heat(title, work, operation):
    """Return the heat map of an operation; of a rate, from when due."""
    found = heat_map(work.timeline, operation.id, MOST_COLUMNS,
                     work.rate is not None)
    if found is None or len(found.counts) < 2:
        return ''
    title = '%s, %s: how long it took, over time' % (title, label(operation))
    edges = [found.start + found.seconds * place
             for place in range(len(found.counts) + 1)]
    return figure(
        title,
        heat_plot(title, 'How many operations took how long in each time: '
                  'the darker, the more.', Axis(_SECONDS), Axis(
                      'From when due, ms' if work.rate is not None
                      else _MILLISECONDS.label, log=True),
                  (edges, found.edges), found.counts),
        table(title, ('From second', 'From ms', 'To ms', 'Operations'), [
            (short(begin), short(low), short(high), count)
            for begin, column in zip(edges, found.counts)
            for low, high, count in zip(found.edges, found.edges[1:], column)
            if count][:MOST_CELLS]))


def _histogram(title, operation):
    edges, (counts,) = bins([operation.tally.response], EVEN)
    edges = [edge / 1000 for edge in edges]
    title = '%s, %s: response times' % (title, label(operation))
    return figure(
        title,
        bar_plot(title, 'How many operations took how long.',
                 Axis('Response time, ms', log=True), Axis('Operations'),
                 edges, counts),
        table(title, ('From ms', 'To ms', 'Operations'), [
            (short(low), short(high), count) for low, high, count
            in zip(edges, edges[1:], counts)]))


def _cumulated(title, work):
    named = [(label(operation), operation.tally.response)
             for operation in work.operations]
    if work.rate is not None:
        named += [(label(operation) + ' from due', operation.tally.intended)
                  for operation in work.operations]
    return _shares(title, named)


def _shares(title, named):
    """Return a plot of how many operations took at most so long.

    :param named: (name, ``Histogram``) of each line
    """
    edges, lots = bins([histogram for _, histogram in named], EVEN)
    edges = [edge / 1000 for edge in edges]
    series, rows = [], []
    for (name, _), counts in zip(named, lots):
        total, points = sum(counts), []
        for edge, seen in zip(edges[1:], accumulate(counts) if total else ()):
            points.append((edge, 100 * seen / total))
            rows.append((name, short(edge), ratio(seen / total)))
        series.append(Series(name, tuple(points)))
    title += ': response-time distribution (CDF)'
    axis = Axis('Response time, ms', True, Scale(
        edges[0], edges[-1], True) if edges else None)
    return figure(
        title,
        line_plot(title, 'Percent of the operations that took at most a '
                  'response time.', axis,
                  Axis('Percent', scale=Scale(0, 100)), series),
        table(title, ('Operation', 'At most ms', 'Operations'), rows))


def against_workers(runs, marks=()):
    """Return plots of throughput and times over workers.

    :param runs: name -> ``Metrics`` by ascending workers
    :param marks: (workers, words) of what stands out
    :returns: figures, as a list
    """
    figures = table('By the number of workers', (
        'Workers', 'Operation', 'Operations/s', 'Mean ms', 'p95 ms'), [
            (step.workers, name, short(step.throughput),
             short(step.avg_res), short(step.p95))
            for name, steps in runs.items() for step in steps])
    numbers = sorted({step.workers for steps in runs.values()
                      for step in steps if step.workers})
    if not numbers:
        return []
    workers = Axis('Workers', True, Scale(
        numbers[0] / 1.2, numbers[-1] * 1.2, True),
        # At most 12 of them.
        tuple(numbers[::-(-len(numbers) // 12)]))
    found = (
        ('Throughput against workers', 'Successful operations a second at '
         'each number of workers.', _RATE, (('', 'throughput'),)),
        ('Response time against workers', 'Mean and 95th percentile of the '
         'response time at each number of workers.', _MILLISECONDS,
         ((' mean', 'avg_res'), (' p95', 'p95'))))
    return [each for each in (
        figure(title, line_plot(title, words, workers, axis, [
            _series(name + which, steps, attribute)
            for name, steps in runs.items()
            for which, attribute in attributes], marks), figures)
        for title, words, axis, attributes in found) if each]


def _series(name, steps, attribute):
    return Series(name, tuple((step.workers, getattr(step, attribute))
                              for step in steps))


def both(first, second):
    """Return plots that show two runs beside each other.

    :param first: a ``Result``
    :param second: a ``Result``
    :returns: figures, as a list: of each operation of normal works that both
        have, the response times of both, cumulated
    """
    lots = [_by_name(result) for result in (first, second)]
    return [each for each in (
        _shares(name, [('%s %s' % (result.id, name), lot[name])
                       for result, lot in zip((first, second), lots)])
        for name in lots[0] if name in lots[1]) if each]


def _by_name(result):
    found: dict[str, Histogram] = {}
    for stage, work in result.works:
        for operation in work.operations:
            if work.is_normal and work.histogram:
                found.setdefault('%s/%s/%s' % (
                    stage.name, work.name, label(operation)),
                    operation.tally.response)
    return found
