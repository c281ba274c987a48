# SPDX-License-Identifier: Apache-2.0
"""The state of an object on a device, as requests that make it elsewhere.

The requests have the headers of Swift's ssync, so that the files of the two
devices are the same byte for byte. PROTOCOL.md, "Convergence".
"""

import os
import pickle
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from swift.common.exceptions import (
    DiskFileDeleted,
    DiskFileError,
    DiskFileNotExist,
    DiskFileQuarantined,
    DiskFileStateChanged,
)
from swift.common.storage_policy import StoragePolicy
from swift.common.utils import Timestamp
from swift.obj.diskfile import DiskFileManager, get_async_dir

from swift_lightsync.common.records import RecordError
from swift_lightsync.proar.core.push_message import SentChange, SentObject
from swift_lightsync.proar.core.row import Row
from swift_lightsync.proar.replaced_files import ATTEMPTS, tell_replaced

#: of a data file; a request carries them elsewhere
OWN_METADATA = ('name', 'Content-Length')
#: the receiver checks it, and stores its own
CHECKED = 'etag'


class UnreadableError(Exception):
    """An object that cannot be read here, now; with the reason."""


@dataclass(frozen=True)
class Change:
    """A request that makes one file of an object.

    :param method: PUT, POST or DELETE
    :param timestamp: of the file
    :param metadata: the file's headers
    :param length: of the body, in bytes
    :param body: returns an iterator of its chunks, which raises
        UnreadableError; to be called once. None: there is no body
    """
    method: str
    timestamp: Timestamp
    metadata: dict[str, str]
    length: int = 0
    body: Callable[[], Iterator[bytes]] | None = None

    def headers(self):
        """Return the headers of the request."""
        stored = [name.lower() for name in self.metadata
                  if name.lower() != CHECKED]
        return dict(self.metadata, **{
            'Content-Length': str(self.length),
            'X-Backend-Replication': 'true',
            'X-Backend-Replication-Headers': ' '.join(stored)})


@dataclass(frozen=True)
class ObjectState:
    """What a device has of an object.

    :param path: /account/container/object
    :param changes: in the order in which they are to be made
    """
    path: str = ''
    changes: tuple[Change, ...] = ()

    @property
    def newest(self):
        """The Timestamp of the newest file; None if there is nothing."""
        return self.changes[-1].timestamp if self.changes else None


@dataclass(frozen=True)
class Source:
    """Where objects are read.

    :param manager: the DiskFileManager of their policy
    :param device: the name of the device
    :param policy: a StoragePolicy
    """
    manager: DiskFileManager
    device: str
    policy: StoragePolicy

    @contextmanager
    def opened(self, partition, path_hash):
        """Open an object; the context yields its ObjectState.

        :param partition: of the object
        :param path_hash: of the object, 16 bytes
        :raises UnreadableError: if the object cannot be read
        """
        diskfile, deleted = self._open(partition, path_hash)
        if diskfile is None:
            yield ObjectState()
        elif deleted:
            yield ObjectState(_path_of(diskfile), (
                Change('DELETE', deleted, {'X-Timestamp': deleted.internal}),
            ))
        else:
            with diskfile:
                yield ObjectState(_path_of(diskfile),
                                  tuple(_changes(diskfile)))

    def _open(self, partition, path_hash):
        """Return an open DiskFile and None, or one that is deleted, and when.

        A file that a request replaces meanwhile is looked for again.

        :returns: twice None if there is no object
        :raises UnreadableError: if the object cannot be read
        """
        for _ in range(ATTEMPTS):
            diskfile = None
            try:
                diskfile = tell_replaced(self.manager.get_diskfile_from_hash(
                    self.device, partition, path_hash.hex(), self.policy,
                    open_expired=True))
                return diskfile.open(), None
            except DiskFileDeleted as err:
                return diskfile, err.timestamp
            except (DiskFileNotExist, DiskFileQuarantined):
                return None, None
            except DiskFileStateChanged:
                continue
            except (DiskFileError, OSError) as err:
                raise UnreadableError('%s: %s' % (type(err).__name__, err))
        raise UnreadableError('it is replaced all the time')

    def read(self, partition, path_hash, most):
        """Return a SentObject with the whole state of an object.

        :param most: bytes of bodies that it may have
        :returns: None if it has more; one without changes if it is gone
        :raises UnreadableError: if the object cannot be read
        """
        with self.opened(partition, path_hash) as state:
            if sum(change.length for change in state.changes) > most:
                return None
            return SentObject(partition, state.path, tuple(
                SentChange(change.method, change.headers(), change.length)
                for change in state.changes), b''.join(
                    b''.join(change.body()) for change in state.changes
                    if change.body))

    def read_row(self, partition, path_hash, most):
        """Return a SentObject with the newest container update that is kept.

        :param partition: of the object
        :param most: bytes that it may have
        :returns: None if it has more; one without changes if none is kept
        :raises UnreadableError: if it cannot be read
        """
        name = path_hash.hex()
        directory = os.path.join(
            self.manager.construct_dev_path(self.device),
            get_async_dir(self.policy), name[-3:])
        try:
            kept = max((each for each in os.listdir(directory)
                        if each.startswith(name + '-')), default='')
            if not kept:
                return SentObject(partition, '', ())
            with open(os.path.join(directory, kept), 'rb') as file:
                row = Row.from_json(pickle.load(file))  # nosec: B301
        except FileNotFoundError:
            return SentObject(partition, '', ())
        except (OSError, RecordError, pickle.PickleError, EOFError) as err:
            raise UnreadableError('%s: %s' % (type(err).__name__, err))
        body = row.encode()
        return None if len(body) > most else SentObject(
            partition, row.path, (SentChange('ROW', {
                'X-Timestamp': kept.partition('-')[2]}, len(body)),), body)

    def check(self, partition, path_hash):
        """Read a whole object: Swift quarantines it if it is damaged."""
        with suppress(DiskFileError, OSError):
            diskfile = self.manager.get_diskfile_from_hash(
                self.device, partition, path_hash.hex(), self.policy,
                open_expired=True)
            with diskfile.open():
                deque(diskfile.reader(), maxlen=0)


def _path_of(diskfile):
    return '/%s/%s/%s' % (diskfile.account, diskfile.container, diskfile.obj)


def _changes(diskfile):
    data = {name: value for name, value
            in diskfile.get_datafile_metadata().items()
            if name not in OWN_METADATA}
    yield Change('PUT', diskfile.data_timestamp, data,
                 diskfile.content_length, lambda: _chunks(diskfile))
    if diskfile.timestamp != diskfile.data_timestamp:
        yield Change('POST', diskfile.timestamp, {
            name: value for name, value
            in diskfile.get_metafile_metadata().items()
            if name not in OWN_METADATA})


def _chunks(diskfile):
    left = diskfile.content_length
    try:
        # The peer compares what it gets with the ETag.
        for chunk in diskfile.reader(etag_validate_frac=0):
            left -= len(chunk)
            yield chunk
    except (DiskFileError, OSError) as err:
        raise UnreadableError('%s: %s' % (type(err).__name__, err))
    if left:
        raise UnreadableError('%d bytes of its body are missing' % left)
