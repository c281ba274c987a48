# SPDX-License-Identifier: Apache-2.0
"""A versioned container as one request sees it: its names, its metadata and
the requests made on its behalf.
"""

from swift.common.http import HTTP_OK, is_success
from swift.common.storage_policy import POLICIES
from swift.common.swob import (
    HTTPConflict,
    HTTPServiceUnavailable,
    Request,
    str_to_wsgi,
    wsgi_quote,
)
from swift.common.utils import config_true_value, drain_and_close
from swift.common.wsgi import make_pre_authed_request
from swift.proxy.controllers.base import (
    clear_info_cache,
    get_cache_key,
    get_container_info,
)

from swift_lightsync.common.rowless import ROWLESS
from swift_lightsync.versioning.core.row_data import hidden_container
from swift_lightsync.versioning.data.container_headers import ENABLED, MODE
from swift_lightsync.versioning.strategies.strategy import Mode

SOURCE = 'SV'
OTHER_POLICY = 'Versions of a container of this name are in another ' \
    'storage policy.'
RESERVED_NAMES = 'X-Backend-Allow-Reserved-Names'


def path_of(account, *names):
    """Return the path of an account, a container or an object.

    :param names: of a container and perhaps an object; text
    :returns: a path as WSGI has it
    """
    return str_to_wsgi('/'.join(('/v1', account) + names))


def authorize(req, acl):
    """Refuse a request that the client may not make.

    :param acl: of the user's container; None if only owners may
    :raises HTTPException: if the request is denied
    """
    if 'swift.authorize' in req.environ:
        req.acl = acl
        denied = req.environ['swift.authorize'](req)
        if denied:
            raise denied


def internal(environ, method, path, headers=(), query='', rows=True):
    """Return a ``Request`` of our own; it needs no authorization.

    :param environ: of the request that it is made for
    :param rows: whether object-servers write rows
    """
    sent = make_pre_authed_request(
        environ, method=method, swift_source=SOURCE,
        path='%s?%s' % (wsgi_quote(path), query),
        headers=dict(headers, **{RESERVED_NAMES: 'true'}))
    # Only owners are told of access lists.
    sent.environ.update({ROWLESS: not rows, 'swift_owner': True})
    return sent


def info_of(environ, app, account, container, is_fresh=False):
    """Return what ``get_container_info`` says of a user's container itself:
    that would look the hidden one up, too, for its bytes. What other filters
    have asked in this request is not copied once more.

    :param environ: its path is of the container or an object
    :param is_fresh: whether container servers are asked, not memcache, which
        may have what was true a minute ago
    :returns: a dict
    """
    known = environ.setdefault('swift.infocache', {})
    key = get_cache_key(account, container)
    found = known.get(key)
    if found and not is_fresh:
        return dict(found, **{
            name: int(found.get(name) or 0)
            for name in ('storage_policy', 'object_count')})
    # Another thread of the request may ask for the hidden one meanwhile.
    hidden = get_cache_key(account, hidden_container(container))
    cache = {hidden: {'status': HTTP_OK}, **known}
    asking = dict(environ, **{'swift.infocache': cache})
    if is_fresh:
        cache.pop(key, None)
        asking['swift.cache'] = None
    info = get_container_info(asking, app, swift_source=SOURCE)
    known.update((key, cache[key]) for key in cache if key != hidden)
    return info


def send_internal(app, req, method, path, headers=()):
    """Send a request of our own; return the ``Response``, drained."""
    resp = internal(req.environ, method, path, headers).get_response(app)
    drain_and_close(resp)
    return resp


