# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""The command line: ``tools/demo``."""

import argparse
import os
import signal
import sys
import tempfile

from tools.cluster import ClusterError
from tools.cluster.spec import SYNC_METHODS
from tools.demonstration import plan
from tools.demonstration.epilogue import (
    how_to_go_on, print_comparison, saio)
from tools.demonstration.errors import DemoError
from tools.demonstration.show import Show
from tools.demonstration.stage import Stage
from tools.demonstration.story import Story

DEFAULT_DIR = os.path.join(tempfile.gettempdir(), 'lightsync-demo')
DEFAULT_FILES = 3000
DEFAULT_BASE_PORT = 6300


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
        'what each took, proves from the disks that all replicas are '
        'identical, and leaves the cluster up.')
    parser.add_argument('--dir', default=DEFAULT_DIR, help='directory of the '
                        'demonstration; an earlier one there is replaced')
    parser.add_argument('--base-port', type=int, default=DEFAULT_BASE_PORT,
                        help='the ports are from here to 200 above')
    parser.add_argument('--files', type=_file_count, default=DEFAULT_FILES,
                        help='how many files to upload')
    parser.add_argument('--sync-method', choices=SYNC_METHODS,
                        default='rsync', help='how both replicators push')
    parser.add_argument('--keep-stock', action='store_true',
                        help='leave the cluster of stock Swift up as well')
    parser.add_argument('--down', action='store_true',
                        help='end the cluster when done; its data stays')
    return parser


def _interrupted(signum, frame):
    raise KeyboardInterrupt


def _failure(stage, err):
    print('\ntools/demo: FAILED: %s' % err, file=sys.stderr)
    for cluster in stage.clusters():
        print('The logs are in %s; to end this cluster: %s destroy' % (
            cluster.layout.logs, saio(cluster)), file=sys.stderr)


def _end(stage, keep_lightsync, keep_stock):
    try:
        stage.end(keep_lightsync, keep_stock)
    except ClusterError as err:
        print('tools/demo: a cluster does not end: %s' % err,
              file=sys.stderr)


def main(argv=None):
    """
    :param argv: the arguments, without the program's name
    :returns: 0 if every replica of every object was identical at the end; 1
        if anything was not as it should be; 2 if it cannot begin; 130 when
        interrupted
    """
    args = _parser().parse_args(argv)
    try:
        stage = Stage(args.dir, args.base_port, args.sync_method)
    except (DemoError, ClusterError) as err:
        print('tools/demo: %s' % err, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _interrupted)
    show = Show()
    keep_lightsync = keep_stock = False
    try:
        story = Story(stage, show, args.files)
        repairs = story.run()
        print_comparison(show, repairs)
        keep_lightsync, keep_stock = not args.down, args.keep_stock
        how_to_go_on(show, stage, story.client, keep_lightsync, keep_stock)
        return 0
    except (DemoError, ClusterError, OSError) as err:
        _failure(stage, err)
        keep_lightsync = keep_stock = not args.down
        return 1
    except KeyboardInterrupt:
        print('\ntools/demo: interrupted; ending the clusters',
              file=sys.stderr)
        return 130
    finally:
        _end(stage, keep_lightsync, keep_stock)
