# SPDX-License-Identifier: Apache-2.0
"""
The container updates of primary-role writes, as durable as stock Swift's.

Stock Swift has each replica's server update one container server, and keep on
its own disk what was not acknowledged. Here one server makes all updates. It
waits for a majority, never for the slowest. Without a majority, what is to be
repeated is kept on disk and logged, and convergers bring it to the other
devices, whose object-updaters repeat it as well. PROTOCOL.md, "Rows".
"""

import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import unquote

from swift.common.concurrency import Event, spawn, tpool
from swift.common.storage_policy import POLICIES
from swift.obj.server import ObjectController

from swift_lightsync.proar.core.oplog import Entry, Op
from swift_lightsync.proar.log.device_log import DeviceLog

#: of the WSGI environment: the Logged of a request
LOGGED = 'swift.proar.logged'


@dataclass(frozen=True)
class Logged:
    """
    A write that is logged.

    :param log: of its device
    :param entry: of the write
    """
    log: DeviceLog
    entry: Entry


@dataclass
class _Updates:
    """
    The updates of one write.

    :param headers: of all of them
    :param count: of container servers
    :param over: how many have been asked, and have answered or not
    :param kept: of those, how many have to be asked again
    :param ended: sent to when a majority has acknowledged, or nothing more
        is awaited
    """
    headers: Any
    count: int
    over: int = 0
    kept: int = 0
    ended: Any = field(default_factory=Event)

    @property
    def is_durable(self):
        """Whether a majority has acknowledged."""
        return self.over - self.kept > self.count // 2

    def end(self):
        """Have who waits go on."""
        if not self.ended.ready():
            self.ended.send()


class RowUpdates(ObjectController):
    """Makes an object-server's controller wait for a majority of rows."""

    def setup(self, conf):
        """Set up the stock controller, and note what updates it keeps."""
        super().setup(conf)
        #: id of the headers of a write's updates -> its _Updates
        self._updates = {}
        for policy in POLICIES:
            manager = self._diskfile_router[policy]
            manager.pickle_async_update = partial(
                self._note_kept, manager.pickle_async_update)

    def _note_kept(self, keep, device, account, container, obj, data,
                   *args):
        keep(device, account, container, obj, data, *args)
        updates = self._updates.get(id(data['headers']))
        if updates:
            updates.kept += 1

    def container_update(self, op, account, container, obj, request,
                         headers_out, objdevice, policy):
        """Have the container servers updated, as stock Swift does."""
        args = (op, account, container, obj, request, headers_out, objdevice,
                policy)
        logged = request.environ.get(LOGGED)
        if logged is None or not request.headers.get('X-Container-Partition'):
            return super().container_update(*args)
        hosts, devices = (len(request.headers.get(name, '').split(','))
                          for name in ('X-Container-Host',
                                       'X-Container-Device'))
        if hosts != devices:
            # Swift says so, and updates none.
            return super().container_update(*args)
        updates = _Updates(headers_out, hosts)
        self._updates[id(headers_out)] = updates
        spawn(self._update_all, updates, args)
        updates.ended.wait()
        if not updates.is_durable:
            if updates.over < updates.count:
                # They are under way, and nothing is on this disk.
                self._keep(*args)
            self._log_rows(logged)
        return None

    def _update_all(self, updates, args):
        try:
            super().container_update(*args)
        finally:
            updates.end()

    def async_update(self, op, account, container, obj, host, partition,
                     contdevice, headers_out, *args, **kwargs):
        """Update one container server, or keep that on disk for later."""
        updates = self._updates.get(id(headers_out))
        try:
            super().async_update(op, account, container, obj, host, partition,
                                 contdevice, headers_out, *args, **kwargs)
        except BaseException:
            if updates:
                updates.kept += 1
            raise
        finally:
            if updates:
                self._end_one(updates)

    def _end_one(self, updates):
        updates.over += 1
        if updates.is_durable:
            updates.end()
        if updates.over == updates.count:
            self._updates.pop(id(updates.headers), None)

    def _keep(self, op, account, container, obj, request, headers_out,
              objdevice, policy):
        """Keep an update on disk, as async_update does."""
        path = request.headers.get('X-Backend-Quoted-Container-Path')
        path = unquote(path) if path else request.headers.get(
            'X-Backend-Container-Path')
        data = {'op': op, 'account': account, 'container': container,
                'obj': obj, 'headers': headers_out,
                'db_state': request.headers.get('X-Container-Root-Db-State')}
        if path:
            data['container_path'] = path
        self._diskfile_router[policy].pickle_async_update(
            objdevice, account, container, obj, data, headers_out.get(
                'x-meta-timestamp', headers_out.get('x-timestamp')), policy)

    def _log_rows(self, logged):
        """Have convergers bring what is kept to the other devices."""
        entry = replace(logged.entry, op=Op.ROW,
                        logged=int(time.time() * 1e6))
        try:
            tpool.execute(_log, logged.log, entry)
        except OSError as err:
            # It is on this device alone until its object-updater has done it.
            self.logger.increment('proar.rows.errors')
            self.logger.error('Unable to log a container update: %s', err)


def _log(log, entry):
    intent = log.begin(entry)
    intent.sync()
    intent.commit()
