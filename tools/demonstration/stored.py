# SPDX-License-Identifier: Apache-2.0
"""
What is on a device: read from its disk, never from a log or an answer.

An object's file is a file below a partition's suffix directories or, of a
policy that keeps objects in volumes, a record in a volume. Either counts with
its name, size, content and metadata.
"""

import hashlib
import os
import re
from dataclasses import dataclass
from pickle import UnpicklingError  # nosec: B403

from swift.common.exceptions import DiskFileError
from swift.obj.diskfile import DATADIR_BASE, read_metadata

from swift_losf.diskfile.vfile import VFileReader
from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout, policies_in
from swift_losf.index.index_client import IndexClient
from tools.demonstration.errors import DemoError

WITH_METADATA = ('.data', '.meta', '.ts')
#: the directory of a policy's objects, with the policy's index
DATA_DIRECTORY = re.compile(r'%s(?:-([1-9]\d*))?' % DATADIR_BASE)


@dataclass(frozen=True)
class StoredFile:
    """
    A file of an object on a device.

    :param policy: the index of the storage policy
    :param partition: the partition's number
    :param object_hash: the name of its directory
    :param name: its own name
    :param size: in bytes
    :param content: digest of its content, or why it cannot be read
    :param metadata: digest of Swift's metadata, or why there is none
    """

    policy: int
    partition: int
    object_hash: str
    name: str
    size: int
    content: str
    metadata: str


def _digest_of_metadata(metadata):
    return hashlib.sha256(
        repr(sorted(metadata.items())).encode()).hexdigest()


def _metadata_digest(path):
    if not path.endswith(WITH_METADATA):
        return 'not a file of Swift'
    try:
        return _digest_of_metadata(read_metadata(path))
    except (DiskFileError, EOFError, UnpicklingError) as err:
        return 'unreadable: %r' % err


def _stored_file(policy, partition, object_hash, path):
    with open(path, 'rb') as stored:
        content = hashlib.file_digest(stored, 'sha256') \
            if hasattr(hashlib, 'file_digest') \
            else hashlib.sha256(stored.read())
        size = stored.tell()
    return StoredFile(policy, partition, object_hash, os.path.basename(path),
                      size, content.hexdigest(), _metadata_digest(path))


def _partitions(device_path):
    for name in os.listdir(device_path):
        match = DATA_DIRECTORY.fullmatch(name)
        if match:
            top = os.path.join(device_path, name)
            for partition in filter(str.isdigit, os.listdir(top)):
                yield (int(match.group(1) or 0), int(partition),
                       os.path.join(top, partition))


def _in_directories(device_path):
    for policy, partition, top in _partitions(device_path):
        for directory, _, names in os.walk(top):
            if directory == top:
                continue   # hashes.pkl, locks: each node's own
            for name in names:
                yield _stored_file(
                    policy, partition, os.path.basename(directory),
                    os.path.join(directory, name))


def _stored_record(layout, partition, object_hash, name, location):
    try:
        with VFileReader.open(layout, location, object_hash, name) as record:
            content = hashlib.sha256(record.read()).hexdigest()
            metadata = _digest_of_metadata(record.metadata)
    except OSError as err:
        content = metadata = 'unreadable: %s' % err
    return StoredFile(layout.policy_index, partition, object_hash.hex(), name,
                      location.data_length, content, metadata)


def _in_volumes(device_path):
    for policy in policies_in(os.listdir(device_path)):
        layout = Layout(device_path, policy)
        index = IndexClient(layout.socket)
        for partition in index.list_partitions():
            for suffix in index.list_partition(partition):
                for object_hash, _ in index.list_suffix(partition, suffix):
                    for name, location in index.list_hash(partition,
                                                          object_hash):
                        yield _stored_record(layout, partition, object_hash,
                                             name, location)


def files_on_device(device_path):
    """
    :param device_path: where the device is mounted
    :returns: a frozenset of StoredFile
    :raises DemoError: if an index does not say what is in the volumes
    """
    try:
        return frozenset((*_in_directories(device_path),
                          *_in_volumes(device_path)))
    except IndexUnavailable as err:
        raise DemoError('%s: what is in its volumes cannot be told: %s' % (
            device_path, err)) from err
