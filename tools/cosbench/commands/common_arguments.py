# SPDX-License-Identifier: Apache-2.0
"""Arguments that several commands have."""

import argparse
import ipaddress
import logging
import os
import sys

from cosbench.errors import ConfigError
from cosbench.watch.core.targets import target
from swift_lightsync.common.command import argument
from swift_lightsync.common.options import integer

#: Where controllers of COSBench listened.
CONTROLLER_PORT = 19088


#: Types of arguments.
positive = argument(integer(1, 2 ** 31 - 1))
port = argument(integer(0, 65535))
seed = argument(integer(0, 2 ** 63 - 1))


def percent(text):
    """Parse a percentage, with or without its sign.

    :returns: a share, more than 0 and less than 1
    """
    try:
        value = float(text.rstrip('%')) / 100
    except ValueError:
        value = -1
    if 0 < value < 1:
        return value
    raise argparse.ArgumentTypeError(
        '%r: must be a percentage, more than 0 and less than 100' % text)


def listener(command, default_port):
    command.add_argument('--host', default='127.0.0.1', help='the address '
                         'to listen on; default: %(default)s')
    command.add_argument('--port', type=port, default=default_port,
                         help='default: %(default)s; 0: any that is free')
    command.add_argument('--tls-cert', metavar='FILE', help='the '
                         'certificate; without it there is no TLS')
    command.add_argument('--tls-key', metavar='FILE', help='its private '
                         'key, if it is in a file of its own')
    command.add_argument('--insecure', action='store_true', help='listen '
                         'for other hosts without TLS, too: who sees the '
                         'network reads tokens, and the passwords in '
                         'documents')


def check_listener(args):
    """Refuse to send secrets over a network in the clear.

    :raises ConfigError: unless it is to this host only, with TLS, or asked
        for
    """
    if args.tls_cert or args.insecure or _is_loopback(args.host):
        return
    raise ConfigError.of('--host', args.host, 'an address of this host '
                         'alone, such as 127.0.0.1, or together with '
                         '--tls-cert, or with --insecure')


def _is_loopback(host):
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == 'localhost'


def triggers(command):
    command.add_argument('--triggers', metavar='DIRECTORY', help='has the '
                         'scripts that workloads may have run here, with '
                         'any arguments; default: none are run')
    command.add_argument('--request-log', metavar='DIRECTORY', help='gets '
                         'a line for each request of works with log=SHARE '
                         'in their config; default: such works are refused')


def watch(command):
    command.add_argument(
        '--watch', action='append', default=[], type=argument(target),
        metavar='[NAME=]URL', help='of a storage node, whose figures are '
        'shown beside those of a run: of node_exporter or cosbench watch, '
        'as node1=http://10.0.0.1:19100; ,recon=http://10.0.0.1:6200 after '
        'it adds what its object server has pending; may be repeated')


def strict(command):
    command.add_argument('--strict', action='store_true', help='refuse keys '
                         'of configs that nothing asks for; default: warn')


def log_level(command):
    command.add_argument('--log-level', default='info', choices=(
        'debug', 'info', 'warning', 'error'), help='default: %(default)s')


def log_to_stderr(level='info'):
    handler = logging.StreamHandler(sys.stderr)
    # Its own: the logs of runs have more than is shown here.
    handler.setLevel(getattr(logging, level.upper()))
    logging.basicConfig(
        handlers=[handler], level=handler.level,
        format='%(asctime)s %(process)d %(name)s %(levelname)s: %(message)s')


def loss(command, seconds):
    """Add the arguments on drivers that are lost."""
    command.add_argument(
        '--on-driver-loss', choices=('fail', 'redistribute'), default='fail',
        help='the work fails, or the other drivers take over; default: '
        '%(default)s')
    command.add_argument(
        '--driver-timeout', type=positive, default=seconds,
        metavar='SECONDS', help='without an answer for so long a driver is '
        'lost; default: %(default)s')


def local_run(command, archive=True):
    """Add the arguments of a run with drivers of this host.

    :param archive: whether the user says where its reports go
    """
    command.add_argument(
        '--drivers', type=positive, metavar='N',
        default=len(os.sched_getaffinity(0)),
        help='processes; default: one a core')
    if archive:
        command.add_argument(
            '--archive', metavar='DIRECTORY', default='archive',
            help='where the reports go; default: %(default)s')
    command.add_argument('--seed', type=seed, metavar='N', help='of all '
                         'random choices; default: a new one')
    command.add_argument('--quiet', action='store_true',
                         help='show no progress')
    command.add_argument(
        '--end-run', type=percent, metavar='PERCENT', help='end the works '
        'of a stage before their time is over, once the throughput and the '
        'mean time of each operation are known to so many percent, from how '
        'they vary in the run; default: never')
    strict(command)
    triggers(command)
    watch(command)
    loss(command, 10)
