# SPDX-License-Identifier: Apache-2.0
"""The command line of the development cluster: ``tools/saio``."""

import argparse
import os
import shlex
import sys
from collections.abc import Iterator
from typing import Any

from swift_lightsync.common import command
from tools import REPO, ToolError
from tools.cluster import probe, relay
from tools.cluster.cluster import Cluster
from tools.cluster.daemons import MEMCACHED
from tools.cluster.disks import DIRECTORY_NOTE
from tools.cluster.sites import ALL, STATE, Sites
from tools.cluster.spec import CHOICES, ClusterSpec, Policy

DEFAULT_DIR = os.path.join(REPO, '.saio')
EXPORTED = ('PATH', 'SWIFT_DIR', 'ST_AUTH', 'ST_USER', 'ST_KEY')
CLIENT_DAEMONS = ('proxy-server', MEMCACHED)
#: the flags that describe a cluster: those that `up` and `reset` take
SPEC_FLAGS = ('nodes', 'devices', 'policies', 'base_port', 'network',
              'replicator', 'sync_method', 'disks')
MAKERS = ('up', 'reset')


def _policies(text: str) -> tuple[Policy, ...]:
    try:
        return Policy.several(text)
    except ToolError as err:
        raise argparse.ArgumentTypeError(str(err)) from err


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='saio', description='A Swift cluster for development, under '
        'one directory. Options of the cluster are remembered there; later '
        'commands need only --dir.')
    add = parser.add_argument
    add('--dir', default=DEFAULT_DIR,
        help='the directory (default: .saio in the repo)')
    add('--probe', action='store_true', help='with `run`: run CMD in a '
        "cluster such as Swift's probe tests want, which lasts as long as "
        'CMD')
    add('--sites', type=int, help='with `up`: so many clusters that keep '
        'versions of the same objects')
    add('--all', action='store_true', help='with `up`: sites (2) at which all '
        'systems are at work, with object replicators')
    add('--nodes', type=int, help='storage nodes (5)')
    add('--devices', type=int, help='devices a node (1)')
    add('--policies', type=_policies, help='NAME:REPLICAS, or '
        'NAME:DATA+PARITY for erasure coding, with :kv for '
        'objects in volumes, with :proar for primary-role writes, and commas '
        'between them (gold:3,platinum:5)')
    add('--base-port', type=int, help='the first of ten ports (6200)')
    for name, choices in CHOICES.items():
        add('--' + name.replace('_', '-'), choices=choices)
    subparsers = parser.add_subparsers(dest='command', required=True,
                                       metavar='COMMAND')
    for name, (_, _, help_text, *arguments) in COMMANDS.items():
        parsed = subparsers.add_parser(name, help=help_text)
        for argument, options in arguments:
            parsed.add_argument(argument, **options)
    return parser


def _given(args: argparse.Namespace) -> dict[str, Any]:
    return {flag: getattr(args, flag) for flag in SPEC_FLAGS
            if getattr(args, flag) is not None}


def _cluster(args: argparse.Namespace) -> Cluster:
    given = _given(args)
    if given and args.command not in MAKERS:
        raise ToolError('--%s is for %s only; %s reads it from %s' % (
            next(iter(given)).replace('_', '-'), ' and '.join(MAKERS),
            args.command, args.dir))
    try:
        cluster = Cluster.open(args.dir)
    except ToolError:
        if args.command != 'up':
            raise
        return Cluster(ClusterSpec(root=args.dir, **given))
    if args.command == 'up' and given:
        return Cluster(cluster.spec.changed(**given))
    return cluster


# One cluster

def _up(cluster: Cluster, args: argparse.Namespace) -> int:
    cluster.up(replicators=args.with_replicators)
    if not cluster.disks.images:
        print('saio: ' + DIRECTORY_NOTE)
    return _status(cluster, args)


