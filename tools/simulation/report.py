# SPDX-License-Identifier: Apache-2.0
"""Tables and pages with plots of simulations, and JSON for programs."""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict

from cosbench.reports import page
from swift_lightsync.common.svg import Axis, Series, line_plot
from tools.benchmarks.record import lines
from tools.simulation import paper

HEADER = ('scenario', 'protocol', 'round', 'delay_s', 'slowest_s',
          'messages', 'most', 'kB', 'differing')


def number(value):
    """Return a number with three significant digits."""
    if value >= 100:
        return '%.0f' % value
    return '%.3g' % value


def _row(outcome, index):
    result = outcome.results[index]
    return (outcome.scenario, outcome.protocol, str(index + 1),
            number(result.delay), number(result.slowest),
            number(result.messages), number(result.most_messages),
            number(result.bytes / 1000), str(result.differing))


def rounds_table(outcomes):
    """Return each round of each outcome."""
    return lines([HEADER, *(_row(outcome, index) for outcome in outcomes
                            for index in range(len(outcome.results)))],
                 left=2)


def summary_table(outcomes):
    """Return each outcome's first round, and how many rounds it took."""
    header = HEADER[:2] + ('rounds',) + HEADER[3:8]
    return lines([header, *(
        _row(outcome, 0)[:2] + ('never' if outcome.rounds is None
                                else str(outcome.rounds),)
        + _row(outcome, 0)[3:8] for outcome in outcomes)], left=2)


def write_json(path, settings, outcomes):
    """Write all results to a file.

    :param path: the file
    :param settings: :class:`Settings`
    :param outcomes: a list of Outcome
    """
    with open(path, 'w', encoding='utf8') as output:
        json.dump({'settings': asdict(settings),
                   'outcomes': [outcome.as_dict() for outcome in outcomes]},
                  output, indent=1)
        output.write('\n')


#: What is plotted of an outcome's first round: minutes, and MB a node.
_AXES = (Axis('sync delay (minutes)', log=True),
         Axis('network overhead (MB a node)', log=True))


def write_page(directory: str, title: str, parts: Iterable[str]) -> None:
    """Write the page ``figures.html``.

    :param parts: plots, and other HTML
    """
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, 'figures.html')
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


def curve(title: str, label: str, series: dict[str, list[float]]) -> str:
    """Draw a value over the rounds.

    :param label: names the value, with its unit
    :param series: name -> the value of each round
    """
    most = max(map(len, series.values()))
    return line_plot(title, 'Of each round.', Axis(
        'round', at=list(range(1, most + 1))), Axis(label), [
            Series(name, list(enumerate(values, 1)))
            for name, values in series.items()])
