# SPDX-License-Identifier: Apache-2.0
"""
The object-server's side of primary-role writes. PROTOCOL.md, "Writes".

PUT, POST and DELETE stay stock Swift's. If a request has a slot, the diskfile
that :meth:`get_diskfile` returns to them logs what they do to it.
"""

import os
import re
import time
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from swift.common.concurrency import tpool
from swift.common.storage_policy import REPL_POLICY
from swift.common.swob import (
    HTTPBadRequest,
    HTTPInsufficientStorage,
    HTTPServiceUnavailable,
    Request,
)
from swift.common.utils import Timestamp, config_true_value, hash_path
from swift.obj.server import ObjectController

from swift_lightsync.common.options import Options, integer, option, seconds
from swift_lightsync.common.quiet_logger import QuietLogger
from swift_lightsync.proar.core.oplog import NO_SLOT, Entry, Op
from swift_lightsync.proar.log.device_log import DeviceLog
from swift_lightsync.proar.log.logged_diskfile import (
    LogContext,
    LoggedDiskFile,
)
from swift_lightsync.proar.names import (
    FAILOVER_HEADER,
    LAG,
    REFUSED_HEADER,
    SLOT_HEADER,
)
from swift_lightsync.proar.row_updates import LOGGED, Logged, RowUpdates

MAX_PARTITION = (1 << 32) - 1
OPS = {'PUT': Op.MODIFY, 'POST': Op.MODIFY, 'DELETE': Op.DELETE}

#: The WSGI environment that this greenlet serves.
_served: 'ContextVar[Any]' = ContextVar('served', default=None)


@dataclass(frozen=True)
class LagOptions(Options):
    """
    How much a primary role may hold alone before it refuses writes.

    :param max_lag_entries: operations; 0: any number
    :param max_lag_seconds: age of the oldest of them; 0: any
    """
    max_lag_entries: int = option(10000, integer(0))
    max_lag_seconds: float = option(300.0, seconds)

    def exceeded(self, exposure, now):
        """
        Return which bound an Exposure exceeds, '' if none.

        :param now: Unix time in seconds
        """
        if 0 < self.max_lag_entries <= exposure.entries:
            return '%d operations, max_lag_entries is %d' % (
                exposure.entries, self.max_lag_entries)
        if exposure.since is not None and \
                0 < self.max_lag_seconds < now - exposure.since:
            return 'an operation of %d s ago, max_lag_seconds is %g' % (
                now - exposure.since, self.max_lag_seconds)
        return ''


class PrimaryRoleVerbs(RowUpdates, ObjectController):
    """Makes an object-server's controller log the writes of primary roles."""

    def setup(self, conf):
        """Set up the stock controller, and what the logs need."""
        super().setup(conf)
        self._limits = LagOptions.from_conf(conf)
        self._quiet = QuietLogger(self.logger)
        self._log = lru_cache(None)(self._make_log)

    def __call__(self, env, start_response):
        token = _served.set(env)
        try:
            return super().__call__(env, start_response)
        finally:
            _served.reset(token)

    def get_diskfile(self, device, partition, account, container, obj,
                     policy, **kwargs):
        """
        Return the stock diskfile, or one that logs a primary role's write.

        :raises HTTPException: 400 for a slot or a partition that cannot be
            one, 503 if the write is refused for the lag, 507 if it cannot be
            logged
        """
        request = _primary_role_write(policy)
        disk_file = super().get_diskfile(device, partition, account,
                                         container, obj, policy, **kwargs)
        if request is None:
            return disk_file
        # A process that was forked writes a segment of its own.
        log = self._log(os.getpid(), self._diskfile_router[
            policy].construct_dev_path(device))
        entry = _entry(request, partition, policy, hash_path(
            account, container, obj, raw_digest=True))
        if FAILOVER_HEADER not in request.headers:
            self._refuse_for_lag(request, device, log)
        request.environ[LOGGED] = Logged(log, entry)
        return LoggedDiskFile(disk_file, LogContext(
            self._begin(request, device, log, entry), self._quiet))

    def _make_log(self, _, device_path):
        return DeviceLog(device_path, self._quiet)

    def _begin(self, request, device, log, entry):
        """
        Return the Intent of a write.

        :raises HTTPException: 507 if it cannot be logged
        """
        try:
            return log.begin(entry) if log.is_ready() else tpool.execute(
                log.begin, entry)
        except OSError as err:
            self.logger.increment('proar.refused.log.%s' % device)
            self._quiet.error_of(
                (device, err.errno), 'Unable to log writes on %s: %s',
                device, err)
            raise HTTPInsufficientStorage(request=request, drive=device)

    def _refuse_for_lag(self, request, device, log):
        """
        Refuse a write to a device that already holds too much alone.

        :raises HTTPException: 503 if the device alone holds more operations
            than it may, or has done so for longer
        """
        exposure = log.estimate()
        if exposure is None or self._limits.exceeded(exposure, time.time()):
            try:
                exposure = tpool.execute(log.exposure)
            except OSError as err:
                self._quiet.error_of(
                    (device, err.errno), 'Unable to read the log of %s: %s',
                    device, err)
                raise HTTPInsufficientStorage(request=request, drive=device)
        reason = self._limits.exceeded(exposure, time.time())
        if reason:
            self.logger.increment('proar.refused.lag.%s' % device)
            raise HTTPServiceUnavailable(
                request=request, headers={REFUSED_HEADER: LAG},
                body='No other device holds %s' % reason)


def _primary_role_write(policy):
    """
    Return the Request that is served, if it is a primary role's write.

    :returns: the Request, or None, as for requests of replication
    :raises HTTPException: 400 if the policy has no primary roles
    """
    env = _served.get()
    if env is None or env['REQUEST_METHOD'] not in OPS:
        return None
    request = Request(env)
    if SLOT_HEADER not in request.headers or config_true_value(
            request.headers.get('X-Backend-Replication')):
        return None
    if policy.policy_type != REPL_POLICY:
        raise HTTPBadRequest(
            request=request, body='%s: policy %s is of type %s, must be %s'
            % (SLOT_HEADER, policy.name, policy.policy_type, REPL_POLICY))
    return request


def _entry(request, partition, policy, path_hash):
    """
    Return the Entry of a write.

    :raises HTTPException: 400 for a slot or a partition that cannot be one
    """
    timestamp = Timestamp(request.headers['X-Timestamp'])
    return Entry(
        OPS[request.method],
        _number(request, SLOT_HEADER, request.headers[SLOT_HEADER],
                NO_SLOT - 1),
        int(policy), _number(request, 'partition', partition, MAX_PARTITION),
        path_hash, timestamp.raw, timestamp.offset, int(time.time() * 1e6))


def _number(request, name, text, most):
    """
    Return a request's number of 0 to most.

    :raises HTTPException: 400 if the text is no such number
    """
    if not re.fullmatch('[0-9]{1,10}', text) or int(text) > most:
        raise HTTPBadRequest(
            request=request, body='%s: %.80s, must be a whole number, 0 to %d'
            % (name, text, most))
    return int(text)
