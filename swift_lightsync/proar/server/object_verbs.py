# SPDX-License-Identifier: Apache-2.0
"""The object-server's side of primary-role writes. PROTOCOL.md, "Writes".

PUT, POST and DELETE stay stock Swift's. A request that has a slot is run by a
copy of the controller, made for that request, which knows what to log: its
diskfiles log what is done to them, and its container updates are awaited by
their majority.
"""

import os
import time
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from swift.common.concurrency import tpool
from swift.common.constraints import valid_timestamp
from swift.common.exceptions import DiskFileDeleted
from swift.common.request_helpers import get_name_and_placement
from swift.common.storage_policy import POLICIES, REPL_POLICY
from swift.common.swob import (
    HTTPBadRequest,
    HTTPInsufficientStorage,
    HTTPServiceUnavailable,
)
from swift.common.utils import config_true_value, hash_path, public

from swift_lightsync.common.request_body import number_of
from swift_lightsync.proar.converger.object_state import Source
from swift_lightsync.proar.core.oplog import NO_SLOT, Entry, Op
from swift_lightsync.proar.log.device_log import DeviceLog
from swift_lightsync.proar.log.logged_diskfile import LoggedWrite, log_writes
from swift_lightsync.proar.names import (
    ALONE,
    DELETED_HEADER,
    FAILOVER_HEADER,
    LAG,
    LOG,
    REFUSED_HEADER,
    SLOT_HEADER,
)
from swift_lightsync.proar.replaced_files import settled
from swift_lightsync.proar.server.lag_bounds import LagBounds, LagOptions
from swift_lightsync.proar.server.row_updates import LOGGED, Logged, RowUpdates
from swift_lightsync.proar.server.vouching_verbs import VouchingVerbs
from swift_lightsync.proar.server.write_through import WriteThrough
from swift_lightsync.proar.vouching.fence import Fence
from swift_lightsync.proar.vouching.places import version_of

MAX_PARTITION = (1 << 32) - 1
#: in a request's environ: it is a DELETE of what was deleted before
WAS_DELETED = 'swift.proar.was_deleted'
OPS = {'PUT': Op.MODIFY, 'POST': Op.MODIFY, 'DELETE': Op.DELETE}


@dataclass(frozen=True)
class RoleWrite:
    """A write that is to be logged.

    :param request: the Request
    :param device: the name of the device
    :param is_bounded: whether it is refused if the device holds too much
        alone
    :param log: the DeviceLog
    :param entry: its Entry
    :param fence: what a fail-over write has to pass, or None
    :param is_vouched: whether a tombstone that a DELETE finds is the newest
    """
    request: Any
    device: str
    is_bounded: bool
    log: DeviceLog
    entry: Entry
    fence: Fence | None = None
    is_vouched: bool = False


