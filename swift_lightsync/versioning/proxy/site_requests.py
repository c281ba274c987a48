# SPDX-License-Identifier: Apache-2.0
"""
Requests that the receiver of other sites' versions makes through the filter
(VERSIONING.md §5): for strategies, and for data in the hidden container.
"""

from swift.common.http import is_success
from swift.common.swob import HTTPConflict, Request
from swift.common.utils import drain_and_close

from swift_lightsync.versioning.core.keys import (
    hidden_container,
    parse_version,
)
from swift_lightsync.versioning.proxy.container import internal, path_of
from swift_lightsync.versioning.proxy.container_context import (
    CLIENTS,
    ContainerContext,
)
from swift_lightsync.versioning.proxy.object_data import delete_data


class SiteRequests:
    """
    Gives the receiver access to strategies and data.

    :param filter: the ``Versioning`` filter
    """

    def __init__(self, filter):
        self.filter = filter

    def _versioned(self, env, account, container):
        req = internal(env, 'HEAD', path_of(account, container))
        return self.filter.versioned(req.environ, account, container)

    def _strategy(self, env, account, container, create=False):
        """
        Return the strategy of a container.

        :param create: whether to make the container and enable versions
        :returns: a strategy, or None if the container has no versions
        :raises HTTPException: if versions cannot be enabled
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
        req = internal(env, method, path, {CLIENTS: 'true'})
        resp = ContainerContext(versioned, self.filter.options,
                                self.filter.logger, False).respond(req)
        drain_and_close(resp)
        if not is_success(resp.status_int):
            raise resp

    def _send(self, env, method, account, container, name, headers):
        return internal(env, method, path_of(
            account, hidden_container(container), name), headers, rows=False)

    def _put_data(self, env, account, container, name, entry, body, headers):
        """
        Store the data of a version.

        :param name: of the data in the hidden container
        :param body: file-like; its exceptions pass through
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
        Replace the metadata of a version.

        :param changed: ``Stamp`` of the metadata
        :returns: a ``Response``, drained
        """
        sent = self._send(env, 'POST', account, container, name, dict(
            headers, **{'X-Timestamp': str(changed)}))
        resp = sent.get_response(self.filter.app)
        drain_and_close(resp)
        return resp

    def _delete_data(self, env, account, container, name):
        """Delete the data of a version; return whether it was there."""
        return delete_data(
            self.filter.app, Request(env), path_of(
                account, hidden_container(container), name),
            self.filter.clock.tick(self.filter.now(),
                                   parse_version(name).id))