def _down(cluster: Cluster, args: argparse.Namespace) -> None:
    if not cluster.is_up():
        print('the cluster in %s is not up; cleaning what is left of it'
              % cluster.spec.root)
    cluster.down()


def _reset(cluster: Cluster, args: argparse.Namespace) -> int:
    cluster.wipe()
    changed = Cluster(cluster.spec.changed(**_given(args)))
    changed.up()
    return _status(changed, args)


def _kill(cluster: Cluster, args: argparse.Namespace) -> None:
    print('killed', *sorted(cluster.kill(args.node)))


def describe(cluster: Cluster) -> Iterator[str]:
    """Say what runs where, line by line."""
    def daemon(name: str, where: object, pids: list[int] | None) -> str:
        return '  %-18s %-5s  %s' % (
            name, where, 'pid ' + ' '.join(map(str, sorted(pids)))
            if pids else 'not running')

    spec = cluster.spec
    yield '%s: %s, %s network, %s replicator (%s)' % (
        spec.root, 'up' if cluster.is_up() else 'not up', spec.network,
        spec.replicator, spec.sync_method)
    ports = {(ip, name): port for ip, port, name in cluster.daemons.ports()}
    client_ip = cluster.network.client_ip
    for name in CLIENT_DAEMONS:
        if (client_ip, name) in ports:
            yield daemon(name, '%s:%d' % (client_ip, ports[client_ip, name]),
                         cluster.pids(None, name))
    for node in cluster.status():
        yield 'node %d  %s  %s  %s' % (
            node.node, node.ip, node.reachability.value, ', '.join(
                '%s %s' % (device, 'there' if there else 'missing')
                for device, there in node.devices.items()))
        expected = [name for ip, name in ports
                    if ip == node.ip and name not in CLIENT_DAEMONS]
        for name in dict.fromkeys(expected + sorted(node.daemons)):
            yield daemon(name, ports.get((node.ip, name), ''),
                         node.daemons.get(name))


def _status(cluster: Cluster, args: argparse.Namespace) -> int:
    for line in describe(cluster):
        print(line)
    return 0 if cluster.is_up() else 1


def _env(cluster: Cluster, args: argparse.Namespace) -> None:
    environment = cluster.environment()
    for name in EXPORTED:
        print('export %s=%s' % (name, shlex.quote(environment[name])))


def _run(cluster: Cluster, args: argparse.Namespace) -> None:
    if not args.argv:
        raise ToolError('run: no command is given')
    argv = cluster.network.command(None, args.argv)
    environment = cluster.environment()
    sys.stdout.flush()
    try:
        os.execvpe(argv[0], argv, environment)
    except OSError as err:
        raise ToolError('cannot run %s: %s' % (argv[0], err)) from err


def _probe(args: argparse.Namespace) -> int:
    given = _given(args)
    if (args.command != 'run' or not args.argv
            or not {'replicator', 'policies'}.issuperset(given)):
        raise ToolError('--probe takes --dir, --replicator, --policies '
                        'and `run CMD...`, nothing else')
    root = (os.path.join(args.dir, 'probe') if args.dir == DEFAULT_DIR
            else args.dir)
    return probe.run(Cluster(probe.spec(root, **given)), args.argv)


# Several sites

def _sites_status(sites: Sites, args: argparse.Namespace) -> int:
    for name, cluster in sites.clusters.items():
        print('site %s in %s' % (name, cluster.spec.root))
        for line in describe(cluster):
            print('  ' + line)
    for link in relay.read(sites.state):
        if link.cut or link.delay:
            print('%s to %s: %s' % (link.source, link.target, 'cut' if
                                    link.cut else '%g s' % link.delay))
    return 0 if all(cluster.is_up()
                    for cluster in sites.clusters.values()) else 1


def _sites_up(sites: Sites, args: argparse.Namespace) -> int:
    sites.up(args.with_replicators)
    return _sites_status(sites, args)


