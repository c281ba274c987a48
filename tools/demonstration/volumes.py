# SPDX-License-Identifier: Apache-2.0
"""The second act: what LOSF does for who runs the disks.

The same small objects go into a policy whose objects are files and into one
whose objects are in volumes. Then the servers of the volumes are killed amid
uploads.
"""

import os
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL

from cosbench.reports.numbers import size
from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout
from swift_losf.index.index_client import IndexClient
from tools import ToolError
from tools.cluster import Policy
from tools.cluster.processes import wait_until
from tools.demonstration.act import Act

#: bytes that an object may have
SMALL = 4096
STRUCK_NODE = 2
SERVERS = ('index-server', 'object-server')
MANAGER = 'object-losf'
#: seconds within which a server is back
PATIENCE = 120


def _serves(layout: Layout) -> bool:
    with suppress(IndexUnavailable):
        return bool(IndexClient(layout.socket).statistics())
    return False


def footprint(layout: Layout) -> tuple[int, int]:
    """Return what the objects of a policy cost a device.

    What each partition has besides, and what volumes need besides themselves
    and their index, does not grow with the objects, and is not counted.

    :returns: files and directories, and bytes allocated for them
    """
    sizes = []
    for top, pattern in ((layout.objects, '*/???'),
                         (layout.objects, '*/???/**/*'),
                         (layout.root, 'volumes/*'), (layout.root, 'index/*')):
        for path in Path(top).glob(pattern):
            # A LevelDB removes files of its own while it is counted.
            with suppress(FileNotFoundError):
                sizes.append(512 * path.lstat().st_blocks)
    return len(sizes), sum(sizes)


class Volumes(Act):
    """The second act."""

    title = 'Small objects in files and in volumes (LOSF)'
    cluster_name = 'volumes'

    def run(self) -> str:
        self.start_cluster()
        self.show.scene('The same small objects, in files and in volumes')
        self.show.say('Of at most %d bytes.' % SMALL)
        for name, items in self.to_each(
                'small', self.files // 3, 1, SMALL).items():
            self.put(items, 'objects uploaded to ' + name)
        ratio = self.compare_footprints()
        self.upload_amid_kills()
        self.show.scene('What node %d has missed' % STRUCK_NODE)
        self.replicate_until_equal(self.cluster)
        self.check_served()
        self.check_indexes()
        return ('%.0f times fewer files and directories; nothing lost to '
                'kill -9' % ratio)

    def layouts(self, policy: Policy) -> list[Layout]:
        """Return the Layout of each device."""
        return [Layout(path, policy.index)
                for path in self.cluster.device_paths().values()]

    def compare_footprints(self) -> float:
        """Return how many times more files the objects in files cost."""
        entries, sizes = zip(*(map(sum, zip(*map(
            footprint, self.layouts(policy)))) for policy in self.policies))
        self.show.table(['%d objects, on all devices' % (self.files // 3), *(
            'in ' + policy.name for policy in self.policies)], [
                ['files and directories', *map(str, entries)],
                ['space, without inodes', *map(size, sizes)]])
        in_files, in_volumes = entries
        if in_volumes >= in_files:
            raise ToolError('objects in volumes cost the disks %d files and '
                            'directories, in files %d' % (
                                in_volumes, in_files))
        return in_files / in_volumes

    def _wait_for_indexes(self) -> None:
        for layout in self.layouts(self.policies[-1]):
            wait_until(lambda: _serves(layout), PATIENCE,
                       '%s answers' % layout.socket)

    def upload_amid_kills(self) -> None:
        self.show.scene('kill -9 amid uploads')
        name, number = self.policies[-1].name, self.files // 6
        quarter = number // 4
        self.show.say(
            'On node %d, after a quarter of the uploads the index server is '
            'killed, which its manager starts again; after half of them the '
            'object-server, which is started again after three quarters.'
            % STRUCK_NODE)
        before = [self.cluster.pids(STRUCK_NODE, each) for each in SERVERS]
        self.put(self.uploads(name, 'new', number, 1, SMALL),
                 'objects uploaded to ' + name, {
            quarter: lambda: self.signal(STRUCK_NODE, SERVERS[0], SIGKILL),
            2 * quarter: lambda: self.signal(STRUCK_NODE, SERVERS[1],
                                             SIGKILL),
            3 * quarter: lambda: self.cluster.swift_init(
                '%s.%d' % (SERVERS[1], STRUCK_NODE), 'start')})
        with self.show.doing('both servers back'):
            for each, pids in zip(SERVERS, before):
                wait_until(lambda: self.cluster.pids(
                    STRUCK_NODE, each) not in ([], pids), PATIENCE,
                    'node %d has another %s' % (STRUCK_NODE, each))
            self._wait_for_indexes()
        self.delete([where for where in self.expected
                     if where.container == name][::10])
        if self.look(self.cluster).equal:
            raise ToolError('the object-server of node %d was dead during %d '
                            'uploads, and yet all replicas are identical' % (
                                STRUCK_NODE, quarter))

    def check_indexes(self) -> None:
        self.show.scene('swift-losf-fsck check --data')
        self.show.say('The index servers are stopped; of each device, index, '
                      'records and data are compared.')
        layouts = self.layouts(self.policies[-1])
        self.cluster.swift_init(MANAGER, 'stop')
        with self.show.doing('devices checked', len(layouts)) as count:
            for layout in layouts:
                checked = self.cluster.run([
                    'swift-losf-fsck', 'check', layout.device_path, '--data',
                    '--policy', str(layout.policy_index),
                    *([] if self.cluster.disks.images
                      else ['--no-mount-check'])])
                count()
                self.show.say('%s: %s' % (
                    os.path.basename(layout.device_path),
                    checked.stdout.splitlines()[-1]))
            self.cluster.swift_init(MANAGER, 'start')
            self._wait_for_indexes()

    def to_look_at(self) -> tuple[str, ...]:
        return ('ls -l ' + self.layouts(self.policies[-1])[0].volumes,
                *self.shell('swift-losf-status'))
