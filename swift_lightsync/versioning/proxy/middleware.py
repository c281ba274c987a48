# SPDX-License-Identifier: Apache-2.0
"""The filter ``egg:swift-lightsync#versioning``: Swift's object versioning
API, on Write-Repair and Read-Repair (VERSIONING.md).

It stands right of symlink, slo and dlo, whose objects it keeps versions of,
and left of encryption; the app at the end of the pipeline has to be
``egg:swift-lightsync#proxy``, which writes data without rows.
"""

import time
from collections import OrderedDict
from functools import partial
from socket import gethostname

from swift.common.constraints import check_utf8, valid_api_version
from swift.common.http import is_server_error
from swift.common.middleware.crypto.encrypter import Encrypter
from swift.common.middleware.dlo import DynamicLargeObject
from swift.common.middleware.slo import StaticLargeObject
from swift.common.middleware.symlink import SymlinkMiddleware
from swift.common.middleware.versioned_writes.legacy import (
    VersionedWritesMiddleware,
)
from swift.common.middleware.versioned_writes.object_versioning import (
    ObjectVersioningMiddleware,
)
from swift.common.registry import register_swift_info
from swift.common.swob import (
    HTTPBadRequest,
    HTTPException,
    HTTPNotFound,
    HTTPServiceUnavailable,
    Request,
    wsgi_to_str,
)
from swift.common.utils import cache_from_env, get_logger
from swift.proxy.controllers.base import get_account_info

from swift_lightsync.common.options import OptionError
from swift_lightsync.proxy_server import Application
from swift_lightsync.versioning.data.container import (
    SOURCE,
    VersionedContainer,
    info_of,
)
from swift_lightsync.versioning.proxy import account_context
from swift_lightsync.versioning.proxy.container_context import ContainerContext
from swift_lightsync.versioning.proxy.latest_cache import LatestCache
from swift_lightsync.versioning.proxy.object_context import NULL, ObjectContext
from swift_lightsync.versioning.proxy.site_requests import SiteRequests
from swift_lightsync.versioning.proxy.version_context import (
    VersionContext,
    parse_id,
)
from swift_lightsync.versioning.rows.rows import (
    ClockRefused,
    Rows,
    RowsUnavailable,
)
from swift_lightsync.versioning.sites.options import FilterOptions
from swift_lightsync.versioning.sites.receiver import Receiver
from swift_lightsync.versioning.strategies.strategy import STRATEGIES

#: The swift.source of requests to what a symlink points to.
SYMLINK = 'SYM'
#: Filters whose objects versions are kept of: they stand left of ours.
LEFT = (SymlinkMiddleware, StaticLargeObject, DynamicLargeObject,
        VersionedWritesMiddleware)


def check_pipeline(pipeline, own):
    """Check what else is in a pipeline, and on which side of the filter.

    :param pipeline: apps, the first one as clients meet it
    :param own: the filter, one of these
    :raises OptionError: if versions would be kept wrongly
    """
    place = pipeline.index(own)
    # Swift makes two filters of some sections.
    left = [each for app in pipeline[:place]
            for each in (app, getattr(app, 'app', None))]
    if any(isinstance(app, Encrypter) for app in left):
        raise _wrong('left of encryption')
    if any(isinstance(app, ObjectVersioningMiddleware) for app in left):
        raise OptionError('[filter:versioned_writes]: allow_object_versioning '
                          'has to be false beside the filter versioning')
    if any(isinstance(app, LEFT) for app in pipeline[place:]):
        raise _wrong('right of symlink, slo, dlo and versioned_writes')
    if not isinstance(pipeline[-1], Application):
        raise OptionError(
            'versioning needs egg:swift-lightsync#proxy at the end of the '
            'pipeline, not %s.%s' % (type(pipeline[-1]).__module__,
                                     type(pipeline[-1]).__name__))


def _wrong(where):
    return OptionError('[pipeline:main]: the filter versioning has to stand '
                       '%s' % where)


