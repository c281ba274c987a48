# SPDX-License-Identifier: Apache-2.0
"""Objects whose files are not below their partition: they are written by stock
Swift, moved to another tree, and used through a manager that looks there.

Prints, as JSON, what each use of the diskfile API found.
"""

import json
import os
import shutil
import sys

import swift
from swift.common.exceptions import DiskFileDeleted
from swift.common.storage_policy import POLICIES
from swift.common.utils import Timestamp, get_logger
from swift.obj import diskfile

CALLS = ('list_dir', 'remove_dir', 'remove_file', 'is_file_older',
         'open_data_file', 'read_file_metadata', 'read_metadata')


class MovedManager(diskfile.DiskFileManager):
    """Finds below ``elsewhere`` what has a path below the devices."""

    calls = set()

    def elsewhere(self, path):
        return path.replace(self.devices, self.devices + '.elsewhere')


def moved(name):
    def call(self, path, *args, **kwargs):
        if isinstance(path, str):
            path = self.elsewhere(path)
        self.calls.add(name)
        return getattr(diskfile.DiskFileManager, name)(
            self, path, *args, **kwargs)
    return call


for each in CALLS:
    setattr(MovedManager, each, moved(each))


def write(manager, obj, timestamp):
    df = manager.get_diskfile('sda', '5', 'a', 'c', obj, POLICIES.legacy)
    with df.create() as writer:
        writer.write(b'data')
        writer.put({'X-Timestamp': Timestamp(timestamp).internal,
                    'ETag': '8d777f385d3dfec8815d20f7496026dc',
                    'Content-Length': '4',
                    'Content-Type': 'text/plain'})
    return df


def found(manager, obj):
    df = manager.get_diskfile('sda', '5', 'a', 'c', obj, POLICIES.legacy)
    try:
        with df.open():
            return b''.join(df.reader()).decode()
    except DiskFileDeleted:
        return 'deleted'


def main(root):
    conf = {'devices': root, 'mount_check': 'false', 'reclaim_age': 10 ** 10}
    logger = get_logger(conf)
    os.makedirs(os.path.join(root, 'sda'))
    stock = diskfile.DiskFileManager(conf, logger)
    policy = POLICIES.legacy
    kept = write(stock, 'kept', 2)
    gone = write(stock, 'gone', 2)
    gone.delete(Timestamp(3))
    partition = os.path.dirname(os.path.dirname(kept._datadir))
    manager = MovedManager(conf, logger)
    shutil.copytree(root, manager.elsewhere(root))
    for path in os.listdir(partition):
        if len(path) == 3:
            shutil.rmtree(os.path.join(partition, path))
    # Obsolete, so that something has to be removed.
    with open(os.path.join(manager.elsewhere(kept._datadir),
                           Timestamp(1).internal + '.ts'), 'w'):
        pass
    hashed, hashes = manager._get_hashes('sda', '5', policy, do_listdir=True)
    object_hash = os.path.basename(kept._datadir)
    located = list(manager.object_audit_location_generator(policy))
    print(json.dumps({
        'swift': swift.__file__,
        'objects': [found(manager, 'kept'), found(manager, 'gone')],
        'suffixes': sorted(hashes) == sorted(
            df._datadir[-3:] for df in (kept, gone)),
        'files': sorted(os.listdir(manager.elsewhere(kept._datadir))),
        'yielded': len(list(manager.yield_hashes('sda', '5', policy))),
        'audited': len(located),
        'name': manager.get_diskfile_from_hash(
            'sda', '5', object_hash, policy)._name,
        'unused': sorted(set(CALLS) - manager.calls)}))


main(*sys.argv[1:])
