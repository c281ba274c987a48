# SPDX-License-Identifier: Apache-2.0
"""The container updates of primary-role writes, as durable as stock Swift's:
the rows of listings, and the notes of when objects expire.

Stock Swift has each replica's server update one container server, and keep on
its own disk what was not acknowledged. Here one server makes all updates. It
waits for a majority, never for the slowest. Without a majority, what is to be
repeated is kept on disk and logged, and convergers bring it to the other
devices, whose object-updaters repeat it as well. PROTOCOL.md, "Rows".
"""

import copy
import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import unquote

from swift.common.concurrency import Event, Timeout, spawn, tpool
from swift.common.storage_policy import POLICIES
from swift.common.utils import hash_path, split_path
from swift.obj.server import ObjectController

from swift_lightsync.proar.core.oplog import Entry, Op
from swift_lightsync.proar.core.row import Row
from swift_lightsync.proar.log.device_log import DeviceLog
from swift_lightsync.proar.troubles import TroubleCounter

#: seconds in which a majority answers; and, if it has not once, for which all
#: are asked at the same time
PATIENCE, SUSPICION = 0.1, 60.0
#: of the WSGI environment: the Logged of a request
LOGGED = 'swift.proar.logged'


@dataclass(frozen=True)
class Logged:
    """A write that is logged.

    :param log: of its device
    :param entry: of the write
    """
    log: DeviceLog
    entry: Entry


@dataclass
class _Updates:
    """The updates of one row.

    :param headers: of all of them
    :param count: of container servers
    :param row: what is kept of them
    :param over: how many have been asked, and have answered or not
    :param kept: of those, how many have to be asked again
    :param ended: sent to when a majority has acknowledged, or nothing more
        is awaited
    :param begun: how many have come to their turn
    :param more: sent to when more than a majority is to be asked
    """
    headers: Any
    count: int
    row: Row
    over: int = 0
    kept: int = 0
    ended: Any = field(default_factory=Event)
    begun: int = 0
    more: Any = field(default_factory=Event)

    @property
    def is_durable(self):
        """Whether a majority has acknowledged."""
        return self.over - self.kept > self.count // 2

    def has_turn(self):
        """Return whether another one of a majority is to be asked."""
        self.begun += 1
        return self.begun <= self.count // 2 + 1

    def ask_more(self):
        """Have those asked whose turn had not come."""
        if not self.more.ready():
            self.more.send()

    def end(self):
        """Have who waits go on."""
        self.ask_more()
        if not self.ended.ready():
            self.ended.send()


class Turns:
    """Who is asked first: a majority, while it answers at once.

    The others are asked when the client has its answer, which need not wait
    for the processors that they take.
    """

    def __init__(self):
        self._all_until = 0.0

    def wait(self, updates):
        """Return when one is to be asked.

        :param updates: _Updates that it is one of
        """
        if updates.has_turn() or time.monotonic() < self._all_until:
            return
        with Timeout(PATIENCE, False):
            updates.more.wait()
        if not updates.more.ready():
            self._all_until = time.monotonic() + SUSPICION


class RowUpdates(ObjectController):
    """Makes an object-server's controller wait for a majority of rows."""

    #: the arguments of the updates that a copy would make; None: it is none
    _notes: list[tuple[tuple, dict]] | None = None
    #: id of the headers of some updates -> their _Updates
    _updates: dict[int, _Updates] = {}

    def setup(self, conf):
        """Set up the stock controller, and note what updates it keeps."""
        super().setup(conf)
        self._troubles = TroubleCounter(conf, self.logger)
        self._updates = {}
        self._turns = Turns()
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
        updates = _Updates(headers_out, hosts, Row(
            op, account, container, obj, headers_out,
            request.headers.get('X-Container-Root-Db-State'),
            _shard_of(request)))
        self._updates[id(headers_out)] = updates
        spawn(self._update_all, updates, args)
        self._await(updates, logged, objdevice, policy)
        return None

    def _update_all(self, updates, args):
        try:
            super().container_update(*args)
        finally:
            updates.end()

    def delete_at_update(self, op, delete_at, account, container, obj,
                         request, objdevice, policy, *args, **kwargs):
        """Have the notes of an object's expiry made, as stock Swift does."""
        logged = request.environ.get(LOGGED)
        noting = self if logged is None else copy.copy(self)
        if logged is not None:
            noting._notes = []
        super(RowUpdates, noting).delete_at_update(
            op, delete_at, account, container, obj, request, objdevice,
            policy, *args, **kwargs)
        if logged is None or not noting._notes:
            return
        # All are of one task, with the same headers.
        _op, account, container, obj, *_server, headers_out = \
            noting._notes[0][0][:8]
        updates = _Updates(headers_out, len(noting._notes), Row(
            op, account, container, obj, headers_out))
        self._updates[id(headers_out)] = updates
        for each, options in noting._notes:
            spawn(self.async_update, *each, **dict(
                options, logger_thread_locals=self.logger.thread_locals))
        self._await(updates, logged, objdevice, policy)

    def _await(self, updates, logged, objdevice, policy):
        """Return when a majority of updates is made, or will be.

        :param updates: _Updates that have begun
        :param logged: the Logged of the write
        """
        with Timeout(self.container_update_timeout, False):
            updates.ended.wait()
        if updates.is_durable:
            return
        if updates.over < updates.count:
            # They are under way, and nothing is on this disk.
            row, headers = updates.row, updates.headers
            self._diskfile_router[policy].pickle_async_update(
                objdevice, row.account, row.container, row.obj, row.data(),
                headers.get('x-meta-timestamp', headers.get('x-timestamp')),
                policy)
        self._log_rows(logged, objdevice, updates.row)

    def async_update(self, op, account, container, obj, host, partition,
                     contdevice, headers_out, *args, **kwargs):
        """Update one container server, or keep that on disk for later."""
        if self._notes is not None:
            self._notes.append(((op, account, container, obj, host, partition,
                                 contdevice, headers_out, *args), kwargs))
            return
        updates = self._updates.get(id(headers_out))
        if updates:
            self._turns.wait(updates)
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
        if updates.kept:
            updates.ask_more()
        if updates.is_durable or updates.over == updates.count:
            updates.end()
        if updates.over == updates.count:
            self._updates.pop(id(updates.headers), None)

    def _log_rows(self, logged, objdevice, row):
        """Have convergers bring what is kept to other devices."""
        entry = replace(logged.entry, op=Op.ROW, path_hash=hash_path(
            row.account, row.container, row.obj, raw_digest=True),
            logged=int(time.time() * 1e6))
        try:
            tpool.execute(_log, logged.log, entry)
        except OSError as err:
            # It is on this device alone until its object-updater has done it.
            self.logger.increment('proar.rows.errors')
            self._troubles.count(objdevice, 'failed_rows')
            self.logger.error('Unable to log a container update: %s', err)


def _shard_of(request):
    """Return the path of the shard that is to be updated; None: there is none,
    or Swift updates the root, for the path is not account/container.
    """
    path = request.headers.get('X-Backend-Quoted-Container-Path')
    path = unquote(path) if path else request.headers.get(
        'X-Backend-Container-Path')
    try:
        split_path('/' + (path or ''), 2, 2)
    except ValueError:
        return None
    return path


def _log(log, entry):
    intent = log.begin(entry)
    intent.sync()
    intent.commit()
