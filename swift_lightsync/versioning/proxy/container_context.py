# SPDX-License-Identifier: Apache-2.0
"""Requests to a container: its versions are enabled or suspended, and kept for
so long.
"""

from swift.common.constraints import MAX_CONTAINER_NAME_LENGTH
from swift.common.http import HTTP_CONFLICT, is_success
from swift.common.storage_policy import POLICIES
from swift.common.swob import (
    HTTPBadRequest,
    HTTPConflict,
    HTTPInternalServerError,
    HTTPPreconditionFailed,
    HTTPServiceUnavailable,
    str_to_wsgi,
)
from swift.common.utils import config_true_value

from swift_lightsync.common.options import integer
from swift_lightsync.versioning.core.life import EXPIRE, KEEP, as_of
from swift_lightsync.versioning.core.row_data import UNUSED
from swift_lightsync.versioning.data.container import (
    OTHER_POLICY,
    authorize,
    send_internal,
)
from swift_lightsync.versioning.data.container_headers import (
    ENABLED,
    MODE,
    POLICY,
    STOCK_CONTAINER,
    described,
    enabled_headers,
    mode_headers,
    sysmeta,
)
from swift_lightsync.versioning.proxy.container_deletion import (
    ContainerDeletion,
    next_life,
)
from swift_lightsync.versioning.proxy.container_listing import ContainerListing
from swift_lightsync.versioning.rows.rows import VerbMissing

CLIENTS = 'X-Versions-Enabled'
#: How long noncurrent versions are kept: the client's header, the container's,
#: and what is allowed.
_LIFECYCLE = (
    ('X-Versions-Keep', KEEP, integer(1, 10 ** 6)),
    ('X-Versions-Expire-Noncurrent', EXPIRE, integer(1, 36500)))
#: How the names of headers begin that change a container.
_METADATA = ('x-container-', 'x-remove-container-', 'x-versions-')
_SHOWN = ((sysmeta(ENABLED), CLIENTS),) + tuple(
    (ours, clients) for clients, ours, _ in _LIFECYCLE)


def _has_metadata(req):
    """Check whether a PUT or POST may change the container's metadata."""
    return any(name.lower().startswith(_METADATA) for name in req.headers)


