# SPDX-License-Identifier: Apache-2.0
"""
The figures of the paper's evaluation, simulated: ``simulate figures``.

README.md says what each shows beside the paper's numbers.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from tools.simulation import paper, plots, report
from tools.simulation.costs import CLOUD, LAB
from tools.simulation.scenarios import Writes, play
from tools.simulation.world import Settings

NAMES = {'stable': ('fig25-26', 'in a stable state'),
         'create': ('fig29-30', 'right after 10 % object creations'),
         'delete': ('fig31-32', 'right after 10 % object deletions'),
         'dead': ('fig33-34', 'in the presence of a node failure'),
         'rejoin': ('fig35-36', 'during a failed node\'s rejoining')}
TOPOLOGIES = ('lightsync-unbatched', 'star', 'chain')
#: The paper's clients write to all replicas, and its replicators have no
#: full exchange.
WRITES = Writes(0.1, 'all')


@dataclass(frozen=True)
class Case:
    """One run: what is simulated for one point of a figure."""
    nodes: int
    replicas: int
    objects: int
    scenario: str
    protocol: str
    sample: int
    seed: int
    ring: str = 'dealt'

    def run(self):
        """:returns: an Outcome"""
        shape = paper.shape(self.nodes, self.replicas, self.objects)
        return play(Settings(
            nodes=self.nodes, replicas=self.replicas,
            partitions=shape.partitions, objects=shape.objects,
            protocol=self.protocol, seed=self.seed, sample=self.sample,
            full_exchange=None, ring=self.ring,
            costs=LAB if self.nodes == paper.LAB_NODES else CLOUD),
            self.scenario, WRITES)


def _run(case):
    return case.run()


def point(outcome):
    """Minutes and MB a node, of the first round after the change."""
    return outcome.first.delay / 60, outcome.first.bytes / 1e6


def cases(seed, sample):
    """All runs that the figures need, the largest first."""
    largest = paper.REPLICAS[-1], paper.OBJECTS[-1]
    wanted = [Case(paper.LAB_NODES, replicas, objects, scenario, protocol,
                   sample, seed)
              for objects in reversed(paper.OBJECTS)
              for replicas in reversed(paper.REPLICAS)
              for scenario in paper.SCENARIOS
              for protocol in paper.PROTOCOLS]
    wanted += [Case(paper.LAB_NODES, *largest, scenario, protocol, sample,
                    seed, 'built')
               for scenario in paper.SCENARIOS for protocol in TOPOLOGIES]
    wanted += [Case(paper.LAB_NODES, replicas, paper.OBJECTS[-1],
                    'rejoin-minority', protocol, sample, seed)
               for replicas in paper.REPLICAS[1:]
               for protocol in paper.PROTOCOLS]
    # Neighbours are many: a larger sample, so that pairs of them recur.
    return [Case(paper.LARGE_NODES, *largest, scenario, protocol, 4 * sample,
                 seed)
            for scenario in paper.SCENARIOS
            for protocol in paper.PROTOCOLS] + wanted


def _by_size(found):
    for scenario, (name, title) in NAMES.items():
        yield scenario, name, 'Figs. %s: %s, %d nodes' % (
            name[3:], title, paper.LAB_NODES), {
                (case.replicas, case.objects, case.protocol): point(outcome)
                for case, outcome in found.items()
                if case.nodes == paper.LAB_NODES
                and case.scenario == scenario and case.ring == 'dealt'}


def _largest(found, nodes, ring='dealt'):
    return {(case.scenario, case.protocol): outcome
            for case, outcome in found.items()
            if case.nodes == nodes and case.objects == paper.OBJECTS[-1]
            and case.ring == ring
            and case.replicas == paper.REPLICAS[-1]}


def _draw_bars(directory, found):
    for nodes, name, what in ((paper.LAB_NODES, 'fig39-41', 'lab scale'),
                              (paper.LARGE_NODES, 'fig40-42-table3',
                               'large scale')):
        values = {key: point(outcome) for key, outcome
                  in _largest(found, nodes).items()
                  if key[0] in paper.SCENARIOS}
        values.update({(scenario, 'paper: ' + protocol): numbers
                       for (size, scenario, protocol), numbers
                       in paper.NUMBERS.items() if size == nodes})
        plots.bars(directory, name, '%s: %d nodes, r=5, n=4M' % (
            what, nodes), values, paper.PROTOCOLS + (
                'paper: stock', 'paper: lightsync-unbatched'))
    plots.bars(directory, 'fig43-44', 'Other topologies: 5 nodes, r=5, n=4M, '
               'the slowest node', {
                   key: (outcome.first.slowest / 60, outcome.first.bytes / 1e6)
                   for key, outcome in _topologies(found).items()},
               TOPOLOGIES)


def _topologies(found):
    return {key: outcome for key, outcome
            in _largest(found, paper.LAB_NODES, 'built').items()
            if key[0] in paper.SCENARIOS}


def topology_rows(found):
    """The topologies: of the slowest node, and beside the ring."""
    outcomes = _topologies(found)
    for (scenario, protocol), outcome in outcomes.items():
        ring = outcomes[scenario, TOPOLOGIES[0]].first
        first = outcome.first
        yield (scenario, protocol, report.number(first.delay / 60),
               report.number(first.slowest / 60),
               '%.1f' % (first.delay / ring.delay),
               '%.1f' % (first.slowest / ring.slowest),
               '%.1f' % (first.bytes / ring.bytes))


def _draw_rounds(directory, found):
    lab = _largest(found, paper.LAB_NODES)
    plots.lines(directory, 'fig37', 'Fig. 37: rounds after a rejoin', {
        'sync delay (minutes)': {
            protocol: [result.delay / 60 for result
                       in lab['rejoin', protocol].results]
            for protocol in paper.PROTOCOLS}})
    plots.lines(directory, 'fig38', 'Fig. 38: accuracy after a minority of '
                'replica nodes rejoins', {'accuracy (%)': {
                    '%s r=%d' % (case.protocol, case.replicas): [
                        100 * result.accuracy for result in outcome.results]
                    for case, outcome in found.items()
                    if case.scenario == 'rejoin-minority'}})


def rows(found):
    """The table: r = 5, n = 4M, beside the paper's numbers."""
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


