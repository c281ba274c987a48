# SPDX-License-Identifier: Apache-2.0
"""The command line of the simulator: ``tools/simulate``."""

import argparse
import random
import sys

from swift_lightsync.common import command
from tools.arguments import names, number
from tools.simulation import figures, report
from tools.simulation.costs import COSTS
from tools.simulation.placement import RINGS
from tools.simulation.scenarios import COPIES, SCENARIOS, Writes, play
from tools.simulation.world import PROTOCOLS, Settings


def _parser():
    parser = argparse.ArgumentParser(
        prog='simulate', description='Simulate object replication by stock '
        'Swift and by LightSync. "simulate figures" draws the figures of '
        'the paper; see tools/simulation/README.md.',
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add('--nodes', type=int, default=5, help='up to 10,000')
    add('--disks', type=int, default=1, help='of each node')
    add('--replicas', type=int, default=3, help='2 to 9')
    add('--partitions', type=int, default=1024, help='of the ring')
    add('--objects-per-partition', type=int, default=8, dest='objects',
        help='each in a suffix of its own')
    add('--protocol', type=names(PROTOCOLS), default='stock,lightsync',
        metavar='NAME,...', help='of ' + ', '.join(PROTOCOLS))
    add('--scenario', type=names(SCENARIOS), default='stable',
        metavar='NAME,...', help='of ' + ', '.join(SCENARIOS))
    add('--rounds', action='store_true', help='print each round')
    add('--most-rounds', type=int, default=12, help='then give up')
    add('--fraction', type=number(0, 1, float), default=0.1,
        help='of the objects that are written')
    add('--copies', choices=list(COPIES), default='quorum',
        help='replicas that a write reaches')
    add('--loss', type=float, default=0.0,
        help='probability that a request or an answer is lost')
    add('--latency', type=float, default=0.2, metavar='MS', help='one way')
    add('--regions', type=int, default=1, help='that nodes are in, in turn')
    add('--ring', choices=list(RINGS), default='dealt',
        help="replicas placed by chance, or by Swift's ring builder")
    add('--full-exchange', type=float, default=3600.0, metavar='SECONDS',
        help='full_exchange_interval; negative: never')
    add('--costs', choices=list(COSTS), default='today',
        help='whose hardware')
    add('--sample', type=int, default=8192, help='partitions simulated one '
        'by one; each stands for an equal share of all')
    add('--seed', type=int, help='None: one by chance, which is printed')
    add('--json', metavar='FILE', help='write all results to FILE')
    return parser


def _settings(args, protocol):
    return Settings(**{
        **{name: getattr(args, name) for name in (
            'nodes', 'disks', 'replicas', 'partitions', 'objects', 'loss',
            'seed', 'sample', 'regions', 'ring')},
        'protocol': protocol, 'latency': args.latency / 1000,
        'full_exchange': args.full_exchange if args.full_exchange >= 0
        else None, 'costs': COSTS[args.costs]})


def _simulate(args):
    if args.seed is None:
        args.seed = random.SystemRandom().randrange(1 << 32)
    print('seed %d' % args.seed)
    settings = [_settings(args, protocol) for protocol in args.protocol]
    if settings[0].partitions > settings[0].sample:
        print('aggregated: %d partitions are simulated, each stands for %.1f'
              % (settings[0].sample,
                 settings[0].partitions / settings[0].sample))
    writes = Writes(args.fraction, args.copies)
    outcomes = [play(each, scenario, writes, args.most_rounds)
                for scenario in args.scenario for each in settings]
    print((report.rounds_table if args.rounds else report.summary_table)(
        outcomes))
    if args.json:
        report.write_json(args.json, settings[0], outcomes)
    return 0 if all(outcome.rounds is not None for outcome in outcomes) else 1


def main(argv=None):
    """Run the command.

    :param argv: the arguments; None: those of the process
    :returns: exit status: 0, 1 if a scenario did not converge, 2 for bad
        arguments
    """
    argv = sys.argv[1:] if argv is None else argv
    if argv[:1] == ['figures']:
        return command.run(figures.parser(), figures.draw, argv[1:])
    return command.run(_parser(), _simulate, argv)
