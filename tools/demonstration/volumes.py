# SPDX-License-Identifier: Apache-2.0
"""
The second act: what LOSF does for who runs the disks.

The same small objects go into a policy whose objects are files and into one
whose objects are in volumes. Then the servers of the volumes are killed amid
uploads.
"""

import os
from contextlib import suppress
from signal import SIGKILL
from typing import Optional

from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout
from swift_losf.index.index_client import IndexClient
from tools.cluster import Policy
from tools.cluster.processes import wait_until
from tools.demonstration.act import Act
from tools.demonstration.errors import DemoError
from tools.demonstration.show import byte_count
from tools.demonstration.users import choose

#: bytes
SMALL = 4096
STRUCK_NODE = 2
SERVERS = ('index-server', 'object-server')
MANAGER = 'object-losf'
#: seconds within which a server is back
PATIENCE = 120


def _serves(layout: Layout):
    with suppress(IndexUnavailable):
        return IndexClient(layout.socket).statistics()


def _grows(layout: Layout, path: str) -> bool:
    """Whether there are more paths like this one with more objects."""
    if path.startswith(layout.root):
        return path.startswith((os.path.join(layout.root, 'volumes', ''),
                                os.path.join(layout.root, 'index', '')))
    # Below a partition; beside its hashes and lock.
    parts = os.path.relpath(path, layout.objects).split(os.sep)
    return len(parts) > 1 and os.path.isdir(
        os.path.join(layout.objects, *parts[:2]))


def footprint(layout: Layout) -> tuple[int, int, int, int]:
    """
    Return what the objects of a policy cost a device.

    The directory, hashes and lock of each partition, and what volumes need
    besides themselves and their index, do not grow with the objects.

    :returns: files and directories, and bytes allocated for them, that grow
        with the objects; and such that do not
    """
    total = [0, 0, 0, 0]
    for top in (layout.objects, layout.root):
        for directory, subdirectories, names in os.walk(top):
            for name in subdirectories + names:
                path = os.path.join(directory, name)
                # A LevelDB removes files of its own while it is counted.
                with suppress(FileNotFoundError):
                    allocated = 512 * os.lstat(path).st_blocks
                    first = 0 if _grows(layout, path) else 2
                    total[first] += 1
                    total[first + 1] += allocated
    return (total[0], total[1], total[2], total[3])


class Volumes(Act):
    """The second act."""

    title = 'Small objects in files and in volumes (LOSF)'
    cluster_name = 'volumes'

    def run(self) -> str:
        self.start_cluster()
        self.upload()
        ratio = self.compare_footprints()
        self.upload_amid_kills()
        self.show.scene('What node %d has missed' % STRUCK_NODE)
        self.replicate_until_equal(self.cluster)
        self.check_served()
        self.check_indexes()
        return ('%.0f times fewer files and directories; nothing was lost '
                'when servers were killed amid uploads, and each index fits '
                'its volumes.' % ratio)

    def upload(self) -> None:
        self.show.scene('The same small objects, in files and in volumes')
        same, more = self.files // 3, self.files // 6
        files = choose(same + more, high=SMALL)
        self.uploads = self.to_each(files[:same])
        self.additions = self.to_each(files[same:])[self.policies[-1].name]
        self.show.say('Of at most %d bytes.' % SMALL)
        for container, items in self.uploads.items():
            self.put(items, 'objects uploaded to ' + container)

    def _layouts(self, policy: Optional[Policy] = None) -> list[Layout]:
        """Return the Layout of each device, for volumes if no policy."""
        index = (policy or self.policies[-1]).index
        return [Layout(self.cluster.device_path(node, device), index)
                for node in self.cluster.spec.node_numbers()
                for device in self.cluster.devices(node)]

    def compare_footprints(self) -> float:
        """Return how many times more files the objects in files cost."""
        costs = [list(map(sum, zip(*map(footprint, self._layouts(
            policy))))) for policy in self.policies]
        rows = [['objects', *(str(len(self.uploads[policy.name]))
                              for policy in self.policies)]]
        for column, (name, form) in enumerate((
                ('files and directories of objects', str),
                ('  space, without inodes', byte_count),
                ('others, whatever the number of objects', str),
                ('  space, without inodes', byte_count))):
            rows.append([name, *(form(cost[column]) for cost in costs)])
        self.show.table(['on all devices', *(
            'in ' + policy.name for policy in self.policies)], rows)
        in_files, in_volumes = (cost[0] for cost in costs)
        if in_volumes >= in_files:
            raise DemoError('objects in volumes cost the disks %d files and '
                            'directories, in files %d' % (
                                in_volumes, in_files))
        return in_files / in_volumes

    def _pids(self, name: str) -> list[int]:
        return self.cluster.pids(STRUCK_NODE, name)

    def _wait_for_indexes(self) -> None:
        for layout in self._layouts():
            wait_until(lambda: _serves(layout), PATIENCE,
                       '%s answers' % layout.socket)

    def upload_amid_kills(self) -> None:
        self.show.scene('kill -9 amid uploads')
        quarter = len(self.additions) // 4
        before = {name: self._pids(name) for name in SERVERS}
        self.show.say(
            'On node %d, after a quarter of the uploads the index server is '
            'killed, which its manager starts again; after half of them the '
            'object-server, which is started again after three quarters.'
            % STRUCK_NODE)
        self.put(self.additions, 'objects uploaded to volumes', {
            quarter: lambda: self.signal(STRUCK_NODE, 'index-server',
                                         SIGKILL),
            2 * quarter: lambda: self.signal(STRUCK_NODE, 'object-server',
                                             SIGKILL),
            3 * quarter: lambda: self.cluster.swift_init(
                'object-server.%d' % STRUCK_NODE, 'start')})
        for name in SERVERS:
            with self.show.doing('waiting for the ' + name):
                after = wait_until(lambda: self._pids(name), PATIENCE,
                                   'the %s of node %d is back' % (
                                       name, STRUCK_NODE))
            self.show.lines('%s: was pid %s, is pid %s' % (
                name, *(' '.join(map(str, pids))
                        for pids in (before[name], after))))
        self._wait_for_indexes()
        self.delete([where for where, _ in self.uploads[
            self.policies[-1].name][::10]], 'objects deleted')
        if self.look(self.cluster).equal:
            raise DemoError('the object-server of node %d was dead during %d '
                            'uploads, and yet all replicas are identical' % (
                                STRUCK_NODE, quarter))

    def check_indexes(self) -> None:
        self.show.scene('swift-losf-fsck check --data')
        self.show.say('The index servers are stopped; of each device, index, '
                      'records and data are compared.')
        layouts = self._layouts()
        with self.show.doing('devices checked', len(layouts)) as count:
            self.cluster.swift_init(MANAGER, 'stop')
            for layout in layouts:
                checked = self.cluster.run([
                    'swift-losf-fsck', 'check', layout.device_path, '--data',
                    '--policy', str(layout.policy_index),
                    *([] if self.cluster.disks.images
                      else ['--no-mount-check'])])
                count()
                self.show.lines('%s: %s' % (
                    os.path.basename(layout.device_path),
                    checked.stdout.splitlines()[-1]))
            self.cluster.swift_init(MANAGER, 'start')
            self._wait_for_indexes()

    def to_look_at(self) -> tuple[str, ...]:
        layout = self._layouts()[0]
        return ('# the volumes of a device, and what is in them',
                'ls -l ' + layout.volumes,
                self.saio('run swift-losf-fsck dump %s --policy %d' % (
                    layout.device_path, layout.policy_index)))
