# SPDX-License-Identifier: Apache-2.0
"""The command line: ``tools/demo``."""

import argparse
import os
import signal
import sys
import tempfile

from tools.cluster import ClusterError
from tools.cluster.spec import SYNC_METHODS
from tools.demonstration import plan
from tools.demonstration.act import Act
from tools.demonstration.epilogue import how_to_go_on, saio
from tools.demonstration.errors import DemoError
from tools.demonstration.lost_node import LostNode
from tools.demonstration.roles import PrimaryRole
from tools.demonstration.show import Show
from tools.demonstration.stage import Stage
from tools.demonstration.versions import ConcurrentWrites
from tools.demonstration.volumes import Volumes

DEFAULT_DIR = os.path.join(tempfile.gettempdir(), 'lightsync-demo')
DEFAULT_FILES = 3000
DEFAULT_BASE_PORT = 6300
#: name -> what makes the act, of a Stage, a Show and the arguments
ACTS = {
    'lightsync': lambda stage, show, args: LostNode(
        stage, show, args.files, keep_stock=args.keep_stock),
    'losf': lambda stage, show, args: Volumes(stage, show, args.files),
    'proar': lambda stage, show, args: PrimaryRole(stage, show, args.files),
    'versioning': lambda stage, show, args: ConcurrentWrites(stage, show)}


def _file_count(text):
    if not text.isdecimal() or int(text) < plan.MIN_FILES:
        raise argparse.ArgumentTypeError(
            '%r; allowed: an integer from %d' % (text, plan.MIN_FILES))
    return int(text)


def _parser():
    parser = argparse.ArgumentParser(
        prog='tools/demo',
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        description='Starts a five-node Swift cluster, uploads real files, '
        'kills a node, changes objects meanwhile, and repairs the node with '
        "LightSync; then the same disks with Swift's own replicator. Shows "
        'what each took, and proves from the disks that all replicas are '
        'identical. On a second cluster it puts small objects into files and '
        'into volumes, counts what they cost the disks, kills the servers of '
        'the volumes amid uploads, and proves from the volumes that nothing '
        'is lost. On a third one it writes at a quorum and to primary roles, '
        'stops a server and kills one right after it has acknowledged, and '
        'proves from the disks that the others got it all. Leaves these '
        'clusters up. On three sites, one of them cut off, it writes the '
        'same object, and proves that all have the same versions and the '
        'same latest when the lines are healed, purges a version and '
        'restores one. The sites are gone when that is done.')
    parser.add_argument('--acts', nargs='+', metavar='ACT', choices=ACTS,
                        default=list(ACTS), help='which of the four to play: '
                        '%(choices)s')
    parser.add_argument('--dir', default=DEFAULT_DIR, help='directory of the '
                        'demonstration; an earlier one there is replaced')
    parser.add_argument('--base-port', type=int, default=DEFAULT_BASE_PORT,
                        help='the ports are from here to 400 above; '
                        'the sites take free ones')
    parser.add_argument('--files', type=_file_count, default=DEFAULT_FILES,
                        help='how many files the first act uploads; the '
                        'second has half as many small ones, the third some '
                        'hundred, whatever this is')
    parser.add_argument('--sync-method', choices=SYNC_METHODS,
                        default='rsync', help='how LightSync and stock Swift '
                        'push; what is in volumes needs ssync')
    parser.add_argument('--keep-stock', action='store_true',
                        help='leave the cluster of stock Swift up as well')
    parser.add_argument('--down', action='store_true',
                        help='end the clusters when done; their data stays')
    return parser


def _interrupted(signum, frame):
    raise KeyboardInterrupt


def _failure(stage, err):
    print('\ntools/demo: FAILED: %s' % err, file=sys.stderr)
    for cluster in stage.clusters():
        print('The logs are in %s; to end this cluster: %s destroy' % (
            cluster.layout.logs, saio(cluster)), file=sys.stderr)


def _end(stage):
    try:
        stage.end()
    except ClusterError as err:
        print('tools/demo: a cluster does not end: %s' % err,
              file=sys.stderr)


def _play(stage, show, args):
    if stage.set():
        show.say('The clusters of an earlier demonstration in %s are gone.'
                 % stage.directory)
    if stage.note:
        show.say('Note: %s.' % stage.note)
    acts = [ACTS[name](stage, show, args)
            for name in ACTS if name in args.acts]
    for act in acts:
        act.run()
    how_to_go_on(show, [act for act in acts if isinstance(act, Act)],
                 stay=not args.down)


def main(argv=None):
    """
    :param argv: the arguments, without the program's name
    :returns: 0 if every replica of every object was identical at the end,
        and so were the versions at all sites; 1 if anything was not as it
        should be; 2 if it cannot begin; 130 when interrupted
    """
    args = _parser().parse_args(argv)
    try:
        stage = Stage(args.dir, args.base_port, args.sync_method)
    except (DemoError, ClusterError) as err:
        print('tools/demo: %s' % err, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _interrupted)
    stay = False
    try:
        _play(stage, Show(), args)
        stay = not args.down
        return 0
    except (DemoError, ClusterError, OSError) as err:
        _failure(stage, err)
        stay = not args.down
        return 1
    except KeyboardInterrupt:
        print('\ntools/demo: interrupted; ending the clusters',
              file=sys.stderr)
        return 130
    finally:
        if not stay:
            _end(stage)
