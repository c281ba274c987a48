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


def revert(replicator, path):
    nodes = [{'replication_ip': '127.0.0.%d' % i, 'region': 2,
              'device': 'remote%d' % i} for i in (1, 2)]
    replicator.revert({
        'path': path, 'obj_path': os.path.dirname(path), 'device': 'sda',
        'partition': '5', 'policy': POLICIES.legacy, 'nodes': nodes,
        'region': 1, 'delete': True})


def revert_unreadable(replicator, path):
    """Revert the partition while it cannot be listed."""
    listdir = os.listdir

    def failing(directory):
        if directory == path:
            raise OSError(errno.EIO, os.strerror(errno.EIO), directory)
        return listdir(directory)

    with mock.patch('os.listdir', failing):
        revert(replicator, path)


#: sync method, whether objects are packed, what to do
CASES = {
    'rsync': ('rsync', False, revert),
    'ssync': ('ssync', False, revert),
    'packed rsync': ('rsync', True, revert),
    'packed ssync': ('ssync', True, revert),
    'unreadable': ('rsync', False, revert_unreadable),
    'delete_partition': ('rsync', False, ObjectReplicator.delete_partition),
}


def main(case, root):
    sync_method, is_packed, act = CASES[case]
    path = os.path.join(root, 'sda', 'objects', '5')
    POLICIES.legacy.object_ring = SimpleNamespace(replica_count=3)
    conf = {'devices': root, 'mount_check': 'false',
            'recon_cache_path': root, 'sync_method': sync_method}
    replicator = ObjectReplicator(conf)
    replicator._zero_stats()
    replicator.partition_times = []
    replicator.handoffs_remaining = 0
    sent = []

    def sync(node, job, suffixes, **kwargs):
        """Stands for the transfer; every node has the first object now."""
        sent.append([node['device'], suffixes])
        return True, {HASHES[0]: '1.00000'}

    replicator.sync = sync
    os.makedirs(path)
    if is_packed:
        replicator._df_router.policy_to_manager[POLICIES.legacy] = \
            PackedManager(conf, replicator.logger)
    else:
        for name in HASHES:
            directory = os.path.join(path, name[-3:], name)
            os.makedirs(directory)
            open(os.path.join(directory, '1.00000.data'), 'w').close()
    act(replicator, path)
    print(json.dumps({
        'swift': swift.__file__, 'sent': sent,
        'deleted': PackedManager.deleted,
        'left': sorted(os.path.relpath(directory, path)
                       for directory, _names, _files in os.walk(path))}))


main(*sys.argv[1:])