def _choose_all(args: argparse.Namespace) -> None:
    """Complete the arguments of ``--all``."""
    args.sites = 2 if args.sites is None else args.sites
    args.policies = args.policies or Policy.several(ALL)
    args.with_replicators = True


def _run_sites(args: argparse.Namespace) -> int:
    does, given = COMMANDS[args.command][1], _given(args)
    made = os.path.exists(os.path.join(args.dir, STATE))
    if does is None:
        raise ToolError('%s is not for sites, it is for one: --dir %s' % (
            args.command, os.path.join(args.dir, 'SITE')))
    if args.command != 'up' and (args.sites is not None or given):
        raise ToolError('--sites and what describes clusters is for up')
    if made and (args.sites is not None or given):
        raise ToolError('there are sites in %s; `up` alone starts them' %
                        args.dir)
    if args.base_port is not None:
        raise ToolError('--base-port is for one cluster; sites take free '
                        'ports')
    if args.command == 'up' and not made:
        return does(Sites(args.dir, args.sites, **given), args) or 0
    return does(Sites.open(args.dir), args) or 0


_NODE = ('node', {'type': int, 'metavar': 'NODE'})
_ENDS: list[tuple[str, dict[str, Any]]] = [
    ('one', {'metavar': 'SITE'}), ('other', {'metavar': 'SITE'})]
#: name -> what it does with a cluster, and with sites; its help; arguments
COMMANDS: dict[str, tuple[Any, ...]] = {
    'up': (_up, _sites_up, 'make the cluster if need be, and start it',
           ('--with-replicators', {
               'action': 'store_true',
               'help': 'start the object replicators as well'})),
    'down': (_down, lambda sites, args: sites.down(),
             'end every process, unmount; the data stays'),
    'reset': (_reset, None, 'wipe the data and start anew'),
    'destroy': (lambda cluster, args: cluster.destroy(),
                lambda sites, args: sites.destroy(),
                'end the cluster and delete its directory'),
    'status': (_status, _sites_status, 'show what runs'),
    'kill': (_kill, None, 'SIGKILL every process of a node', _NODE),
    'start': (lambda cluster, args: cluster.start(args.node), None,
              'start a node that was killed', _NODE),
    'partition': (lambda cluster, args: cluster.partition(
        args.node, refuse=args.refuse), None, 'cut a node off the network',
        _NODE, ('--refuse', {
            'action': 'store_true',
            'help': 'refuse connections instead of not answering'})),
    'heal': (lambda cluster, args: cluster.heal(args.node), None,
             "end a node's partition", _NODE),
    'cut': (None, lambda sites, args: sites.cut(args.one, args.other),
            'let nothing pass between two sites', *_ENDS),
    'join': (None, lambda sites, args: sites.join(args.one, args.other),
             'let all pass between two sites again', *_ENDS),
    'delay': (None, lambda sites, args: sites.delay(
        args.one, args.other, args.seconds),
        'let all between two sites take so long, each way', *_ENDS,
        ('seconds', {'type': float, 'metavar': 'SECONDS'})),
    'env': (_env, None, 'print the environment of a client, for eval'),
    'run': (_run, None, 'run a command in that environment',
            ('argv', {'nargs': argparse.REMAINDER, 'metavar': 'CMD …'}))}


def _dispatch(args: argparse.Namespace) -> int:
    if args.all:
        _choose_all(args)
    if args.probe:
        return _probe(args)
    if args.sites is not None or os.path.exists(
            os.path.join(args.dir, STATE)):
        return _run_sites(args)
    does = COMMANDS[args.command][0]
    if does is None:
        raise ToolError('%s is for sites; `--sites N up` makes them'
                        % args.command)
    return does(_cluster(args), args) or 0


def main(argv: list[str] | None = None) -> int:
    """Run one command; return the exit status.

    :param argv: the command line, without the program
    """
    return command.run(_parser(), _dispatch, argv)
