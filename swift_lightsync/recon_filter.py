# SPDX-License-Identifier: Apache-2.0
"""The paste filter ``egg:swift-lightsync#recon`` of object-servers and
container-servers.

It answers what the systems have recorded on the node, each at paths of its
own below /recon/ (health/HEALTH.md), and passes on everything else. It has to
stand before Swift's own recon filter, which takes all of /recon/.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from swift.common.swob import HTTPMethodNotAllowed, Request, Response
from swift.common.utils import get_logger

from swift_lightsync.health.systems import systems

#: Seconds between two logs of one error.
LOG_INTERVAL = 60

_App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class LightSyncRecon:
    """The filter.

    :param app: the next app of the pipeline
    :param conf: a section: ``recon_cache_path``, ``run_dir`` and the options
        of the failure table, as the replicator has them
    :raises OptionError: if an option has a value that is not allowed
    """

    def __init__(self, app: _App, conf: Mapping[str, Any]) -> None:
        self.app = app
        self.logger = get_logger(conf, log_route='lightsync-recon')
        self._answers: dict[str, Callable[[], bytes]] = {}
        self._logged: dict[str, float] = {}
        for system in systems():
            self._answers.update(system.routes(conf))

    def __call__(self, env: dict[str, Any],
                 start_response: Callable[..., Any]) -> Iterable[bytes]:
        answer = self._answers.get(env['PATH_INFO'])
        if not answer:
            return self.app(env, start_response)
        response = self._respond(Request(env), answer)
        found: Iterable[bytes] = response(env, start_response)
        return found

    def _respond(self, request: Request,
                 answer: Callable[[], bytes]) -> Response:
        if request.method not in ('GET', 'HEAD'):
            return HTTPMethodNotAllowed(request=request,
                                        headers={'Allow': 'GET, HEAD'})
        try:
            status, body = 200, answer()
        except (ValueError, OSError) as err:
            self._log('Unable to answer %s: %s' % (request.path, err))
            status, body = 500, json.dumps({'error': str(err)}).encode()
        return Response(request=request, status=status, body=body,
                        content_type='application/json')

    def _log(self, line: str) -> None:
        """Log an error, at most once a minute."""
        now = time.monotonic()
        if now - self._logged.get(line, -LOG_INTERVAL) >= LOG_INTERVAL:
            self._logged = {line: now}
            self.logger.error('%s', line)


def filter_factory(global_conf: Mapping[str, Any],
                   **local_conf: Any) -> Callable[[_App], LightSyncRecon]:
    """Return what wraps an app in the filter, as paste.deploy wants it."""
    conf = dict(global_conf, **local_conf)

    def lightsync_recon(app: _App) -> LightSyncRecon:
        return LightSyncRecon(app, conf)

    return lightsync_recon
