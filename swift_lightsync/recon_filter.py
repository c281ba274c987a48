# SPDX-License-Identifier: Apache-2.0
"""
The paste filter ``egg:swift-lightsync#recon`` of object-servers.

It answers ``GET /recon/lightsync`` with what the node's replicator has
recorded and its failure table, ``GET /recon/proar`` with what its converger
has, and passes on everything else. It has to stand before Swift's own recon
filter, which takes all of /recon/.
"""

import json
import os
import time

from swift.common.recon import DEFAULT_RECON_CACHE_PATH
from swift.common.swob import HTTPMethodNotAllowed, Request, Response
from swift.common.utils import get_logger

from swift_lightsync.common.recon_record import ReconError
from swift_lightsync.proar import lag
from swift_lightsync.report.answer import PATH, NodeAnswer, suspects
from swift_lightsync.sync.failure_store import FailureStore
from swift_lightsync.sync.recon_records import FILE, read


class _Problems:
    """A logger that raises what a FailureStore has to say."""

    @staticmethod
    def warning(message, *args):
        raise ReconError(message % args)


class LightSyncRecon:
    """
    :param app: the next app of the pipeline
    :param conf: a dict: ``recon_cache_path``, and the failure table's
        options, as the replicator has them
    :raises ValueError: if an option has a value that is not allowed
    """

    def __init__(self, app, conf):
        self.app = app
        self.conf = conf
        self.logger = get_logger(conf, log_route='lightsync-recon')
        self.source = conf.get('recon_cache_path', DEFAULT_RECON_CACHE_PATH)
        self._failures()
        self._answers = {PATH: self._replication,
                         lag.PATH: self._convergence}

    def __call__(self, env, start_response):
        answer = self._answers.get(env['PATH_INFO'])
        if not answer:
            return self.app(env, start_response)
        return self._respond(Request(env), answer)(env, start_response)

    def _failures(self):
        return FailureStore(self.conf, _Problems)

    def _respond(self, request, answer):
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

    def _convergence(self):
        return lag.read(self.source, time.time())

    def _replication(self):
        now = time.time()
        pairs, devices = read(os.path.join(self.source, FILE))
        failures = self._failures()
        failures.rejoined()
        return NodeAnswer(now, self.source, tuple(pairs.values()),
                          tuple(devices.values()),
                          tuple(suspects(failures.table, now)))


def filter_factory(global_conf, **local_conf):
    """paste.deploy filter factory"""
    conf = dict(global_conf, **local_conf)

    def lightsync_recon(app):
        return LightSyncRecon(app, conf)

    return lightsync_recon
