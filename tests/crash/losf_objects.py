# SPDX-License-Identifier: Apache-2.0
"""What an object-server does, of one device, and tells while it does it."""

import os
import random
from dataclasses import dataclass
from hashlib import md5

from swift.common.exceptions import (
    DiskFileDeleted,
    DiskFileError,
    DiskFileNotExist,
)
from swift.common.storage_policy import POLICIES
from swift.common.utils import Timestamp, hash_path

from swift_losf.diskfile.kvfile import KVDiskFileManager
from swift_losf.errors import IndexUnavailable
from tests.functional.objects import _SILENT

DEVICE = 'd1'
PARTITIONS = 4
MIB = 2 ** 20
#: so small that there are always some to be compacted
VOLUME_SIZE = 2 * MIB
UNAVAILABLE = 'the index server does not answer'
CONF = {'mount_check': 'false', 'fallocate_reserve': '0', 'mb_per_sync': '1',
        'losf_max_volume_size': str(VOLUME_SIZE), 'disk_chunk_size': '262144'}


@dataclass(frozen=True)
class Version:
    """What a client sees of an object.

    :param timestamp: of the last change
    :param digest: of its data; None of a deleted one
    :param color: metadata that POSTs change
    """
    timestamp: str
    digest: str = None
    color: str = None


class Objects:
    """In a child: changes objects, and tells of it.

    :param root: the directory of the device
    :param send: takes (name, Version, whether it is acknowledged)
    :param manager: the class of the diskfile manager
    """

    def __init__(self, root, send, manager=KVDiskFileManager):
        self.device_path = os.path.join(root, DEVICE)
        self.manager = manager(dict(CONF, devices=root), _SILENT)
        self._send = send
        self._digests = {}

    def diskfile(self, name):
        return self.manager.get_diskfile(
            DEVICE, partition_of(name), 'a', 'c', name, POLICIES[0])

    def _told(self, name, version, change):
        self._send((name, version, False))
        change()
        self._send((name, version, True))

    def put(self, name, length):
        timestamp = Timestamp.now()
        body = random.Random(timestamp.internal).randbytes(length)
        digest = md5(body, usedforsecurity=False).hexdigest()
        self._digests[name] = digest

        def change():
            with self.diskfile(name).create(size=length) as writer:
                for start in range(0, length, 262144):
                    writer.write(body[start:start + 262144])
                writer.put({'X-Timestamp': timestamp.internal,
                            'Content-Type': 'text/plain', 'ETag': digest,
                            'Content-Length': str(length),
                            'X-Object-Meta-Color': 'blue'})
                writer.commit(timestamp)
        self._told(name, Version(timestamp.internal, digest, 'blue'), change)

    def post(self, name):
        """REQUIRES: this has put it."""
        timestamp = Timestamp.now()
        version = Version(timestamp.internal, self._digests[name], 'red')
        self._told(name, version,
                   lambda: self.diskfile(name).write_metadata({
                       'X-Timestamp': timestamp.internal,
                       'X-Object-Meta-Color': 'red'}))

    def delete(self, name):
        timestamp = Timestamp.now()
        self._told(name, Version(timestamp.internal),
                   lambda: self.diskfile(name).delete(timestamp))

    def read(self, name):
        """:returns: the Version that is there, None, or what is wrong"""
        diskfile = self.diskfile(name)
        try:
            with diskfile.open():
                metadata = diskfile.get_metadata()
                body = b''.join(diskfile.reader())
        except DiskFileDeleted as err:
            return Version(err.timestamp.internal)
        except DiskFileNotExist:
            return None
        except IndexUnavailable:
            return UNAVAILABLE
        except (DiskFileError, OSError) as err:
            return '%s: %s' % (type(err).__name__, err)
        told = self.diskfile(name).read_metadata()
        if told != metadata:
            return 'HEAD tells %s, GET %s' % (told, metadata)
        return Version(diskfile.timestamp.internal, md5(
            body, usedforsecurity=False).hexdigest(),
            metadata['X-Object-Meta-Color'])

    def untrue_hashes(self):
        """:returns: partitions whose suffix hashes are not what is there"""
        untrue = []
        for partition in range(PARTITIONS):
            said = self._hashes(partition)
            listed = self._hashes(partition, do_listdir=True)
            counted = self._hashes(partition, recalculate=list(listed))
            if not said == listed == counted:
                untrue.append((partition, said, listed, counted))
        return untrue

    def _hashes(self, partition, **kwargs):
        return self.manager._get_hashes(DEVICE, partition, POLICIES[0],
                                        **kwargs)[1]


def partition_of(name):
    return int(hash_path('a', 'c', name)[:8], 16) % PARTITIONS
