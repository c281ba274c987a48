# SPDX-License-Identifier: Apache-2.0
"""Shows an object of a file, or of a diskfile manager that keeps it elsewhere.

Prints, as JSON, what swift-object-info and swift-get-nodes print of it.
"""

import contextlib
import io
import json
import os
import sys
from unittest import mock

import swift
from swift.cli import info
from swift.common import utils
from swift.common.ring import Ring, RingBuilder
from swift.common.storage_policy import POLICIES, PolicyError
from swift.common.utils import Timestamp
from swift.obj import diskfile


class Packed(diskfile.DiskFileManager):
    """Keeps objects where nobody but it finds them."""

    def open_data_file(self, path):
        return io.BytesIO(b'')

    def read_metadata(self, path):
        return {'name': '/a/c/o', 'Content-Length': '0',
                'ETag': 'd41d8cd98f00b204e9800998ecf8427e'}

    def get_list_command(self, device_path, policy, partition, object_hash):
        return 'list %s %d' % (device_path, policy)


def printed(function, *args, **kwargs):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), \
            contextlib.suppress(info.InfoSystemExit):
        function(*args, **kwargs)
    return out.getvalue()


def manager_of(kind):
    """Return what loads the manager of a kind."""
    def load(*args):
        if kind == 'unknown':
            raise PolicyError('it is not installed')
        cls = Packed if kind == 'packed' else diskfile.DiskFileManager
        return cls({}, mock.Mock())
    return mock.patch.object(type(POLICIES.default), 'get_diskfile_manager',
                             side_effect=load)


def write(root):
    """Write an object, and return the path of its file."""
    df = diskfile.DiskFileManager(
        {'devices': root, 'mount_check': 'false'}, mock.Mock()).get_diskfile(
            'sda', '5', 'a', 'c', 'o', POLICIES.default)
    with df.create() as writer:
        writer.put({'X-Timestamp': Timestamp(1).internal,
                    'Content-Length': '0', 'name': '/a/c/o',
                    'ETag': 'd41d8cd98f00b204e9800998ecf8427e'})
        writer.commit(Timestamp(1))
    return os.path.join(df._datadir, Timestamp(1).internal + '.data')


def main(root, kind):
    utils.HASH_PATH_SUFFIX = b'suffix'
    os.makedirs(os.path.join(root, 'sda'))
    path = write(root)
    if kind == 'packed':
        os.unlink(path)
    builder = RingBuilder(2, 1, 0)
    builder.add_dev({'id': 0, 'region': 0, 'zone': 0, 'weight': 1,
                     'ip': '127.0.0.1', 'port': 1, 'device': 'sda'})
    builder.rebalance()
    ring = os.path.join(root, 'other.ring.gz')
    builder.get_ring().save(ring)
    with manager_of(kind):
        shown = printed(info.print_obj, path, swift_dir=root)
        hints = printed(info.print_item_locations, Ring(ring), 'object',
                        'a', 'c', 'o')
    print(json.dumps({
        'swift': swift.__file__, 'valid': shown.count('(valid)'),
        'hints': [each.split('"')[1].split()[0] for each
                  in hints.splitlines() if each.startswith('ssh')]}))


main(*sys.argv[1:])