class PrimaryRoleVerbs(RowUpdates, VouchingVerbs):
    """Makes an object-server's controller log the writes of primary roles."""

    #: what this copy of the controller serves; None: any request of Swift's
    _role_write: RoleWrite | None = None

    def setup(self, conf):
        """Set up the stock controller, and what the logs need."""
        super().setup(conf)
        self._lag = LagBounds(LagOptions.from_conf(conf))
        self._log = lru_cache(None)(self._make_log)

    @public
    def PUT(self, request):
        """Handle a PUT as stock Swift, and log it if it has a slot."""
        return super(PrimaryRoleVerbs, self._serving(request)).PUT(request)

    @public
    def POST(self, request):
        """Handle a POST as stock Swift, and log it if it has a slot."""
        return self._settled(request, 'POST')

    @public
    def DELETE(self, request):
        """Handle a DELETE as stock Swift, and log it if it has a slot.

        A 404 says so if the object is known to have been deleted before.
        """
        response = self._settled(request, 'DELETE')
        if WAS_DELETED in request.environ:
            response.headers[DELETED_HEADER] = 'true'
        return response

    def _settled(self, request, verb):
        serving = self._serving(request)
        answer = getattr(super(PrimaryRoleVerbs, serving), verb)
        return answer(request) if serving is self \
            else settled(answer, request)

    def _serving(self, request):
        """Return the controller that serves a request.

        :raises HTTPException: 400 for a slot or a partition that cannot be
            one
        """
        if SLOT_HEADER not in request.headers or config_true_value(
                request.headers.get('X-Backend-Replication')):
            return self
        device, partition, account, container, obj, policy = \
            get_name_and_placement(request, 5, 5, True)
        if policy.policy_type != REPL_POLICY:
            raise HTTPBadRequest(
                request=request, body='%s: policy %s is of type %s, must be '
                '%s' % (SLOT_HEADER, policy.name, policy.policy_type,
                        REPL_POLICY))
        # A process that was forked writes a segment of its own.
        path = self._diskfile_router[policy].construct_dev_path(device)
        log = self._log(os.getpid(), path)
        ring = self._ring(policy)
        entry = _entry(request, policy, ring, number_of(
            request, 'partition', partition, _last_partition(ring)),
            hash_path(account, container, obj, raw_digest=True))
        kind = request.headers.get(FAILOVER_HEADER)
        fence = Fence(path, policy, ring, entry.partition, entry.path_hash,
                      self.logger) if kind else None
        standing = self._standings(path, policy).read()
        self._refuse_ring(request, path, policy, ring, entry.path_hash,
                          standing, kind is None)
        serving = self._telling()
        serving._role_write = RoleWrite(
            request, device, kind in (None, ALONE), log, entry, fence,
            request.method == 'DELETE' and kind is None
            and not self._obstacle(policy, path, (
                entry.partition, entry.slot), standing))
        return serving

    def _make_log(self, _, device_path):
        return DeviceLog(device_path, self._quiet)

    def get_diskfile(self, *args, **kwargs):
        """Return the stock diskfile, or one that logs a primary role's write.

        :raises HTTPException: 503 if the write is refused for the lag, 507 if
            it cannot be logged; no byte of its body has been asked for
        """
        disk_file = super().get_diskfile(*args, **kwargs)
        write = self._role_write
        if write is None:
            return disk_file
        if write.is_vouched:
            _note_tombstone(disk_file, write.request)
        intent = self._begin(write)
        write.request.environ[LOGGED] = Logged(write.log, write.entry)
        return log_writes(disk_file, LoggedWrite(
            intent, self._quiet, write.fence, partial(
                self._troubles.count, write.device, 'failed_intents'),
            self._write_through(write)))

    def _write_through(self, write):
        """
        Return what makes a quorum of a write that cannot be logged, or None.

        A write without a body is taken by others instead, and so is one that
        others take anyway.
        """
        if write.request.method != 'PUT' or write.fence is not None:
            return None
        entry = write.entry
        policy = POLICIES.get_by_index(entry.policy)
        ring = self._ring(policy)
        if ring is None:
            return None
        return WriteThrough(
            Source(self._diskfile_router[policy], write.device, policy),
            ring, entry.slot, entry.partition, entry.path_hash,
            self.conn_timeout, self.node_timeout, self._quiet).make_quorum

    def _begin(self, write):
        """Return the Intent of a write, unless too much is held alone.

        :raises HTTPException: 503 for that, 507 if nothing can be logged
        """
        try:
            reason = self._lag.excess(write.log) if write.is_bounded else ''
            if not reason:
                return write.log.begin_now(write.entry) or \
                    tpool.execute(write.log.begin, write.entry)
        except OSError as err:
            self.logger.increment('proar.refused.log.%s' % write.device)
            self._troubles.count(write.device, 'refused_log')
            self._quiet.error_of(
                (write.device, err.errno), 'Writes of primary roles to %s '
                'are refused (507), for they cannot be logged: %s',
                write.device, err)
            raise HTTPInsufficientStorage(
                drive=write.device, request=write.request,
                headers={REFUSED_HEADER: LOG})
        self.logger.increment('proar.refused.lag.%s' % write.device)
        self._troubles.count(write.device, 'refused_lag')
        raise HTTPServiceUnavailable(
            request=write.request, headers={REFUSED_HEADER: LAG},
            body='No other device holds %s' % reason)


def _note_tombstone(disk_file, request):
    """Have a request know whether its diskfile has found a tombstone."""
    stock = disk_file.read_metadata

    def read_metadata(*args, **kwargs):
        try:
            return stock(*args, **kwargs)
        except DiskFileDeleted:
            request.environ[WAS_DELETED] = True
            raise
    disk_file.read_metadata = read_metadata


def _last_partition(ring):
    """Return the greatest partition that a request may be of."""
    return MAX_PARTITION if ring is None else \
        (1 << (ring.next_part_power or ring.part_power)) - 1


def _entry(request, policy, ring, partition, path_hash):
    """Return the Entry of a write.

    :raises HTTPException: 400 for a slot or a timestamp that cannot be one
    """
    timestamp = valid_timestamp(request)
    return Entry(
        OPS[request.method],
        number_of(request, SLOT_HEADER, request.headers[SLOT_HEADER],
                  NO_SLOT - 1),
        int(policy), partition, path_hash, timestamp.raw, timestamp.offset,
        int(time.time() * 1e6),
        ring_version=version_of(ring, policy) if ring else 0)
