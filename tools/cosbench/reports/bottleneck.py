# SPDX-License-Identifier: Apache-2.0
"""What limited a work, as far as its drivers and the nodes tell.

A part that was busy nearly all the time is a limit; one that is far slower
than its like holds them up. Figures are means over the run time: a part that
is full for a moment limits nothing.
"""

from dataclasses import dataclass, fields
from statistics import fmean, median

from cosbench.measure.drivers import strains
from cosbench.measure.nodes import NodePoint
from cosbench.reports.numbers import short

#: Percent of the time, or of what it can, from which on a part is full.
FULL = {'disk': 90.0, 'cpu': 90.0, 'core': 95.0, 'network': 85.0}
#: What takes at least so many milliseconds, and so many times as long as its
#: like at the median, is slow: an access of a disk, a request to a server, an
#: operation at an endpoint.
SLOW_MS, SLOWER = 5.0, 3.0
#: Updates that wait for container servers, more at the end than at the begin.
BEHIND = 100
#: Of ``NodePoint``, what a slow one is called.
_LIKE = {'wait': 'an access of its disks',
         'container_ms': 'a request to its container servers',
         'object_ms': 'a request to its object servers',
         'proxy_ms': 'a request to its proxy servers'}


@dataclass(frozen=True)
class NodeMeans(NodePoint):
    """A node over the run time of a work: the mean of each figure."""

    name: str = ''
    #: Updates that wait, at the end more than at the begin.
    grown: float = 0.0
    #: The name of its busiest disk.
    busiest: str = ''


def node_means(work, nodes) -> list[NodeMeans]:
    """Return what nodes did in the run time of a work.

    :param work: a ``WorkResult``
    :param nodes: ``NodeResult`` objects
    :returns: one of each that has figures of this time
    """
    if work.started is None or work.end is None:
        return []
    begin, end = work.window
    end = work.started + (work.end if end is None else end)
    found = []
    for node in nodes:
        points = [each for each in node.points
                  if work.started + begin <= each.when <= end]
        if points:
            waiting = [each.pending for each in points
                       if each.pending is not None]
            found.append(NodeMeans(
                name=node.name,
                **{each.name: _mean(points, each.name)
                   for each in fields(NodePoint)},
                grown=waiting[-1] - waiting[0] if waiting else 0.0,
                busiest=max(node.disks, key=lambda each: each[1],
                            default=('', 0))[0]))
    return found


def _mean(points, name):
    known = [getattr(each, name) for each in points
             if getattr(each, name) is not None]
    return fmean(known) if known else None


def limits(work, nodes) -> list[str]:
    """Return what limited a work, the likeliest first.

    :param work: a ``WorkResult``
    :param nodes: ``NodeResult`` objects
    :returns: texts; none if nothing was full, or nothing is known
    """
    means = node_means(work, nodes)
    full = list(_full(means))
    return [*strains(work.drivers), *(words for _, words in full),
            *_slow(means, {name for names, _ in full for name in names}),
            *_behind(means), *_slow_endpoints(work)]


def _full(means):
    """Yield names of nodes of which a part is full, and what to say."""
    # That all of a kind are full is one thing to say.
    for figure, words in (
            ('disk', 'disks were busy'), ('network', 'network cards carried'),
            ('cpu', 'processors were busy'),
            ('core', 'busiest core was busy')):
        full = {each.name: each for each in means
                if (getattr(each, figure) or 0) >= FULL[figure]}
        if figure == 'core':
            full = {name: each for name, each in full.items()
                    if (each.cpu or 0) < FULL['cpu']}
        if full:
            worst = max(full.values(), key=lambda each: getattr(each, figure))
            yield full, _sentence(worst, figure, words, len(full), len(means))


def _sentence(node, figure, words, number, all_):
    disk = ' (%s)' % node.busiest if figure == 'disk' and node.busiest else ''
    more = '' if number == 1 else ', and %d more of %d nodes' % (
        number - 1, all_)
    what = '%s%% of %s' % (short(getattr(node, figure)), {
        'network': 'what they can'}.get(figure, 'the time'))
    return 'node %s: its %s%s %s%s' % (node.name, words, disk, what, more)


def _slow(means, explained):
    """Yield what is slow on a node where nothing else explains it."""
    found = []
    for attribute, words in _LIKE.items():
        known = {each.name: getattr(each, attribute) for each in means
                 if getattr(each, attribute) is not None}
        found += [(attribute != 'wait', others - value, name, words, value,
                   others) for name, value, others in _outliers(known)]
    # Disks slow servers; of these the one that costs most is first.
    for _, _, name, words, value, others in sorted(found):
        if name not in explained:
            explained = explained | {name}
            yield 'node %s: %s took %s ms, one of the other nodes\' %s ms' \
                % (name, words, short(value), short(others))


def _outliers(values):
    """Yield (name, value, median of the others) of what is far above them."""
    for name, value in values.items():
        others = [each for key, each in values.items() if key != name]
        if others and value >= SLOW_MS and \
                value >= SLOWER * max(median(others), 0.1):
            yield name, value, median(others)


def _slow_endpoints(work):
    """Yield the endpoints at which an operation takes far longer."""
    for each in work.operations:
        rows = {row.name: work.metrics(row).avg_res for row in work.operations
                if row.id.startswith(each.id + '/')
                and row.id.rpartition('/')[2].isdigit()}
        for name, value, others in _outliers({
                key: value for key, value in rows.items()
                if value is not None}):
            yield '%s took %s ms, %s ms at the other endpoints' % (
                name, short(value), short(others))


def _behind(means):
    grown: dict[str, float] = {each.name: each.grown for each in means
                               if each.grown >= BEHIND}
    if grown:
        name = max(grown, key=grown.__getitem__)
        yield 'container servers fell behind: %s updates more waited on ' \
            'node %s at the end than at the begin' % (
                short(grown[name]), name)
