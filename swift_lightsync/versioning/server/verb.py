# SPDX-License-Identifier: Apache-2.0
"""The verb VERSION of the container server (VERSIONING.md §4), and containers
that have their metadata from the first moment.
"""

import json
import logging
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from swift.common.base_storage_server import timing_stats
from swift.common.concurrency import Timeout
from swift.common.constraints import check_drive
from swift.common.db import DatabaseBroker
from swift.common.exceptions import LockTimeout
from swift.common.http import HTTP_OK
from swift.common.request_helpers import is_sys_or_user_meta
from swift.common.swob import (
    HTTPBadRequest,
    HTTPConflict,
    HTTPException,
    HTTPInsufficientStorage,
    HTTPInternalServerError,
    HTTPLengthRequired,
    HTTPNotFound,
    HTTPRequestEntityTooLarge,
    HTTPServiceUnavailable,
    Request,
    Response,
    wsgi_to_str,
)
from swift.common.utils import Timestamp, get_log_line, public
from swift.container.backend import ContainerBroker
from swift.container.server import (
    ContainerController,
    get_container_name_and_placement,
)

from swift_lightsync.common.options import number, read_option
from swift_lightsync.versioning.core import verb
from swift_lightsync.versioning.core.row_data import RESERVED, UNUSED, VERSIONS
from swift_lightsync.versioning.server.databases import KeptDatabases
from swift_lightsync.versioning.server.replica import answer, has_rows


def _is_utf8(path: str) -> bool:
    """Check the bytes of a path, which WSGI has as Latin-1."""
    try:
        path.encode('latin-1').decode('utf-8')
    except UnicodeError:
        return False
    return True


class VersionVerb(ContainerController):
    """A mixin of container servers: the verb VERSION, and strict listings of
    hidden containers.

    :param conf: of [app:container-server]: ``max_clock_skew``, seconds that
        a proxy's clock may differ from this server's
    """

    def __init__(self, conf: Mapping[str, Any], logger: Any = None) -> None:
        super().__init__(conf, logger)
        self.max_clock_skew = read_option(
            conf, 'max_clock_skew', '60', number(0, 86400))
        self._databases = KeptDatabases()

    def __call__(self, env: dict[str, Any], start_response: Any) -> Any:
        """Answer a request. One of the verb that succeeds is logged only for
        debugging, like replication: a GET of a client makes two, and its proxy
        logs it.
        """
        if env['REQUEST_METHOD'] != 'VERSION' or \
                self.logger.isEnabledFor(logging.DEBUG) or \
                not _is_utf8(env['PATH_INFO']):
            return super().__call__(env, start_response)
        req, begin = Request(env), time.time()
        self.logger.txn_id = env.get('HTTP_X_TRANS_ID')
        try:
            resp = self.VERSION(req)
        except (Exception, Timeout):
            self.logger.exception('VERSION %s', req.path)
            resp = HTTPInternalServerError(request=req)
        if self.log_requests and resp.status_int != HTTP_OK:
            self.logger.info(get_log_line(
                req, resp, time.time() - begin, '', self.log_format,
                self.anonymization_method, self.anonymization_salt))
        return resp(env, start_response)

    @public
    @timing_stats()
    def VERSION(self, req: Request) -> Response:
        """Take rows of versions, and tell what is the newest.

        :param req: its body is a ``verb.Request``
        """
        drive, part, account, container = \
            get_container_name_and_placement(req)
        try:
            check_drive(self.root, drive, self.mount_check)
        except ValueError:
            return HTTPInsufficientStorage(drive=drive, request=req)
        try:
            asked = self._asked(req)
        except ValueError as err:
            raise HTTPBadRequest(request=req, body=str(err)) from err
        if asked.rows and not self.check_free_space(drive):
            return HTTPInsufficientStorage(drive=drive, request=req)
        wrong = self._wrong_clock(asked.clock)
        if wrong:
            return HTTPConflict(request=req, body=wrong,
                                content_type='application/json')
        try:
            told = answer(self._get_container_broker(
                drive, part, account, container), asked, self._databases)
        except LockTimeout as err:
            return HTTPServiceUnavailable(request=req, body=str(err))
        except ValueError as err:
            raise HTTPBadRequest(request=req, body=str(err)) from err
        if told is None:
            return HTTPNotFound(request=req)
        return Response(request=req, body=told,
                        content_type='application/json')

    def DELETE_container(self, req: Request, account: str, container: str,
                         req_timestamp: Timestamp, broker: ContainerBroker
                         ) -> Response:
        """Delete a container, unless it was made or changed since: Swift
        refuses that, too, but clears its metadata. A hidden one is
        deleted only if it has no live version: those below a delete marker do
        not count as objects; where it is said to be unused, not even a record.
        """
        prefix = '' if UNUSED in req.headers else VERSIONS
        if os.path.exists(broker.db_file) and not broker.is_deleted() and (
                req_timestamp <= Timestamp(
                    broker.get_info()['put_timestamp']) or
                container.startswith(RESERVED) and has_rows(broker, prefix)):
            return HTTPConflict(request=req)
        return super().DELETE_container(req, account, container,
                                        req_timestamp, broker)

    @staticmethod
    def _asked(req: Request) -> verb.Request:
        if req.content_length is None:
            raise HTTPLengthRequired(request=req)
        if req.content_length > verb.MAX_BODY:
            raise HTTPRequestEntityTooLarge(request=req)
        body = req.environ['wsgi.input'].read(req.content_length)
        if len(body) != req.content_length:
            raise HTTPBadRequest(request=req, body='the body is cut off')
        return verb.read(verb.Request, body, verb.MAX_BODY)

    def _wrong_clock(self, clock: float | None) -> bytes:
        """Say what is wrong with the clock of a sender; empty: nothing is."""
        now = time.time()
        if clock is None or abs(clock - now) <= self.max_clock_skew:
            return b''
        return json.dumps({
            'clock': now, 'error': 'the clock of the sender is %.3f s %s, '
            'at most %s s either way are accepted' % (
                abs(clock - now), 'ahead' if clock > now else 'behind',
                self.max_clock_skew)}).encode('ascii')

    def _get_container_broker(self, drive: str, part: str, account: str,
                              container: str, **kwargs: Any) -> Any:
        if container.startswith(RESERVED):
            # What is not merged yet must not be left out of a listing.
            kwargs.pop('stale_reads_ok', None)
            kwargs.pop('pending_timeout', None)
        return super()._get_container_broker(drive, part, account,
                                             container, **kwargs)


