# SPDX-License-Identifier: Apache-2.0
"""Makes the jobs of a policy whose files rsync cannot push.

Arguments: the sync method, an empty directory. Prints how many jobs there are,
and the errors that were logged.
"""

import json
import os
import sys
from types import SimpleNamespace
from unittest import mock

import swift
from swift.common.storage_policy import POLICIES
from swift.obj.diskfile import DiskFileManager
from swift.obj.replicator import ObjectReplicator

DEVICE = {'id': 0, 'device': 'sda', 'ip': '127.0.0.1', 'port': 6200,
          'replication_ip': '127.0.0.1', 'replication_port': 6200, 'region': 1}


def main(sync_method, root):
    os.makedirs(os.path.join(root, 'sda', 'objects', '5'))
    policy = POLICIES.legacy
    policy.object_ring = SimpleNamespace(
        replica_count=1, devs=[DEVICE],
        get_part_nodes=lambda partition: [DEVICE])
    replicator = ObjectReplicator({
        'devices': root, 'mount_check': 'false', 'recon_cache_path': root,
        'sync_method': sync_method})
    replicator._zero_stats()
    replicator.all_devs_info = set()
    DiskFileManager.supports_rsync = False
    with mock.patch.object(replicator.logger, 'error') as error:
        jobs = replicator.build_replication_jobs(policy, ['127.0.0.1'])
    print(json.dumps({
        'swift': swift.__file__, 'jobs': len(jobs),
        'errors': [call.args[0] % call.args[1:]
                   for call in error.call_args_list]}))


main(*sys.argv[1:])
