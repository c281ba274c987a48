# SPDX-License-Identifier: Apache-2.0
"""
The object-server's side of primary-role writes. PROTOCOL.md, "Writes".

PUT, POST and DELETE stay stock Swift's. A request that has a slot is run by a
copy of the controller, made for that request, which knows what to log: its
diskfiles log what is done to them, and its container updates are awaited by
their majority.
"""

import copy
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Dict, Optional

from swift.common.concurrency import tpool
from swift.common.request_helpers import get_name_and_placement
from swift.common.storage_policy import REPL_POLICY
from swift.common.swob import (
    HTTPBadRequest,
    HTTPInsufficientStorage,
    HTTPServiceUnavailable,
)
from swift.common.utils import config_true_value, hash_path, public

from swift_lightsync.common.options import Options, integer, option, seconds
from swift_lightsync.proar.core.oplog import NO_SLOT
from swift_lightsync.proar.log.logged_diskfile import (
    LogContext,
    LoggedDiskFile,
)
from swift_lightsync.proar.log.oplog_file import Oplog
from swift_lightsync.proar.names import (
    ALONE,
    FAILOVER_HEADER,
    LAG,
    LOG,
    REFUSED_HEADER,
    SLOT_HEADER,
    cursors_path,
    log_path,
)
from swift_lightsync.proar.server.row_updates import RowUpdates
from swift_lightsync.proar.server.vouching_verbs import VouchingVerbs, number
from swift_lightsync.proar.vouching.fence import Fence

MAX_PARTITION = (1 << 32) - 1
#: Logs whose ends are kept in memory, each in some 200 bytes.
REMEMBERED_LOGS = 4096
#: Seconds between two lines that tell of the same device.
REPEAT = 60


@dataclass(frozen=True)
class LagOptions(Options):
    """
    How much a primary role may hold alone before it refuses writes.

    :param max_lag_entries: operations; 0: any number
    :param max_lag_seconds: age of the oldest of them; 0: any
    """
    max_lag_entries: int = option(10000, integer(0))
    max_lag_seconds: float = option(300.0, seconds)


@dataclass(frozen=True)
class RoleWrite:
    """
    A write that is to be logged.

    :param request: the Request
    :param device: the name of the device
    :param is_bounded: whether it is refused if the device holds too much
        alone
    :param context: a LogContext
    """
    request: object
    device: str
    is_bounded: bool
    context: LogContext


