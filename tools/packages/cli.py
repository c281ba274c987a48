# SPDX-License-Identifier: Apache-2.0
"""``tools/package``: what operators install."""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from swift_lightsync.common.command import UsageError, run
from tools.packages import deb, units


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    made = argparse.ArgumentParser(
        prog='tools/package', description='Build the Debian package '
        'swift-lightsync: all of Swift, patched, with the five systems, '
        'systemd units, manual pages and completion. It fits the Debian that '
        'it is built on.')
    made.add_argument('what', choices=('deb', 'units'),
                      help='the package, or the units only')
    made.add_argument('--output', type=Path, default=Path('.'),
                      metavar='DIR', help='where it is put (%(default)s)')
    return made


def _build(args: argparse.Namespace) -> int:
    if not args.output.is_dir():
        raise UsageError('--output %s: no such directory' % args.output)
    if args.what == 'units':
        for name, text in units.units(units.commands()).items():
            (args.output / name).write_text(text, encoding='utf8')
            print(args.output / name)
        return 0
    with TemporaryDirectory(prefix='ls-') as stage:
        try:
            Path(stage).chmod(0o755)
            path = deb.build(args.output, Path(stage), lambda text: print(
                '%s …' % text, file=sys.stderr, flush=True))
        except subprocess.CalledProcessError as err:
            raise UsageError('%s failed, status %d' % (
                ' '.join(err.cmd[:4]), err.returncode))
    print(path)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``tools/package``.

    :param argv: the arguments; None: those of the process
    :returns: the exit status
    """
    return run(parser(), _build, argv)
