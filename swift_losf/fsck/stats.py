# SPDX-License-Identifier: Apache-2.0
"""swift-losf-stats: shows what the volumes of a device take, and what for.

It asks the index server, and looks at the files. Exit status: 0 it was told;
2 it could not be.
"""

import argparse
import json
import os
import sys
from dataclasses import asdict

from swift_lightsync.common import command
from swift_losf.errors import IndexUnavailable
from swift_losf.format.header import VolumeType
from swift_losf.format.layout import Layout, volume_name
from swift_losf.format.values import UNIT
from swift_losf.fsck.cli import choose_policy, device_arguments, require_device
from swift_losf.index.index_client import IndexClient
from swift_losf.upkeep.compaction_plan import VolumeUse
from swift_losf.volumes.space import footprint


def volume_uses(layout):
    """Return the VolumeUses of a device and policy, by number.

    :param layout: a Layout
    :raises IndexUnavailable: if the index server cannot be asked
    """
    uses = []
    for each in IndexClient(layout.socket).list_volumes():
        try:
            found = footprint(layout.volume(each.number))
        except FileNotFoundError:
            continue  # it has been removed meanwhile
        files = each.files + each.held
        uses.append(VolumeUse(
            each.number, each.type, files,
            each.bytes + each.held_bytes + files * UNIT // 2,
            found.size, found.allocated, found.extents))
    return sorted(uses, key=lambda use: use.number)


def summary(uses):
    """Sum up the VolumeUses of a device and policy.

    :param uses: a list of them
    :returns: a dict
    """
    allocated = sum(each.allocated for each in uses)
    live = sum(each.live for each in uses)
    return {
        'volumes': len(uses), 'files': sum(each.files for each in uses),
        'live': live, 'allocated': allocated,
        'garbage': sum(each.garbage for each in uses),
        'allocated_per_live': allocated / live if live else None,
        'extents_per_volume': sum(each.extents for each in uses) / len(uses)
        if uses else None,
        'most_extents': max((each.extents for each in uses), default=None)}


def _text(use):
    return ('%s: %s, %d files, %d bytes live, %d allocated, %.1f %% '
            'garbage, %d extents' % (
                volume_name(use.number), VolumeType(use.type).name.lower(),
                use.files, use.live, use.allocated, 100 * use.garbage_share,
                use.extents))


def _summary_text(values):
    ratio = values['allocated_per_live']
    return ('%(volumes)d volumes, %(files)d files, %(live)d bytes live, '
            '%(allocated)d allocated, of which %(garbage)d garbage' % values
            + ('' if ratio is None else '; allocated / live %.3f' % ratio))


def run(args):
    """Show what the volumes of a device take.

    :param args: of the command line
    :returns: the exit status
    """
    path = os.path.abspath(args.device_path)
    require_device(path, not args.no_mount_check)
    uses = volume_uses(Layout(path, choose_policy(path, args.policy)))
    for use in uses:
        print(json.dumps({**asdict(use), 'garbage': use.garbage},
                         sort_keys=True) if args.json else _text(use))
    values = summary(uses)
    print(json.dumps({'summary': values}, sort_keys=True) if args.json
          else _summary_text(values))
    return command.Exit.WELL


def _parser():
    return argparse.ArgumentParser(
        prog='swift-losf-stats', parents=[device_arguments()],
        description='Show what the volumes of a device take of its disk, and '
        'what for.')


def main(argv=None):
    """Run the console script swift-losf-stats.

    :returns: the exit status
    """
    return command.run(_parser(), run, argv, (IndexUnavailable, OSError))


if __name__ == '__main__':
    sys.exit(main())
