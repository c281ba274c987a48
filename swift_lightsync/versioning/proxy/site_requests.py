# SPDX-License-Identifier: Apache-2.0
"""
What the receiver of other sites' versions asks of the filter
(VERSIONING.md §5): strategies, and data in the hidden container.
"""

from swift.common.http import is_success
from swift.common.swob import HTTPConflict, Request
from swift.common.utils import drain_and_close

from swift_lightsync.common.rowless import ROWLESS
from swift_lightsync.versioning.core.keys import hidden_container
from swift_lightsync.versioning.proxy.container import internal, path_of
from swift_lightsync.versioning.proxy.container_context import (
    CLIENTS,
    ContainerContext,
)
from swift_lightsync.versioning.proxy.object_data import delete_data


class SiteRequests:
    """
    :param filter: the ``Versioning`` filter
    """

    def __init__(self, filter):
        self.filter = filter

    def _versioned(self, env, account, container):
        req = internal(Request(env), 'HEAD', path_of(account, container))
        return self.filter.versioned(req.environ, account, container)

    def _strategy(self, env, account, container, create=False):
        """
        :param create: make the container, and enable versions
        :returns: a strategy, or None if there are no versions
        :raises HTTPException: if they cannot be enabled
        """
        versioned = self._versioned(env, account, container)
        if not versioned.mode and create:
            self._create(env, versioned)
            versioned = self._versioned(env, account, container)
            if not versioned.mode:
                raise HTTPConflict(
                    'The container %s has just been made, try again' %
                    container)
        return versioned.strategy if versioned.mode else None

    def _forget_latest(self, env, account, container, obj):
        self._versioned(env, account, container).latest.forget(obj)

    def _create(self, env, versioned):
        path = path_of(versioned.account, versioned.name)
        method = 'POST' if is_success(versioned.info['status']) else 'PUT'
        req = internal(Request(env), method, path, {CLIENTS: 'true'})
        resp = ContainerContext(versioned, self.filter.options).respond(req)
        drain_and_close(resp)
        if not is_success(resp.status_int):
            raise resp

    def _send(self, env, method, account, container, name, headers):
        sent = internal(Request(env), method, path_of(
            account, hidden_container(container), name), headers)
        sent.environ[ROWLESS] = True
        return sent

    def _put_data(self, env, account, container, name, entry, body, headers):
        """
        :param name: of the data in the hidden container
        :param body: file-like; what it raises passes through
        :returns: a ``Response``, drained
        """
        sent = self._send(env, 'PUT', account, container, name, dict(
            headers, **{'X-Timestamp': str(entry.version.id)}))
        sent.environ['swift.content_type_overridden'] = True
        sent.environ['wsgi.input'] = body
        resp = sent.get_response(self.filter.app)
        drain_and_close(resp)
        return resp

    def _post_data(self, env, account, container, name, entry, changed,
                   headers):
        """
        :param changed: ``Stamp`` of the metadata
        :returns: a ``Response``, drained
        """
        sent = self._send(env, 'POST', account, container, name, dict(
            headers, **{'X-Timestamp': str(changed)}))
        resp = sent.get_response(self.filter.app)
        drain_and_close(resp)
        return resp

    def _delete_data(self, env, account, container, name):
        """Return whether it was there."""
        versioned = self._versioned(env, account, container)
        return delete_data(
            versioned, Request(env), versioned.version_path(name),
            self.filter.clock.tick(self.filter.now()))