class PrimaryRoleVerbs(VouchingVerbs):
    """Makes an object-server's controller log the writes of primary roles."""

    #: what this copy of the controller serves; None: any request of Swift's
    _role_write: Optional[RoleWrite] = None
    #: the updates that this copy makes
    _row_updates: Optional[RowUpdates] = None

    def setup(self, conf):
        """Set up the stock controller, and what the logs need."""
        super().setup(conf)
        self._limits = LagOptions.from_conf(conf)
        self._oplog = lru_cache(REMEMBERED_LOGS)(self._make_oplog)
        #: device -> when its log was last told of
        self._told: Dict[str, float] = {}

    @public
    def PUT(self, request):
        """Handle a PUT as stock Swift, and log it if it has a slot."""
        return super(PrimaryRoleVerbs, self._serving(request)).PUT(request)

    @public
    def POST(self, request):
        """Handle a POST as stock Swift, and log it if it has a slot."""
        return super(PrimaryRoleVerbs, self._serving(request)).POST(request)

    @public
    def DELETE(self, request):
        """Handle a DELETE as stock Swift, and log it if it has a slot."""
        return super(PrimaryRoleVerbs, self._serving(request)).DELETE(request)

    def _serving(self, request):
        """
        Return the controller that serves a request.

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
        slot = number(request, SLOT_HEADER, request.headers[SLOT_HEADER],
                       NO_SLOT - 1)
        part = number(request, 'partition', partition,
                      self._last_partition(policy))
        path = self._diskfile_router[policy].construct_dev_path(device)
        path_hash = hash_path(account, container, obj, raw_digest=True)
        kind = request.headers.get(FAILOVER_HEADER)
        fence = Fence(path, policy, self._ring(policy), part, path_hash,
                      self.logger) if kind else None
        self._refuse_ring(request, path, policy, path_hash, kind is None)
        serving = copy.copy(self)
        serving._role_write = RoleWrite(
            request, device, kind in (None, ALONE),
            LogContext(self._oplog(path, policy, part), slot, path_hash,
                       self.logger, fence))
        return serving

    def _last_partition(self, policy):
        """Return the greatest partition that a request may be of."""
        ring = self._ring(policy)
        return MAX_PARTITION if ring is None else \
            (1 << (ring.next_part_power or ring.part_power)) - 1

    def _make_oplog(self, device_path, policy, partition):
        return Oplog(log_path(device_path, policy, partition),
                     cursors_path(device_path, policy, partition),
                     self.logger)

    def get_diskfile(self, *args, **kwargs):
        """
        Return the stock diskfile, or one that logs a primary role's write.

        :raises HTTPException: 503 if the write is refused for the lag, 507 if
            it cannot be logged; no byte of its body has been asked for
        """
        disk_file = super().get_diskfile(*args, **kwargs)
        if self._role_write is None:
            return disk_file
        self._make_ready(self._role_write)
        return LoggedDiskFile(disk_file, self._role_write.context)

    def _make_ready(self, write):
        """
        Reserve all that the log needs, unless too much is held alone.

        :raises HTTPException: 503, 507
        """
        try:
            exposure = tpool.execute(write.context.oplog.reserve)
        except OSError as err:
            self._tell_of_log(write, err)
            raise HTTPInsufficientStorage(
                drive=write.device, request=write.request,
                headers={REFUSED_HEADER: LOG})
        reason = self._lag(exposure) if write.is_bounded else ''
        if reason:
            self.logger.increment('proar.refused.lag.%s' % write.device)
            raise HTTPServiceUnavailable(
                request=write.request, headers={REFUSED_HEADER: LAG},
                body='No other device holds %s' % reason)

    def _tell_of_log(self, write, err):
        self.logger.increment('proar.refused.log.%s' % write.device)
        now = time.monotonic()
        if now - self._told.get(write.device, -REPEAT) >= REPEAT:
            self._told[write.device] = now
            self.logger.error(
                'Writes of primary roles to %s are refused (507), for they '
                'cannot be logged: %s', write.device, err)

    def _lag(self, exposure):
        """Return what a device holds alone, if that is too much, or ''."""
        limits = self._limits
        if 0 < limits.max_lag_entries <= exposure.entries:
            return '%d operations, max_lag_entries is %d' % (
                exposure.entries, limits.max_lag_entries)
        age = time.time() - exposure.since if exposure.entries else 0
        if 0 < limits.max_lag_seconds < age:
            return 'an operation of %d s ago, max_lag_seconds is %g' % (
                age, limits.max_lag_seconds)
        return ''

    # Container updates

    def container_update(self, *args, **kwargs):
        """Make the updates as stock Swift, but wait for a majority only."""
        if self._role_write is None:
            return super().container_update(*args, **kwargs)
        updating = self._updating()
        super(PrimaryRoleVerbs, updating).container_update(*args, **kwargs)
        updating._row_updates.wait(self.container_update_timeout)

    def delete_at_update(self, *args, **kwargs):
        """Have expiry noted as stock Swift, but wait for a majority only."""
        if self._role_write is None:
            return super().delete_at_update(*args, **kwargs)
        updating = self._updating()
        super(PrimaryRoleVerbs, updating).delete_at_update(*args, **kwargs)
        updating._row_updates.wait()

    def _updating(self):
        updating = copy.copy(self)
        updating._row_updates = RowUpdates(self.logger)
        return updating

    def async_update(self, *args, **kwargs):
        """Make one update, now or, in a primary role's write, besides."""
        update = super().async_update
        if self._row_updates is None:
            return update(*args, **kwargs)
        self._row_updates.begin(update, *args, **kwargs)

