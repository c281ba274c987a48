# SPDX-License-Identifier: Apache-2.0
"""The plots of the storage's nodes, on the time axis of a work."""

from cosbench.reports.numbers import short
from cosbench.reports.page import figure, table
from swift_lightsync.common.scale import Scale
from swift_lightsync.common.svg import Axis, Series, line_plot

#: Points of a line, at most.
MOST_POINTS = 600
_SECONDS = 'Seconds since the begin of the work'
#: Attribute of ``NodePoint``, title, what its values are.
_PLOTS = (('cpu', 'processors', 'Percent'),
          ('disk', 'busiest disk', 'Percent of the time'),
          ('wait', 'time of a disk access', 'ms'),
          ('received', 'network, received', 'Bytes/s'),
          ('sent', 'network, sent', 'Bytes/s'),
          ('pending', 'updates that wait for containers', 'Updates'),
          ('proxy_ms', 'time of a request to a proxy server', 'ms'),
          ('container_ms', 'time of a request to a container server', 'ms'),
          ('object_ms', 'time of a request to an object server', 'ms'))


def of_work(stage, work, nodes):
    """Return figures, as HTML, of what nodes did while a work ran.

    :param stage: a ``StageResult``
    :param work: a ``WorkResult``
    :param nodes: ``NodeResult`` objects
    """
    if work.started is None or work.end is None:
        return []
    lines = {node.name: [
        (each.when - work.started, each) for each in node.points
        if work.started <= each.when <= work.started + work.end + 1]
        for node in nodes}
    lines = {name: _thinned(points) for name, points in lines.items()
             if points}
    title = '%s, %s: ' % (stage.id, work.name)
    return [each for each in (
        _plot(title + words, lines, attribute, unit)
        for attribute, words, unit in _PLOTS) if each]


def _thinned(points):
    return points[::-(-len(points) // MOST_POINTS)]


def _plot(title, lines, attribute, unit):
    series = [Series(name, tuple(
        (when, getattr(each, attribute)) for when, each in points))
        for name, points in lines.items()]
    if not any(y for each in series for _, y in each.points):
        # Nothing happened there, or nothing is known.
        return ''
    axis = Axis(unit, scale=Scale(0, 100)) if unit.startswith('Percent') \
        else Axis(unit)
    return figure(
        'Nodes, ' + title,
        line_plot(title, 'What each storage node did over the time of the '
                  'work.', Axis(_SECONDS), axis, series),
        table(title, ('Node', 'Second', unit), [
            (name, short(when), short(getattr(each, attribute)))
            for name, points in lines.items() for when, each in points[
                ::-(-len(points) // 200)]
            if getattr(each, attribute) is not None]))