class ContainerContext:
    """Answers a request to a container.

    :param versioned: the ``VersionedContainer``
    :param options: ``FilterOptions``
    :param logger: of the filter
    """

    def __init__(self, versioned, options, logger):
        self.versioned = versioned
        self.options = options
        self.logger = logger
        # Whether there is a new hidden container that nothing belongs to yet.
        self._made = False

    def respond(self, req):
        """Answer a request: enable or suspend versioning, delete, list, or
        pass on.

        :returns: a ``Response``
        :raises HTTPException: if the request is refused
        :raises RowsUnavailable: if too few replicas give the rows
        """
        if req.method in ('PUT', 'POST'):
            try:
                resp = self._change(req)
            finally:
                if self._made:
                    self._delete_hidden(req)
        elif req.method == 'DELETE' and self.versioned.mode:
            resp = ContainerDeletion(self.versioned).respond(req)
        elif req.method in ('GET', 'HEAD'):
            resp = ContainerListing(self.versioned).respond(req)
        else:
            resp = req.get_response(self.versioned.app)
        for ours, clients in _SHOWN:
            if resp.headers.get(ours):
                resp.headers[clients] = resp.headers[ours]
        return resp

    # PUT, POST

    def _change(self, req):
        """Enable or suspend versions, or change the container's metadata."""
        strategy = self.versioned.mode and self.versioned.strategy
        if CLIENTS in req.headers:
            wanted = config_true_value(req.headers[CLIENTS])
            req.headers[CLIENTS] = 'true' if wanted else 'false'
            if wanted:
                # Swift makes accounts with their first container.
                authorize(req, None)
                strategy = self._enabled_strategy(req, self.make_hidden(req))
                req.headers.update(mode_headers(self._mode.value,
                                                self.versioned.hidden))
            else:
                self._refuse_others(req)
            req.headers.update(enabled_headers(wanted))
        if not strategy and req.method == 'PUT':
            self.versioned.keep_policy(req)
        self._store_lifecycle(req, strategy)
        life = self._next_life(req, strategy) \
            if strategy and _has_metadata(req) else None
        resp = self.versioned.change(req)
        if resp.status_int == HTTP_CONFLICT and not strategy:
            resp = self._put_again(req) or resp
        if is_success(resp.status_int):
            self._made = False
            if strategy and (life or resp.status_int == 201):
                strategy.set_life(self._described(
                    req, life or next_life(strategy, True),
                    resp.status_int == 201))
        return resp

    def _next_life(self, req, strategy):
        """Return the ``Life`` of a change; let Swift do it as of that.

        :raises ClockRefused: before Swift takes what could not be recorded,
            and what nobody could change until the time of a wrong clock
        :raises HTTPBadRequest: if there is too much to record
        """
        strategy.checked()
        life = next_life(strategy, True)
        try:
            self._before(req, life).changed(req.headers.items())
        except ValueError as err:
            authorize(req, None)
            raise HTTPBadRequest('The metadata that sites have in common are '
                                 'too much: %s' % err, request=req)
        req.headers.update(life.as_of)
        return life

    def _before(self, req, life):
        """Return the record of a change, with what the container is before.

        :raises ValueError: if that is too much
        """
        if self._is_recorded(life):
            return life
        own = self.versioned.head(req, self.versioned.path)
        return life.anew() if own is None else life.describing(described(own))

    def _described(self, req, life, made):
        """Return the record of a change that Swift has made, with what the
        container is now.

        :param made: whether there was none before
        """
        if not made and not self._is_recorded(life):
            return life.describing(described(
                self.versioned.head(req, self.versioned.path) or {}))
        return (life.anew() if made else life).changed(req.headers.items())

    def _is_recorded(self, life):
        """Check that a record is not only of a container that was deleted."""
        return self.versioned.mode and life.described

    def _put_again(self, req):
        """Put a container after its deletion, where another site's clock was
        ahead: Swift would refuse that until the time which it said.

        :returns: a ``Response``, or None if it was not deleted so
        """
        strategy = self.versioned.strategy_of_hidden(req.environ, self._mode)
        life = strategy and strategy.life()
        if not life or life.exists:
            return None
        req.headers.update(as_of(strategy.tick(life.stamp)))
        return self.versioned.change(req)

    @property
    def _mode(self):
        return self.versioned.mode or self.options.mode

    def _store_lifecycle(self, req, strategy):
        """Store how long noncurrent versions are kept.

        :raises HTTPBadRequest: if it cannot be kept so
        """
        for header, ours, parse in _LIFECYCLE:
            value = req.headers.get(header)
            if value is None:
                continue
            # Who may not know the container is not told whether it has any.
            authorize(req, None)
            if not strategy:
                raise HTTPBadRequest('%s: the container has no versions' %
                                     header, request=req)
            try:
                req.headers[ours] = value and str(parse(value))
            except ValueError as err:
                raise HTTPBadRequest(
                    '%s: %.60s: %s. %s: 1 keeps old versions for a day only' %
                    (header, value, err, _LIFECYCLE[-1][0]), request=req)

    def _refuse_others(self, req):
        """Raise HTTPBadRequest if Swift versions the container or syncs it."""
        info = self.versioned.info
        found = info.get('sysmeta', {})
        for is_so, what in (
                (found.get('versions-location') or info.get('versions'),
                 'that is already using the legacy versioned writes feature'),
                (found.get(STOCK_CONTAINER) and not self.versioned.mode,
                 'whose versions are kept by the versioned_writes filter'),
                (info.get('sync_to'),
                 'configured as source of container syncing')):
            if is_so:
                raise HTTPBadRequest('Cannot enable object versioning on a '
                                     'container %s.' % what, request=req)

    def make_hidden(self, req):
        """Make the hidden container; return the index of its storage policy.

        :param req: a PUT or POST of the user's container
        :raises HTTPException: if that may not have versions
        """
        self._refuse_others(req)
        if not self.versioned.mode and not self.options.allow_versioning:
            raise HTTPPreconditionFailed(
                'Object versioning is disabled', request=req)
        self._check_name(req)
        resp = send_internal(self.versioned.app, req, 'PUT',
                             self.versioned.hidden_path, {
                                 **self._policy(req),
                                 sysmeta(MODE): self._mode.value})
        if resp.status_int == HTTP_CONFLICT:
            raise HTTPConflict(OTHER_POLICY, request=req)
        if not is_success(resp.status_int):
            raise HTTPInternalServerError(
                'Error enabling object versioning', request=req)
        self._made = resp.status_int == 201
        return int(resp.headers[POLICY])

    def _enabled_strategy(self, req, policy):
        """Return the strategy of a container whose hidden one is there.

        :raises HTTPServiceUnavailable: if its container servers are Swift's
        """
        if not self._made and not is_success(self.versioned.info['status']):
            # That of a container that was deleted: data are looked for in
            # the storage policy of the user's.
            req.headers['X-Storage-Policy'] = POLICIES[policy].name
        strategy = self.versioned.make_strategy(self._mode)
        try:
            strategy.rows.check_verb()
        except VerbMissing as err:
            self.logger.error('Versions of %s/%s are not enabled: %s',
                              self.versioned.account, self.versioned.name,
                              err)
            raise HTTPServiceUnavailable(
                'Object versioning is not enabled: %s' % err, request=req)
        return strategy

    def _check_name(self, req):
        """Raise HTTPBadRequest if the hidden container's name is too long."""
        length, hidden = (len(str_to_wsgi(name)) for name in (
            self.versioned.name, self.versioned.hidden))
        most = MAX_CONTAINER_NAME_LENGTH - (hidden - length)
        if length > most:
            raise HTTPBadRequest(
                'Container name length of %d longer than %d, which is the '
                'most where objects have versions' % (length, most),
                request=req)

    def _policy(self, req):
        """Return a dict, the header that names the storage policy."""
        info = self.versioned.info
        if is_success(info['status']):
            policy = POLICIES[info['storage_policy']]
            if policy.is_deprecated:
                # Who may not know the container is not told of its policy.
                authorize(req, None)
                raise HTTPBadRequest(
                    'Cannot enable object versioning on a container that '
                    'uses a deprecated storage policy.', request=req)
            return {'X-Storage-Policy': policy.name}
        if req.method == 'PUT' and 'X-Storage-Policy' in req.headers:
            return {'X-Storage-Policy': req.headers['X-Storage-Policy']}
        return {}

    def _delete_hidden(self, req):
        """Leave nothing of an attempt that failed, unless another one has
        succeeded meanwhile, or another site has sent something.
        """
        own = self.versioned.head(req, self.versioned.path) or {}
        if own.get(sysmeta(MODE)):
            return
        send_internal(self.versioned.app, req, 'DELETE',
                      self.versioned.hidden_path, {UNUSED: 'true'})
