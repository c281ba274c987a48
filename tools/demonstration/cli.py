# SPDX-License-Identifier: Apache-2.0
"""The command line: ``tools/demo``."""

import argparse
import signal
import sys
import time

from swift_lightsync.common import command
from tools import ToolError
from tools.arguments import number
from tools.demonstration.act import Act
from tools.demonstration.lost_node import LostNode
from tools.demonstration.removal import DEFAULT_DIR, remove
from tools.demonstration.roles import PrimaryRole
from tools.demonstration.show import VERDICTS, Show
from tools.demonstration.stage import PART_POWER, QUICK_PART_POWER, Stage
from tools.demonstration.versions import ConcurrentWrites
from tools.demonstration.volumes import Volumes

DEFAULT_FILES = 3000
#: with fewer, the uploads of the second act are over before a server is dead
MIN_FILES = 600
DEFAULT_BASE_PORT = 6300
ACTS: dict[str, type[Act]] = {
    'lightsync': LostNode, 'losf': Volumes, 'proar': PrimaryRole,
    'versioning': ConcurrentWrites}
QUICK = ['lightsync']


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='tools/demo',
        description='Starts real Swift clusters, uploads objects, breaks '
        'nodes, servers and lines, repairs them, and proves from the disks '
        'that nothing is lost. It says first what it needs and leaves '
        'behind.')
    parser.add_argument('--quick', action='store_true',
                        help='the first act only, with few files')
    parser.add_argument('--acts', nargs='+', metavar='ACT', choices=ACTS,
                        default=list(ACTS),
                        help='which to play: %(choices)s (all)')
    parser.add_argument('--dir', default=DEFAULT_DIR, help='directory of the '
                        'demonstration; an earlier one there is replaced '
                        '(lightsync-demo where temporary files are)')
    parser.add_argument('--base-port', type=int, default=DEFAULT_BASE_PORT,
                        help='the ports are from here to 400 above; '
                        'the sites take free ones (%(default)s)')
    parser.add_argument('--files', type=number(MIN_FILES),
                        default=DEFAULT_FILES,
                        help='how many files the first act uploads; the '
                        'second has half as many small ones (%(default)s)')
    parser.add_argument('--down', action='store_true',
                        help='remove a demonstration: its processes, mounts '
                        'and directory')
    return parser


def _play(stage: Stage, show: Show, args: argparse.Namespace) -> bool:
    """Play the acts; return whether all of them passed."""
    rows, acts, passed = [], [], True
    for name in ACTS:
        if name not in args.acts:
            continue
        act = ACTS[name](stage, show, args.files)
        acts.append(act)
        show.act('%s: %s' % (name, act.title))
        begin = time.monotonic()
        try:
            passed, text = True, act.run()
        except (ToolError, OSError) as err:
            passed, text = False, str(err)
        show.verdict(name, passed, text)
        rows.append([name, VERDICTS[passed], '%.0f s' % (
            time.monotonic() - begin)])
        if not passed:
            break
    show.act('Verdicts')
    show.table(['act', 'verdict', 'time'], rows)
    if passed:
        for act in acts:
            show.lines('', '# ' + act.title, *act.to_look_at())
    else:
        show.say('The logs are below %s, in logs/.' % stage.directory)
    show.lines('', '# remove everything: processes, mounts, directories',
               'tools/demo --down' + (' --dir ' + args.dir if args.dir
                                      != DEFAULT_DIR else ''))
    return passed


def _run(args: argparse.Namespace) -> int:
    """Play the demonstration.

    :returns: 0 if every replica of every object was identical at the end,
        and so were the versions at all sites; 1 if anything was not as it
        should be; 2 if it cannot begin; 130 when interrupted
    """
    if args.quick:
        args.acts, args.files = QUICK, MIN_FILES
    show = Show()
    with show.doing('an earlier demonstration removed, if there is one'):
        stage = Stage(args.dir, args.base_port, QUICK_PART_POWER
                      if args.quick else PART_POWER)
    try:
        if stage.note:
            show.say('Note: %s.' % stage.note)
        return 0 if _play(stage, show, args) else 1
    except (KeyboardInterrupt, SystemExit):
        # Who is impatient does not break it off.
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)
        print('\ntools/demo: interrupted; removing everything',
              file=sys.stderr)
        remove(stage.directory)
        return 130


def main(argv: list[str] | None = None) -> int:
    """Play the demonstration; return the exit status.

    :param argv: the arguments, without the program's name
    """
    return command.run(_parser(), _run, argv)
