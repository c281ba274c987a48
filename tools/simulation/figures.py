# SPDX-License-Identifier: Apache-2.0
"""The figures of the paper's evaluation, simulated: ``simulate figures``.

README.md says what each shows beside the paper's numbers.
"""

import argparse
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from cosbench.reports import page
from tools.benchmarks.record import lines
from tools.simulation import paper, report
from tools.simulation.costs import CLOUD, LAB
from tools.simulation.scenarios import Writes, play
from tools.simulation.world import Settings

TITLES = {'stable': 'Figs. 25-26: in a stable state',
          'create': 'Figs. 29-30: right after 10 % object creations',
          'delete': 'Figs. 31-32: right after 10 % object deletions',
          'dead': 'Figs. 33-34: in the presence of a node failure',
          'rejoin': "Figs. 35-36: during a failed node's rejoining"}
TOPOLOGIES = ('lightsync-unbatched', 'star', 'chain')
#: The paper's clients write to all replicas, and its replicators have no
#: full exchange.
WRITES = Writes(0.1, 'all')


@dataclass(frozen=True)
class Case:
    """One run, which gives one point of a figure."""

    nodes: int
    replicas: int
    objects: int
    scenario: str
    protocol: str
    sample: int
    seed: int
    ring: str = 'dealt'

    def run(self) -> Any:
        """Simulate the case.

        :returns: an Outcome
        """
        shape = paper.shape(self.nodes, self.replicas, self.objects)
        return play(Settings(
            nodes=self.nodes, replicas=self.replicas,
            partitions=shape.partitions, objects=shape.objects,
            protocol=self.protocol, seed=self.seed, sample=self.sample,
            full_exchange=None, ring=self.ring,
            costs=LAB if self.nodes == paper.LAB_NODES else CLOUD),
            self.scenario, WRITES)


#: What was simulated: Case -> Outcome.
Found = dict[Case, Any]


def point(outcome: Any) -> tuple[float, float]:
    """Return minutes and MB a node of the first round after the change."""
    return outcome.first.delay / 60, outcome.first.bytes / 1e6


def cases(seed: int, sample: int) -> list[Case]:
    """Return all runs that the figures need, the largest first."""
    largest = paper.REPLICAS[-1], paper.OBJECTS[-1]
    # Neighbours are many: a larger sample, so that pairs of them recur.
    return [Case(paper.LARGE_NODES, *largest, scenario, protocol, 4 * sample,
                 seed)
            for scenario in paper.SCENARIOS
            for protocol in paper.PROTOCOLS
            ] + [Case(paper.LAB_NODES, replicas, objects, scenario, protocol,
                      sample, seed)
                 for objects in reversed(paper.OBJECTS)
                 for replicas in reversed(paper.REPLICAS)
                 for scenario in paper.SCENARIOS
                 for protocol in paper.PROTOCOLS
                 ] + [Case(paper.LAB_NODES, *largest, scenario, protocol,
                           sample, seed, 'built')
                      for scenario in paper.SCENARIOS
                      for protocol in TOPOLOGIES
                      ] + [Case(paper.LAB_NODES, replicas, paper.OBJECTS[-1],
                                'rejoin-minority', protocol, sample, seed)
                           for replicas in paper.REPLICAS[1:]
                           for protocol in paper.PROTOCOLS]


def _largest(found: Found, nodes: int, ring: str = 'dealt') -> dict[
        tuple[str, str], Any]:
    return {(case.scenario, case.protocol): outcome
            for case, outcome in found.items()
            if (case.nodes, case.replicas, case.objects, case.ring) == (
                nodes, paper.REPLICAS[-1], paper.OBJECTS[-1], ring)}


def topology_rows(found: Found) -> Iterator[tuple[str, ...]]:
    """
    Yield a table of topologies: of the slowest node, and compared to the ring.
    """
    outcomes = _largest(found, paper.LAB_NODES, 'built')
    for (scenario, protocol), outcome in outcomes.items():
        ring, first = outcomes[scenario, TOPOLOGIES[0]].first, outcome.first
        yield (scenario, protocol, report.number(first.delay / 60),
               report.number(first.slowest / 60),
               '%.1f' % (first.delay / ring.delay),
               '%.1f' % (first.slowest / ring.slowest),
               '%.1f' % (first.bytes / ring.bytes))


def rows(found: Found) -> Iterator[tuple[str, ...]]:
    """Yield the table: r = 5, n = 4M, beside the paper's numbers."""
    for nodes in (paper.LAB_NODES, paper.LARGE_NODES):
        for (scenario, protocol), outcome in _largest(found, nodes).items():
            numbers = paper.NUMBERS.get((nodes, scenario, protocol),
                                        (None, None))
            yield (scenario, protocol, str(nodes),
                   *map(report.number, point(outcome)),
                   *('-' if number is None else '%g' % number
                     for number in numbers),
                   report.number(outcome.first.messages),
                   'never' if outcome.rounds is None
                   else str(outcome.rounds))


def _plots(found: Found) -> Iterator[str]:
    for scenario, title in TITLES.items():
        yield page.heading(title)
        yield from report.curves(title, scenario, {
            (case.replicas, case.objects, case.protocol): point(outcome)
            for case, outcome in found.items()
            if (case.nodes, case.scenario, case.ring) == (
                paper.LAB_NODES, scenario, 'dealt')})
    lab = _largest(found, paper.LAB_NODES)
    yield page.heading('Fig. 37: rounds after a rejoin')
    yield report.curve('Fig. 37', 'sync delay (minutes)', {
        protocol: [result.delay / 60
                   for result in lab['rejoin', protocol].results]
        for protocol in paper.PROTOCOLS})
    yield page.heading('Fig. 38: accuracy after a minority of replica nodes '
                        'rejoins')
    yield report.curve('Fig. 38', 'accuracy (%)', {
        '%s r=%d' % (case.protocol, case.replicas): [
            100 * result.accuracy for result in outcome.results]
        for case, outcome in found.items()
        if case.scenario == 'rejoin-minority'})


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments after ``figures``."""
    parser = argparse.ArgumentParser(prog='simulate figures')
    parser.add_argument('--plot', metavar='DIR', required=True)
    parser.add_argument('--seed', type=int, default=1, help='default 1')
    parser.add_argument('--sample', type=int, default=512,
                        help='partitions simulated one by one; default 512')
    parser.add_argument('--workers', type=int, default=os.cpu_count(),
                        help='processes; default: one for each CPU')
    return parser


def draw(args: argparse.Namespace) -> int:
    """Simulate all, print the tables, and write the page.

    :returns: exit status
    """
    print('seed %d' % args.seed)
    wanted = cases(args.seed, args.sample)
    with ProcessPoolExecutor(args.workers) as pool:
        found = dict(zip(wanted, pool.map(Case.run, wanted)))
    tables = lines([
        ('scenario', 'protocol', 'nodes', 'minutes', 'MB', 'paper_min',
         'paper_MB', 'messages', 'rounds'), *rows(found)], left=2), lines([
             ('scenario', 'protocol', 'minutes', 'slowest', 'x ring',
              'x slowest', 'x MB'), *topology_rows(found)], left=2)
    print('\n\n'.join(tables))
    title = 'The figures of LightSync, simulated'
    report.write_page(args.plot, title, [
        *_plots(found), page.heading('Figs. 39-42, Table 3: r=5, n=4M'),
        page.tag('pre', tables[0]),
        page.heading('Figs. 43-44: other topologies, 5 nodes, r=5, n=4M'),
        page.tag('pre', tables[1])])
    return 0
