# SPDX-License-Identifier: Apache-2.0
"""Writes a fragment and makes it durable, and has the reconstructor remove a
partition, a file in the place of one, and a directory of another name.

Prints, as JSON, what the diskfile manager was asked to do, and what is left.
"""

import json
import os
import sys
from types import SimpleNamespace

import swift
from swift.common import storage_policy
from swift.common.storage_policy import ECStoragePolicy
from swift.common.utils import Timestamp
from swift.obj import diskfile
from swift.obj.reconstructor import ObjectReconstructor

CALLS = {'rename_file': [], 'delete_partition': []}


def note(name):
    stock = getattr(diskfile.ECDiskFileManager, name, None)

    def call(self, *args):
        CALLS[name].append(args)
        return stock(self, *args)
    if stock:
        setattr(diskfile.ECDiskFileManager, name, call)


def short(path):
    return os.path.basename(path).lstrip('0').replace('.00000', '')


def main(root):
    policy = ECStoragePolicy(
        0, 'ec', is_default=True, ec_type='liberasurecode_rs_vand',
        ec_ndata=4, ec_nparity=2)
    policy.object_ring = SimpleNamespace(devs=[])
    storage_policy._POLICIES = storage_policy.StoragePolicyCollection(
        [policy])
    for name in CALLS:
        note(name)
    objects = os.path.join(root, 'sda', 'objects')
    os.makedirs(objects)
    reconstructor = ObjectReconstructor({
        'devices': root, 'mount_check': 'false'})
    manager = reconstructor._df_router[policy]
    df = manager.get_diskfile('sda', '5', 'a', 'c', 'o', policy,
                              frag_index=2)
    now = Timestamp(1)
    with df.create() as writer:
        writer.write(b'data')
        writer.put({'X-Timestamp': now.internal, 'Content-Length': '4',
                    'ETag': '8d777f385d3dfec8815d20f7496026dc'})
        writer.commit(now)
    os.makedirs(os.path.join(objects, '7', 'abc'))
    os.mkdir(os.path.join(objects, 'unexpected'))
    with open(os.path.join(objects, '8'), 'w'):
        pass
    for name in ('7', 'unexpected', '8'):
        reconstructor.delete_partition(os.path.join(objects, name))
    print(json.dumps({
        'swift': swift.__file__,
        'renamed': [list(map(short, paths))
                    for paths in CALLS['rename_file']],
        'deleted': [[device, partition, int(index)] for
                    device, partition, index in CALLS['delete_partition']
                    if partition == '7'],
        'files': os.listdir(df._datadir),
        'left': sorted(set(os.listdir(objects)) - {'5'})}))


main(*sys.argv[1:])
