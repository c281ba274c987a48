# SPDX-License-Identifier: Apache-2.0
"""
The second act: what LOSF does for who runs the disks.

The same small objects go into a policy whose objects are files and into one
whose objects are in volumes. Then the servers of the volumes are killed amid
uploads.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from signal import SIGKILL

from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout
from swift_losf.index.index_client import IndexClient
from tools.cluster.processes import wait_until
from tools.demonstration import catalogue, footprint
from tools.demonstration.act import Act
from tools.demonstration.epilogue import saio
from tools.demonstration.errors import DemoError
from tools.demonstration.plan import (
    SmallPlan,
    make_small_plan,
    small_files_needed,
)
from tools.demonstration.show import byte_count

#: bytes
SMALL = 4096
STRUCK_NODE = 2
SERVERS = ('index-server', 'object-server')
MANAGER = 'object-losf'
#: seconds within which a server is back
PATIENCE = 60


def _serves(layout):
    with suppress(IndexUnavailable):
        return IndexClient(layout.socket).statistics()


@dataclass
class Volumes(Act):
    """The second act."""

    plan: SmallPlan = None

    @property
    def cluster(self):
        return self.stage.volumes

    @property
    def policies(self):
        """Of the objects in files, and of those in volumes."""
        return self.cluster.spec.policies

    def run(self):
        self.start_cluster('A cluster with objects in files and in volumes')
        self.upload()
        self.compare_footprints()
        self.upload_amid_kills()
        self.repair()
        self.check_served()
        self.check_indexes()

    def upload(self):
        self.show.scene('The same small objects, in files and in volumes')
        containers = [policy.name for policy in self.policies]
        self.plan = make_small_plan(
            catalogue.choose(small_files_needed(self.files), max_size=SMALL),
            self.files, containers)
        self.show.say('Of at most %d bytes.' % SMALL)
        for container in containers:
            self.put(self.plan.uploads[container],
                     'objects uploaded to ' + container)

    def compare_footprints(self):
        costs = [footprint.of_cluster(self.cluster, policy)
                 for policy in self.policies]
        objects = [len(self.plan.uploads[policy.name])
                   for policy in self.policies]

        def row(name, values, form=str):
            return [name, *map(form, values)]

        self.show.lines('')
        self.show.table(['on all devices', *(
            'in ' + policy.name for policy in self.policies)], [
                row('objects', objects),
                row('replicas', [
                    count * policy.replicas
                    for count, policy in zip(objects, self.policies)]),
                row('files and directories of the objects',
                    [each.objects.entries for each in costs]),
                row('  others, whatever the number of objects',
                    [each.fixed.entries for each in costs]),
                row('space of the objects, without inodes',
                    [each.objects.allocated for each in costs], byte_count),
                row('  other, whatever the number of objects',
                    [each.fixed.allocated for each in costs], byte_count)])
        in_files, in_volumes = (each.objects.entries for each in costs)
        if in_volumes >= in_files:
            raise DemoError('%d objects in volumes cost the disks %d files '
                            'and directories, in files %d' % (
                                objects[1], in_volumes, in_files))

    def upload_amid_kills(self):
        self.show.scene('kill -9 amid uploads')
        items = self.plan.additions
        quarter = len(items) // 4
        before = {name: self._pids(name) for name in SERVERS}
        self.show.say(
            'On node %d, after a quarter of the uploads the index server is '
            'killed, which its manager starts again; after half of them the '
            'object-server, which is started again after three quarters.'
            % STRUCK_NODE)
        self.put(items, 'objects uploaded to volumes', {
            quarter: lambda: self.signal(STRUCK_NODE, 'index-server',
                                         SIGKILL),
            2 * quarter: lambda: self.signal(STRUCK_NODE, 'object-server',
                                             SIGKILL),
            3 * quarter: lambda: self.cluster.swift_init(
                'object-server.%d' % STRUCK_NODE, 'start')})
        for name in SERVERS:
            after = wait_until(lambda: self._pids(name), PATIENCE,
                               'the %s of node %d is back' % (
                                   name, STRUCK_NODE))
            self.show.lines('%s: was pid %s, is pid %s' % (
                name, *(' '.join(map(str, pids))
                        for pids in (before[name], after))))
        self._wait_for_indexes()
        self.delete(self.plan.deletes, 'objects deleted')
        if self.look(self.cluster).equal:
            raise DemoError('the object-server of node %d was dead during %d '
                            'uploads, and yet all replicas are identical' % (
                                STRUCK_NODE, quarter))

    def _pids(self, name):
        return self.cluster.pids(STRUCK_NODE, name)

    def _layouts(self):
        """:returns: the Layout of each device, for what is in volumes"""
        return [Layout(self.cluster.device_path(node, device), policy.index)
                for policy in self.policies if policy.kv
                for node in self.cluster.spec.node_numbers()
                for device in self.cluster.devices(node)]

    def _wait_for_indexes(self):
        for layout in self._layouts():
            wait_until(lambda: _serves(layout), PATIENCE,
                       '%s answers' % layout.socket)

    def repair(self):
        self.show.scene('What node %d has missed' % STRUCK_NODE)
        self.replicate_until_equal(self.cluster)
        self.show.say('Read from the volumes and files: every object that '
                      'was acknowledged, byte for byte, and a tombstone for '
                      'every deleted one, at each of %s replicas.'
                      % self.policies[-1].replicas)

    def check_indexes(self):
        self.show.scene('swift-losf-fsck check --data')
        self.cluster.swift_init(MANAGER, 'stop')
        self.show.say('The index servers are stopped; of each device, index, '
                      'records and data are compared.')
        for layout in self._layouts():
            checked = self.cluster.run([
                'swift-losf-fsck', 'check', layout.device_path, '--data',
                '--policy', str(layout.policy_index),
                *([] if self.cluster.disks.images
                  else ['--no-mount-check'])])
            self.show.lines('%s: %s' % (
                os.path.basename(layout.device_path),
                checked.stdout.splitlines()[-1]))
        self.cluster.swift_init(MANAGER, 'start')
        self._wait_for_indexes()

    def to_look_at(self):
        layout = self._layouts()[0]
        return (
            '# the volumes of a device, and where they are',
            '%s run swift-losf-fsck dump %s --policy %d' % (
                saio(self.cluster), layout.device_path, layout.policy_index),
            'ls -l ' + layout.volumes)