class Creation(ContainerController):
    """Makes containers together with their metadata.

    Swift makes a database, or revives a deleted one, and stores its metadata
    afterwards. Who asks in between is told of a container without versions, a
    proxy remembers that for a minute, and what clients write meanwhile
    overwrites what should have become a version.
    """

    def _update_or_create(self, req: Request, broker: ContainerBroker,
                          timestamp: str, new_container_policy: int,
                          requested_policy_index: int | None) -> bool:
        if not os.path.exists(broker.db_file):
            metadata = {
                wsgi_to_str(key): (wsgi_to_str(value), timestamp)
                for key, value in req.headers.items()
                if key.lower() in self.save_headers
                or is_sys_or_user_meta('container', key)}
            # Swift refuses others later, and has made the container then.
            with suppress(HTTPException):
                DatabaseBroker.validate_metadata(metadata)
                broker._initialize = partial(  # noqa: SLF001
                    _initialize, broker._initialize, metadata)
        elif broker.is_deleted() and \
                timestamp > broker.get_info()['delete_timestamp']:
            # It stays deleted until it has them.
            self._update_metadata(req, broker, Timestamp(timestamp), 'PUT')
        created: bool = super()._update_or_create(
            req, broker, timestamp, new_container_policy,
            requested_policy_index)
        return created


def _initialize(initialize: Callable[..., None], metadata: Mapping[str, Any],
                conn: Any, *args: Any, **kwargs: Any) -> None:
    """Fill a new database, which nobody sees yet, with metadata, too."""
    initialize(conn, *args, **kwargs)
    conn.execute('UPDATE container_stat SET metadata = ?',
                 (json.dumps(metadata),))
