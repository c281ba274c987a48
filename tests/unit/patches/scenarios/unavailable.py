# SPDX-License-Identifier: Apache-2.0
"""Runs a reconstructor's pass over three devices, one of which goes away.

Prints, as JSON, which devices' partitions were hashed, and which partitions
are left.
"""

import json
import os
import sys
from glob import glob
from unittest import mock

import swift
from swift.common import storage_policy, utils
from swift.common.ring import RingBuilder
from swift.common.storage_policy import ECStoragePolicy
from swift.obj.reconstructor import ObjectReconstructor

PARTITIONS = 4


def main(root):
    utils.HASH_PATH_SUFFIX = b'suffix'
    builder = RingBuilder(2, 3, 0)
    for number, device in enumerate(('sda', 'sdb', 'sdc')):
        builder.add_dev({'id': number, 'region': 0, 'zone': number,
                         'weight': 1, 'ip': '127.0.0.1', 'port': 1,
                         'device': device})
        for partition in range(PARTITIONS):
            os.makedirs(os.path.join(root, device, 'objects',
                                     str(partition)))
    builder.rebalance()
    builder.get_ring().save(os.path.join(root, 'object.ring.gz'))
    storage_policy._POLICIES = storage_policy.StoragePolicyCollection([
        ECStoragePolicy(0, 'ec', is_default=True,
                        ec_type='liberasurecode_rs_vand', ec_ndata=2,
                        ec_nparity=1)])
    reconstructor = ObjectReconstructor({
        'devices': root, 'mount_check': 'false', 'swift_dir': root,
        'bind_port': '1', 'recon_cache_path': root})
    hashed = set()
    get_hashes = reconstructor._get_hashes

    def hash_partition(device, *args, **kwargs):
        path = os.path.join(root, 'sda')
        if os.path.isdir(path):
            os.rename(path, path + '-away')
        found = get_hashes(device, *args, **kwargs)
        hashed.add(device)
        return found
    with mock.patch.object(reconstructor, '_get_hashes', hash_partition), \
            mock.patch('random.shuffle', lambda found: found.sort(
                key=lambda each: each.get('part_path', ''))):
        reconstructor.reconstruct()
    print(json.dumps({
        'swift': swift.__file__, 'hashed': sorted(hashed),
        'left': len(glob(os.path.join(root, '*', 'objects', '*')))}))


main(*sys.argv[1:])