def main(argv):
    """
    :param argv: the arguments after ``figures``
    :returns: exit status
    """
    parser = argparse.ArgumentParser(prog='simulate figures')
    parser.add_argument('--plot', metavar='DIR', required=True)
    parser.add_argument('--seed', type=int, default=1, help='default 1')
    parser.add_argument('--sample', type=int, default=512,
                        help='partitions simulated one by one; default 512')
    parser.add_argument('--workers', type=int, default=os.cpu_count(),
                        help='processes; default: one for each CPU')
    args = parser.parse_args(argv)
    print('seed %d' % args.seed)
    wanted = cases(args.seed, args.sample)
    with ProcessPoolExecutor(args.workers) as pool:
        found = dict(zip(wanted, pool.map(_run, wanted)))
    for scenario, name, title, points in _by_size(found):
        plots.curves(args.plot, '%s-%s' % (name, scenario), title, points,
                     scenario)
    _draw_bars(args.plot, found)
    _draw_rounds(args.plot, found)
    text = report.table(
        ('scenario', 'protocol', 'nodes', 'minutes', 'MB', 'paper_min',
         'paper_MB', 'messages', 'rounds'), list(rows(found)))
    text += '\n\n' + report.table(
        ('scenario', 'protocol', 'minutes', 'slowest', 'x ring', 'x slowest',
         'x MB'), list(topology_rows(found)))
    print(text)
    with open(os.path.join(args.plot, 'table.txt'), 'w',
              encoding='utf8') as output:
        output.write(text + '\n')
    return 0
