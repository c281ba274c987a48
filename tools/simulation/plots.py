# SPDX-License-Identifier: Apache-2.0
"""Pages with plots of simulations."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

from cosbench.reports import page
from swift_lightsync.common.svg import Axis, Series, line_plot
from tools.simulation import paper

#: What is plotted of an outcome's first round: minutes, and MB a node.
_AXES = (Axis('sync delay (minutes)', log=True),
         Axis('network overhead (MB a node)', log=True))


def write(directory: str, name: str, title: str,
          parts: Iterable[str]) -> None:
    """Write a page.

    :param name: of the file, without its ending
    :param parts: plots, and other HTML
    """
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, name + '.html')
    with open(path, 'w', encoding='utf8') as output:
        output.write(page.page(title, parts))
    print('wrote %s' % path)


def curves(title: str, scenario: str,
           points: dict[tuple[int, int, str], tuple[float, float]]
           ) -> Iterator[str]:
    """Draw delay and bytes over n, and the paper's numbers as single points.

    :param points: (replicas, objects, protocol) -> (minutes, MB)
    """
    across = Axis('objects a node (n); single points: the paper, r=5',
                  log=True)
    for index, axis in enumerate(_AXES):
        series = [Series('%s r=%d' % (protocol, replicas), sorted(
            (each[1], value[index]) for each, value in points.items()
            if (each[0], each[2]) == (replicas, protocol)))
            for replicas in paper.REPLICAS for protocol in paper.PROTOCOLS]
        series += [Series('paper: ' + protocol, [(
            paper.OBJECTS[-1], paper.NUMBERS.get(
                (paper.LAB_NODES, scenario, protocol), (None, None))[index])])
            for protocol in paper.PROTOCOLS]
        yield line_plot(title, 'The first round after the change.', across,
                        axis, [each for each in series if any(
                            y is not None for _, y in each.points)])


def lines(title: str, label: str, series: dict[str, list[float]]) -> str:
    """Draw a value over the rounds.

    :param label: names the value, with its unit
    :param series: name -> the value of each round
    """
    most = max(map(len, series.values()))
    return line_plot(title, 'Of each round.', Axis(
        'round', at=list(range(1, most + 1))), Axis(label), [
            Series(name, list(enumerate(values, 1)))
            for name, values in series.items()])


def rounds(directory: str, outcomes: list[Any]) -> None:
    """Write a page with the rounds of some outcomes."""
    parts = []
    for scenario in dict.fromkeys(each.scenario for each in outcomes):
        parts.append(page.heading(scenario))
        for label, field in (('sync delay (s)', 'delay'),
                             ('bytes a node', 'bytes'),
                             ('partitions that differ', 'differing')):
            parts.append(lines(scenario, label, {
                each.protocol: [getattr(result, field)
                                for result in each.results]
                for each in outcomes if each.scenario == scenario}))
    write(directory, 'rounds', 'Rounds', parts)
