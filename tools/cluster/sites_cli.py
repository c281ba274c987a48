# SPDX-License-Identifier: Apache-2.0
"""What ``tools/saio`` does with several sites."""

import os

from tools.cluster import relay, status
from tools.cluster.errors import ClusterError
from tools.cluster.sites import STATE, Sites


def add_commands(add):
    """:param add: a function that adds a command to the parser"""
    for name, help_text in (
            ('cut', 'let nothing pass between two sites'),
            ('join', 'let all pass between two sites again'),
            ('delay', 'let all between two sites take so long, each way')):
        command = add(name, _not_for_one, help_text)
        command.add_argument('one', metavar='SITE')
        command.add_argument('other', metavar='SITE')
    command.add_argument('seconds', type=float, metavar='SECONDS')


def _not_for_one(cluster, args):
    raise ClusterError('%s is for sites; `--sites N up` makes them' %
                       args.command)


def is_for_sites(args):
    """Whether a command is not for a single cluster."""
    return args.sites is not None or os.path.exists(
        os.path.join(args.dir, STATE))


def run(args, given):
    """
    :param given: fields of the clusters' specs
    :returns: the exit status
    :raises ClusterError: if there is no such command
    """
    if args.command not in _COMMANDS:
        raise ClusterError('%s is not for sites, it is for one: --dir %s' % (
            args.command, os.path.join(args.dir, 'SITE')))
    if args.command == 'up':
        sites = _made(args, given)
    elif args.sites is not None or given:
        raise ClusterError('--sites and what describes clusters is for up')
    else:
        sites = Sites.open(args.dir)
    return _COMMANDS[args.command](sites, args) or 0


def _made(args, given):
    if not os.path.exists(os.path.join(args.dir, STATE)):
        return Sites(args.dir, args.sites, **given)
    if args.sites is not None or given:
        raise ClusterError('there are sites in %s; `up` alone starts them' %
                           args.dir)
    return Sites.open(args.dir)


def _up(sites, args):
    sites.up()
    return _status(sites, args)


def _status(sites, args):
    for name, cluster in sites.clusters.items():
        print('site %s in %s' % (name, cluster.spec.root))
        for line in status.describe(cluster):
            print('  ' + line)
    for link in relay.read(sites.state):
        if link.cut or link.delay:
            print('%s to %s: %s' % (link.source, link.target, 'cut' if
                                    link.cut else '%g s' % link.delay))
    return 0 if all(cluster.is_up()
                    for cluster in sites.clusters.values()) else 1


_COMMANDS = {
    'up': _up,
    'status': _status,
    'down': lambda sites, args: sites.down(),
    'destroy': lambda sites, args: sites.destroy(),
    'cut': lambda sites, args: sites.cut(args.one, args.other),
    'join': lambda sites, args: sites.join(args.one, args.other),
    'delay': lambda sites, args: sites.delay(args.one, args.other,
                                             args.seconds)}