class Versioning:
    """The filter: answers requests to versioned containers and their objects.

    :param app: the next app of the pipeline
    :param conf: a dict: options of ``FilterOptions``
    :param now: returns the wall time in seconds
    :raises OptionError: if an option has a value that is not allowed
    """

    def __init__(self, app, conf, logger=None, now=time.time):
        self.app = app
        self.conf = conf
        self.logger = logger or get_logger(conf, log_route='versioning')
        self.now = now
        self.options = FilterOptions.from_conf(conf)
        sites = self.options.sites
        self.has_peers = bool(sites.peers())
        self.clock = sites.clock(self.options.max_clock_skew)
        #: which versions were the latest a moment ago
        self.near = OrderedDict()
        self.receiver = Receiver(
            conf, sites.site, self.clock, self.logger,
            helper=SiteRequests(self), now=now)

    # Swift's loader tells each app of the pipeline in which it stands.
    _pipeline = property(fset=lambda self, told: check_pipeline(told, self))

    def __getattr__(self, name):
        # What get_container_info looks for; Swift's loader sets them.
        if name in ('_pipeline_final_app', '_pipeline_request_logging_app'):
            return getattr(self.app, name)
        raise AttributeError(name)

    def __call__(self, env, start_response):
        req = Request(env)
        try:
            names = req.split_path(2, 4, True)
        except ValueError:
            return self.app(env, start_response)
        # What the proxy refuses it refuses with or without versions.
        if not valid_api_version(names[0]) or not check_utf8(
                wsgi_to_str(req.path_info),
                internal=req.allow_reserved_names):
            return self.app(env, start_response)
        account, container, obj = (
            name and wsgi_to_str(name) for name in names[1:])
        try:
            resp = self._respond(req, account, container, obj)
        except HTTPException as answer:
            resp = answer
        except RowsUnavailable as err:
            self.logger.error('Rows of versions: %s', err)
            self.logger.increment('rows.unavailable')
            resp = HTTPNotFound(request=req) if err.missing else \
                HTTPServiceUnavailable(request=req)
        except ClockRefused as err:
            self.logger.error(
                'A write is refused since the clock of this proxy, %s, '
                'differs from those of the container servers: %s',
                gethostname(), err)
            self.logger.increment('clock.refused')
            resp = HTTPServiceUnavailable(request=req)
        return resp(env, start_response)

    def _respond(self, req, account, container, obj):
        if not obj and self.receiver.handles(req):
            return self.receiver(req)
        if not container:
            return account_context.respond(self.app, account, req)
        # A change of what memcache has without versions, or not at all, would
        # be acknowledged and recorded nowhere.
        versioned = self.versioned(
            req.environ, account, container,
            not obj and req.method in ('PUT', 'POST', 'DELETE'))
        if not obj:
            return ContainerContext(versioned, self.options,
                                    self.logger).respond(req)
        return self._respond_for_object(req, versioned, obj)

    def _respond_for_object(self, req, versioned, obj):
        wanted = req.params.get('version-id')
        if req.environ.get('swift.source') == SYMLINK:
            # It is the link's, and not that of what it points to.
            wanted = None
        if wanted:
            self._check_version(req, versioned, wanted)
        if not versioned.mode or req.method not in ObjectContext.VERBS:
            return self.app
        args = versioned, obj, self.now, self._pipeline_final_app
        context = VersionContext(wanted, *args) if wanted \
            else ObjectContext(*args)
        try:
            return context.respond(req)
        finally:
            if req.method not in ('GET', 'HEAD'):
                versioned.latest.forget(obj)

    @staticmethod
    def _check_version(req, versioned, wanted):
        """
        Raise HTTPBadRequest if no version can have the id that is asked for.
        """
        if req.method == 'POST':
            raise HTTPBadRequest('POST to a specific version is not allowed',
                                 request=req)
        if wanted == NULL:
            if req.method == 'PUT':
                raise HTTPBadRequest('Invalid version parameter',
                                     request=req)
            return
        if not versioned.mode:
            raise HTTPBadRequest(
                'version-aware operations require that the container is '
                'versioned', request=req)
        parse_id(req, wanted)

    def versioned(self, environ, account, container, is_fresh=False):
        """Return a container with what Swift knows about its versions.

        :param environ: its path may be of another container or an object
        :param is_fresh: as of ``info_of``
        :returns: a ``VersionedContainer``
        :raises HTTPServiceUnavailable: if nobody can tell whether it is
            versioned, since treating it as unversioned would be wrong
        """
        info = info_of(environ, self.app, account, container, is_fresh)
        # It is 0 where nothing is known of the account.
        status = info['status'] or get_account_info(
            environ, self.app, swift_source=SOURCE)['status']
        if is_server_error(status):
            raise HTTPServiceUnavailable(request=Request(environ))
        return VersionedContainer(
            self.app, account, container, info,
            partial(self.strategy, environ, account, container),
            LatestCache(cache_from_env(environ, True), account, container,
                        self.options.latest_hint_time,
                        self.options.latest_cache_time, self.near))

    def strategy(self, environ, account, container, mode):
        """Return the strategy of a container in a ``Mode``."""
        rows = Rows(self._pipeline_final_app, self.logger, account, container,
                    environ.get('swift.trans_id'))
        return STRATEGIES[mode](rows, self.clock, self.options.sites.site,
                                self.now, self.has_peers)


def filter_factory(global_conf, **local_conf):
    """Make the filter, as paste.deploy asks for it."""
    conf = dict(global_conf, **local_conf)
    options = FilterOptions.from_conf(conf)
    # s3api asks for Swift's.
    register_swift_info('object_versioning')
    register_swift_info(
        'site_versioning', site=options.sites.site, mode=options.mode.value,
        allow_versioning=options.allow_versioning,
        latest_cache_time=options.latest_cache_time)

    def versioning_filter(app):
        return Versioning(app, conf)
    return versioning_filter
