# SPDX-License-Identifier: Apache-2.0
"""``tools/chaos``: all goes wrong for some minutes, and nothing is lost."""

import argparse
import os
import shutil
import time

from tests.chaos.census import Census, logged
from tests.chaos.clients import Clients
from tests.chaos.events import Events
from tests.chaos.history import History
from tests.chaos.world import running_world


def _parser():
    parser = argparse.ArgumentParser(
        prog='tools/chaos', description='Strike two sites on which all '
        'systems are at work: nodes, daemons, disks, networks, rings and '
        'clocks fail while clients write and read. The exit status is 1 if '
        'something acknowledged is lost, replicas or sites differ in the '
        'end, or something leaks.')
    add = parser.add_argument
    add('--seed', type=int, default=1, help='of the events (%(default)s)')
    add('--minutes', type=float, default=5, help='(%(default)s)')
    add('--clients', type=int, default=6, help='(%(default)s)')
    add('--stock', action='store_true',
        help="strike one cluster of Swift's own classes instead")
    add('--logs', metavar='DIRECTORY', help='where all logs are copied to in '
        'the end')
    add('--patience', type=float, default=1200, help='seconds that all may '
        'take to become the same in the end (%(default)s)')
    return parser


def play(seed, minutes, clients=6, stock=False, patience=1200, logs=None,
         say=print):
    """Play one run.

    :param logs: a directory that all logs are copied to; None: to none
    :param say: is told what happens
    :returns: a list of texts: what is wrong in the end
    """
    history = History()
    with running_world(stock) as world:
        before = Census.of(world)
        begin = time.monotonic()
        with Clients(world, history, seed).at_work(clients):
            Events(world, seed, lambda text: say('%6.1f s  %s' % (
                time.monotonic() - begin, text))).play(minutes * 60)
        world.heal()
        struck = time.monotonic()
        wrong = list(history.wrong)
        try:
            world.settle(history, patience)
        except AssertionError as err:
            wrong.append(str(err))
        end = time.monotonic()
        wrong += Census.of(world).leaks(before)
        floods, traces = logged(world, (end - begin) / 60)
        wrong += floods
        if logs:
            for site, cluster in world.clusters.items():
                shutil.copytree(cluster.layout.logs,
                                os.path.join(logs, site))
    say('seed %d, %g minutes: all the same after %.0f s; requests: %s' % (
        seed, minutes, end - struck, ', '.join(
            '%s %s: %d' % (*key, number) for key, number in sorted(
                history.counts.items(), key=str))))
    say('%d versions were acknowledged' % sum(
        len(each.known) for each in history.versions.values()))
    for (log, text), number in traces.most_common():
        say('traceback in %s, %d times: %s' % (log, number, text))
    return wrong


def main(argv=None):
    """Run ``tools/chaos``.

    :returns: the exit status
    """
    args = _parser().parse_args(argv)
    wrong = play(**vars(args), say=lambda text: print(text, flush=True))
    for text in wrong:
        print('WRONG: ' + text)
    print('seed %d: %s' % (args.seed, 'wrong' if wrong else 'all is well'))
    return 1 if wrong else 0
