# SPDX-License-Identifier: Apache-2.0
"""The command line of the development cluster: ``tools/saio``."""

import argparse
import os
import shlex
import sys

from tools import REPO
from tools.cluster import probe, sites_cli, status
from tools.cluster.cluster import Cluster
from tools.cluster.disks import DIRECTORY_NOTE
from tools.cluster.errors import ClusterError
from tools.cluster.spec import (
    DISKS,
    NETWORKS,
    REPLICATORS,
    SYNC_METHODS,
    ClusterSpec,
    Policy,
)

DEFAULT_DIR = os.path.join(REPO, '.saio')
EXPORTED = ('PATH', 'SWIFT_DIR', 'ST_AUTH', 'ST_USER', 'ST_KEY')
#: the flags that describe a cluster: those that `up` and `reset` take
SPEC_FLAGS = ('nodes', 'devices', 'policies', 'base_port', 'network',
              'replicator', 'sync_method', 'disks')
MAKERS = ('up', 'reset')


def _parser():
    parser = argparse.ArgumentParser(
        prog='saio', description='A Swift cluster for development, under '
        'one directory. Options of the cluster are remembered there; later '
        'commands need only --dir.')
    parser.add_argument('--dir', default=DEFAULT_DIR,
                        help='the directory (default: .saio in the repo)')
    parser.add_argument('--probe', action='store_true', help="with `run`: run "
                        "CMD in a cluster such as Swift's probe tests want, "
                        'which lasts as long as CMD')
    parser.add_argument('--sites', type=int, help='with `up`: so many '
                        'clusters that keep versions of the same objects')
    parser.add_argument('--nodes', type=int, help='storage nodes (5)')
    parser.add_argument('--devices', type=int, help='devices a node (1)')
    parser.add_argument('--policies', type=_policies, help='NAME:REPLICAS, '
                        'with :kv for objects in volumes, with :proar for '
                        'primary-role writes, and commas between them '
                        '(gold:3,platinum:5)')
    parser.add_argument('--base-port', type=int,
                        help='the first of ten ports (6200)')
    parser.add_argument('--network', choices=NETWORKS)
    parser.add_argument('--replicator', choices=REPLICATORS)
    parser.add_argument('--sync-method', choices=SYNC_METHODS)
    parser.add_argument('--disks', choices=DISKS)
    _add_commands(parser.add_subparsers(dest='command', required=True,
                                        metavar='COMMAND'))
    return parser


def _policies(text):
    try:
        return Policy.several(text)
    except ClusterError as err:
        raise argparse.ArgumentTypeError(str(err)) from err


def _add_commands(commands):
    def add(name, does, help_text):
        command = commands.add_parser(name, help=help_text)
        command.set_defaults(does=does)
        return command

    up = add('up', _up, 'make the cluster if need be, and start it')
    up.add_argument('--with-replicators', action='store_true',
                    help='start the object replicators as well')
    add('down', _down, 'end every process, unmount; the data stays')
    add('reset', _reset, 'wipe the data and start anew')
    add('destroy', _destroy, 'end the cluster and delete its directory')
    add('status', _status, 'show what runs')
    for name, does, help_text in (
            ('kill', _kill, 'SIGKILL every process of a node'),
            ('start', _start, 'start a node that was killed'),
            ('partition', _partition, 'cut a node off the network'),
            ('heal', _heal, "end a node's partition")):
        add(name, does, help_text).add_argument(
            'node', type=int, metavar='NODE')
    commands.choices['partition'].add_argument(
        '--refuse', action='store_true',
        help='refuse connections instead of not answering')
    sites_cli.add_commands(add)
    add('env', _env, 'print the environment of a client, for eval')
    run = add('run', _run, 'run a command in that environment')
    run.add_argument('argv', nargs=argparse.REMAINDER, metavar='CMD …')


def _given(args):
    return {flag: getattr(args, flag) for flag in SPEC_FLAGS
            if getattr(args, flag) is not None}


def _cluster(args):
    given = _given(args)
    if given and args.command not in MAKERS:
        raise ClusterError('--%s is for %s only; %s reads it from %s' % (
            next(iter(given)).replace('_', '-'), ' and '.join(MAKERS),
            args.command, args.dir))
    try:
        cluster = Cluster.open(args.dir)
    except ClusterError:
        if args.command != 'up':
            raise
        return Cluster(ClusterSpec(root=args.dir, **given))
    if args.command == 'up' and given:
        return Cluster(cluster.spec.changed(**given))
    return cluster


def _up(cluster, args):
    cluster.up(replicators=args.with_replicators)
    if not cluster.disks.images:
        print('saio: ' + DIRECTORY_NOTE)
    return _status(cluster, args)


def _down(cluster, args):
    if not cluster.is_up():
        print('the cluster in %s is not up; cleaning what is left of it'
              % cluster.spec.root)
    cluster.down()


def _reset(cluster, args):
    given = _given(args)
    if not given:
        cluster.reset()
        return _status(cluster, args)
    changed = Cluster(cluster.spec.changed(**given))
    cluster.wipe()
    changed.up()
    return _status(changed, args)


def _destroy(cluster, args):
    cluster.destroy()


def _kill(cluster, args):
    print('killed %s' % ' '.join(str(pid) for pid in
                                 sorted(cluster.kill(args.node))))


def _start(cluster, args):
    cluster.start(args.node)


def _partition(cluster, args):
    cluster.partition(args.node, refuse=args.refuse)


def _heal(cluster, args):
    cluster.heal(args.node)


def _status(cluster, args):
    for line in status.describe(cluster):
        print(line)
    return 0 if cluster.is_up() else 1


def _env(cluster, args):
    environment = cluster.environment()
    for name in EXPORTED:
        print('export %s=%s' % (name, shlex.quote(environment[name])))


def _run(cluster, args):
    if not args.argv:
        raise ClusterError('run: no command is given')
    argv = cluster.network.command(None, args.argv)
    environment = cluster.environment()
    sys.stdout.flush()
    try:
        os.execvpe(argv[0], argv, environment)
    except OSError as err:
        raise ClusterError('cannot run %s: %s' % (argv[0], err)) from err


def _probe(args):
    given = _given(args)
    if (args.command != 'run' or not args.argv
            or not {'replicator', 'policies'}.issuperset(given)):
        raise ClusterError('--probe takes --dir, --replicator, --policies '
                           'and `run CMD...`, nothing else')
    root = (os.path.join(args.dir, 'probe') if args.dir == DEFAULT_DIR
            else args.dir)
    return probe.run(Cluster(probe.spec(root, **given)), args.argv)


def main(argv=None):
    """
    Run one command.

    :param argv: the command line, without the program
    :returns: the exit status
    """
    args = _parser().parse_args(argv)
    try:
        if args.probe:
            return _probe(args)
        if sites_cli.is_for_sites(args):
            return sites_cli.run(args, _given(args))
        return args.does(_cluster(args), args) or 0
    except ClusterError as err:
        print('saio: %s' % err, file=sys.stderr)
        return 1
