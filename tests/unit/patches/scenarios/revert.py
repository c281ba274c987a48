# SPDX-License-Identifier: Apache-2.0
"""Reverts one handoff partition; see CASES for what can be asked.

Arguments: the case, an empty directory. Prints what was sent to the primary
nodes, what the diskfile manager was asked to delete, and the directories left.
"""

import errno
import json
import os
import sys
from types import SimpleNamespace
from unittest import mock

import swift
from swift.common.storage_policy import POLICIES
from swift.obj.diskfile import DiskFileManager
from swift.obj.replicator import ObjectReplicator

HASHES = ('d41d8cd98f00b204e9800998ecf8427e',
          'a41d8cd98f00b204e9800998ecf8427e')  # of one suffix


class PackedManager(DiskFileManager):
    """Its objects are in no directory of their own."""

    deleted = []

    def list_suffixes(self, device, partition, policy):
        return ['abc']

    def delete_partition(self, device, partition, policy):
        self.deleted.append([device, partition, int(policy)])

    def delete_hash_dir(self, device, partition, object_hash, policy):
        self.deleted.append([device, partition, object_hash, int(policy)])


class Partition:
    """A handoff partition with two objects, and its replicator."""

    def __init__(self, root, sync_method='rsync', packed=False):
        self.path = os.path.join(root, 'sda', 'objects', '5')
        POLICIES.legacy.object_ring = SimpleNamespace(replica_count=3)
        conf = {'devices': root, 'mount_check': 'false',
                'recon_cache_path': root, 'sync_method': sync_method}
        self.replicator = ObjectReplicator(conf)
        self.replicator._zero_stats()
        self.replicator.partition_times = []
        self.replicator.handoffs_remaining = 0
        self.sent = []
        self.replicator.sync = self.sync
        os.makedirs(self.path)
        if packed:
            self.replicator._df_router.policy_to_manager[POLICIES.legacy] = \
                PackedManager(conf, self.replicator.logger)
        else:
            for name in HASHES:
                directory = os.path.join(self.path, name[-3:], name)
                os.makedirs(directory)
                with open(os.path.join(directory, '1.00000.data'), 'w'):
                    pass

    def sync(self, node, job, suffixes, **kwargs):
        """Stands for the transfer; every node has the first object now."""
        self.sent.append([node['device'], suffixes])
        return True, {HASHES[0]: '1.00000'}

    def revert(self):
        nodes = [{'replication_ip': '127.0.0.%d' % i, 'region': 2,
                  'device': 'remote%d' % i} for i in (1, 2)]
        self.replicator.revert({
            'path': self.path, 'obj_path': os.path.dirname(self.path),
            'device': 'sda', 'partition': '5', 'policy': POLICIES.legacy,
            'nodes': nodes, 'region': 1, 'delete': True})

    def left(self):
        """The directories that are still there."""
        return sorted(os.path.relpath(directory, self.path)
                      for directory, _names, _files in os.walk(self.path))


def unreadable(partition):
    """The partition cannot be listed."""
    listdir = os.listdir

    def failing(path):
        if path == partition.path:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return listdir(path)

    with mock.patch('os.listdir', failing):
        partition.revert()


CASES = {
    'rsync': ({}, Partition.revert),
    'ssync': ({'sync_method': 'ssync'}, Partition.revert),
    'packed rsync': ({'packed': True}, Partition.revert),
    'packed ssync': ({'packed': True, 'sync_method': 'ssync'},
                     Partition.revert),
    'unreadable': ({}, unreadable),
    'delete_partition': ({}, lambda partition:
                         partition.replicator.delete_partition(
                             partition.path)),
}


def main(case, root):
    options, act = CASES[case]
    partition = Partition(root, **options)
    act(partition)
    print(json.dumps({'swift': swift.__file__, 'sent': partition.sent,
                      'deleted': PackedManager.deleted,
                      'left': partition.left()}))


main(*sys.argv[1:])
