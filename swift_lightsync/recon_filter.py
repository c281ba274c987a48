# SPDX-License-Identifier: Apache-2.0
"""
The paste filter ``egg:swift-lightsync#recon`` of object-servers.

It answers ``GET /recon/lightsync`` with what the node's replicator has
recorded and with its failure table, ``GET /recon/proar`` and ``GET
/recon/proar-roles`` with what its converger has recorded, and passes on
everything else. It has to stand before Swift's own recon filter, which takes
all of /recon/.
"""

import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, Union

from swift.common.recon import DEFAULT_RECON_CACHE_PATH
from swift.common.swob import HTTPMethodNotAllowed, Request, Response
from swift.common.utils import get_logger

from swift_lightsync.proar import lag
from swift_lightsync.proar.vouching import report as roles
from swift_lightsync.report.answer import PATH, NodeAnswer, suspects
from swift_lightsync.sync.failure_store import FailureStore
from swift_lightsync.sync.recon_records import FILE, read

_App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_Answer = Union[NodeAnswer, lag.NodeLag, roles.NodeStanding]


class _Raising(logging.Logger):
    """A logger that raises each warning as an error."""

    def warning(self, msg: object, *args: object,
                **kwargs: Any) -> NoReturn:
        raise ValueError(str(msg) % args)


class LightSyncRecon:
    """
    The filter.

    :param app: the next app of the pipeline
    :param conf: a section: ``recon_cache_path`` and the options of the
        failure table, as the replicator has them
    :raises OptionError: if an option has a value that is not allowed
    """

    def __init__(self, app: _App, conf: Mapping[str, Any]) -> None:
        self.app = app
        self.conf = conf
        self.logger = get_logger(conf, log_route='lightsync-recon')
        self.source = conf.get('recon_cache_path', DEFAULT_RECON_CACHE_PATH)
        self._failures()
        self._answers: dict[str, Callable[
            [], _Answer]] = {
                PATH: self._replication, lag.PATH: self._convergence,
                roles.PATH: self._standings}

    def __call__(self, env: dict[str, Any],
                 start_response: Callable[..., Any]) -> Iterable[bytes]:
        answer = self._answers.get(env['PATH_INFO'])
        if not answer:
            return self.app(env, start_response)
        response = self._respond(Request(env), answer)
        found: Iterable[bytes] = response(env, start_response)
        return found

    def _failures(self) -> FailureStore:
        return FailureStore(self.conf, _Raising('lightsync-recon'))

    def _respond(self, request: Request,
                 answer: Callable[[], _Answer]) -> Response:
        if request.method not in ('GET', 'HEAD'):
            return HTTPMethodNotAllowed(request=request,
                                        headers={'Allow': 'GET, HEAD'})
        try:
            status, body = 200, answer().encode()
        except (ValueError, OSError) as err:
            self.logger.error('Unable to answer %s: %s', request.path, err)
            status, body = 500, json.dumps({'error': str(err)}).encode()
        return Response(request=request, status=status, body=body,
                        content_type='application/json')

    def _convergence(self) -> lag.NodeLag:
        return lag.read(self.source, time.time())

    def _standings(self) -> roles.NodeStanding:
        return roles.read(self.source, time.time())

    def _replication(self) -> NodeAnswer:
        now = time.time()
        pairs, devices = read(os.path.join(self.source, FILE))
        failures = self._failures()
        failures.rejoined()
        return NodeAnswer(now, self.source, tuple(pairs.values()),
                          tuple(devices.values()),
                          tuple(suspects(failures.table, now)))


def filter_factory(global_conf: Mapping[str, Any],
                   **local_conf: Any) -> Callable[[_App], LightSyncRecon]:
    """Return what wraps an app in the filter, as paste.deploy wants it."""
    conf = dict(global_conf, **local_conf)

    def lightsync_recon(app: _App) -> LightSyncRecon:
        return LightSyncRecon(app, conf)

    return lightsync_recon