class VersionedContainer:
    """A user's container and the hidden container of its versions.

    :param app: the next app of the pipeline
    :param account: text
    :param container: text, the user's
    :param info: what ``get_container_info`` gave
    :param make_strategy: a function of a ``Mode`` that returns a strategy
    :param latest: the container's ``LatestCache``
    """

    def __init__(self, app, account, container, info, make_strategy=None,
                 latest=None):
        self.app = app
        self.account = account
        self.name = container
        self.info = info
        self.latest = latest
        self.make_strategy = make_strategy
        self._strategy = None
        self._sysmeta = info.get('sysmeta', {})

    @property
    def mode(self):
        """The container's ``Mode``; None if it has never been versioned."""
        found = self._sysmeta.get(MODE)
        return Mode(found) if found else None

    @property
    def enabled(self):
        return bool(self.mode) and config_true_value(
            self._sysmeta.get(ENABLED))

    @property
    def has_objects(self):
        """Whether the user's container may have objects of its own."""
        return self.info['object_count'] > 0

    @property
    def strategy(self):
        if self._strategy is None:
            self._strategy = self.make_strategy(self.mode)
        return self._strategy

    @property
    def hidden(self):
        return hidden_container(self.name)

    @property
    def path(self):
        return path_of(self.account, self.name)

    @property
    def hidden_path(self):
        return path_of(self.account, self.hidden)

    def version_path(self, name):
        """Return the path of data in the hidden container, as WSGI has it."""
        return path_of(self.account, self.hidden, name)

    def data_path(self, entry):
        """Return the path of a version's data, as WSGI has it."""
        return self.version_path(entry.data_name)

    def own_path(self, obj):
        """Return the path of an object of the user's container itself."""
        return path_of(self.account, self.name, obj)

    def forward(self, req, path, stamp=None):
        """Return a copy of a client's request that goes to where the data is.
        It is authorized already, and its answer has no CORS headers yet.

        :param path: as WSGI has it
        :param stamp: a ``Stamp`` for the object's timestamp
        :returns: a ``Request``; call ``get_response(app)``
        """
        environ = dict(req.environ)
        for name in ('HTTP_ORIGIN', 'HTTP_X_BACKEND_STORAGE_POLICY_INDEX'):
            environ.pop(name, None)
        environ.update({
            'PATH_INFO': path, 'swift.authorize': lambda req: None,
            'swift.authorize_override': True, ROWLESS: True})
        if req.method in ('GET', 'HEAD'):
            environ['swift.infocache'] = self.infocache(environ)
        sent = Request(environ)
        sent.headers[RESERVED_NAMES] = 'true'
        params = sent.params
        if params.pop('version-id', None) is not None:
            sent.params = params
        if stamp is not None:
            sent.headers['X-Timestamp'] = str(stamp)
        return sent

    def change(self, req):
        """Send a PUT, POST or DELETE of the user's container on; return the
        answer. Swift has its metadata forgotten before the change only, so
        whoever asks meanwhile would have the old ones remembered.
        """
        resp = req.get_response(self.app)
        clear_info_cache(req.environ, self.account, self.name)
        return resp

    def infocache(self, environ):
        """Return a cache that describes the hidden container like the user's,
        so that a request does not look it up.
        """
        return dict(environ.get('swift.infocache', {}), **{
            get_cache_key(self.account, self.hidden):
            dict(self.info, sysmeta={})})

    def hidden_info(self, environ):
        """Return what ``get_container_info`` says of the hidden container."""
        return get_container_info(
            internal(environ, 'HEAD', self.hidden_path).environ, self.app,
            swift_source=SOURCE)

    def keep_policy(self, req):
        """Have a PUT of a container make it in the storage policy of what is
        left of one of its name, in case other sites' versions come for it.

        :raises HTTPConflict: if it is to have another one
        """
        hidden = {} if is_success(self.info['status']) else \
            self.hidden_info(req.environ)
        if not is_success(hidden.get('status', 0)):
            return
        left = POLICIES[hidden['storage_policy']]
        wanted = req.headers.get('X-Storage-Policy') or left.name
        if (POLICIES.get_by_name(wanted) or left) != left:
            authorize(req, None)
            raise HTTPConflict(OTHER_POLICY, request=req)
        req.headers['X-Storage-Policy'] = wanted

    def strategy_of_hidden(self, environ, mode):
        """Return the strategy of a container that was deleted, or None if
        nothing is left of it.

        :param mode: if the hidden container does not tell it
        """
        info = self.hidden_info(environ)
        if not is_success(info['status']):
            return None
        found = info['sysmeta'].get(MODE)
        return self.make_strategy(Mode(found) if found else mode)

    def head(self, req, path):
        """Return the headers of an object or a container.

        :returns: the headers, or None if it is not there
        :raises HTTPException: if nobody can tell
        """
        resp = send_internal(self.app, req, 'HEAD', path)
        if resp.is_success:
            return resp.headers
        if resp.status_int != 404:
            raise HTTPServiceUnavailable(request=req)
        return None
