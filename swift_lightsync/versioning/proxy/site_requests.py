# SPDX-License-Identifier: Apache-2.0
"""Requests that the receiver of other sites' versions makes through the filter
(VERSIONING.md §5): for strategies, and for data in the hidden container.
"""

from swift.common.http import is_success
from swift.common.storage_policy import POLICIES
from swift.common.swob import HTTPConflict, Request
from swift.common.utils import drain_and_close

from swift_lightsync.versioning.data.container import internal, path_of
from swift_lightsync.versioning.data.container_headers import (
    MODE,
    made_headers,
)
from swift_lightsync.versioning.data.object_data import delete_data
from swift_lightsync.versioning.proxy.container_context import ContainerContext


class SiteContainer:
    """A versioned container, as another site writes to it.

    :param filter: the ``Versioning`` filter
    :param env: of the other site's request
    :param versioned: its ``VersionedContainer``
    :param strategy: of the hidden container
    """

    def __init__(self, filter, env, versioned, strategy):
        self._filter = filter
        self._env = env
        self._versioned = versioned
        self.strategy = strategy

    @property
    def exists(self):
        """Whether there is the user's container, with versions."""
        return bool(self._versioned.mode)

    def forget_latest(self, obj):
        """Let no memcache say which version of an object is the latest."""
        self._versioned.latest.forget(obj)

    def headers(self):
        """Return the headers of the user's container, access lists too; none
        if it is not there.
        """
        return self._versioned.head(Request(self._env),
                                    self._versioned.path) or {}

    def make(self, life, before):
        """Have Swift make the container what its record says.

        :param before: the headers that it has; none: it is not there
        :returns: a status
        """
        hidden = self._versioned.hidden_info(self._env)
        mode = hidden['sysmeta'].get(MODE, self._filter.options.mode.value)
        return self._change('PUT', made_headers(
            life, mode, self._versioned.hidden,
            POLICIES[hidden['storage_policy']], before))

    def delete(self, life):
        """Have Swift delete the container as of its record.

        :returns: a status
        """
        return self._change('DELETE', life.as_of)

    def _change(self, method, headers):
        resp = self._versioned.change(internal(
            self._env, method, self._versioned.path, headers))
        drain_and_close(resp)
        return resp.status_int

    def put_data(self, entry, body, headers):
        """Store the data of a version, under its name.

        :param body: file-like; its exceptions pass through
        :returns: a ``Response``, drained
        """
        sent = self._request('PUT', entry.data_name, entry.version.id,
                             headers)
        sent.environ['swift.content_type_overridden'] = True
        sent.environ['wsgi.input'] = body
        return self._answer(sent)

    def post_data(self, name, changed, headers):
        """Replace the metadata of a version.

        :param name: of its data
        :param changed: ``Stamp`` of the metadata
        :returns: a ``Response``, drained
        """
        return self._answer(self._request('POST', name, changed, headers))

    def delete_data(self, name, after):
        """Delete the data of a version; return whether it was there.

        :param after: a ``Stamp`` that the data is not newer than
        """
        return delete_data(
            self._filter.app, Request(self._env),
            self._versioned.version_path(name),
            self.strategy.tick(after=after))

    def _request(self, method, name, stamp, headers):
        sent = internal(self._env, method, self._versioned.version_path(name),
                        dict(headers, **{'X-Timestamp': str(stamp)}),
                        rows=False)
        # The access log has the request that brought it.
        sent.environ['swift.proxy_access_log_made'] = True
        if self.exists:
            sent.environ['swift.infocache'] = self._versioned.infocache(
                self._env)
        return sent

    def _answer(self, sent):
        resp = sent.get_response(self._filter.app)
        drain_and_close(resp)
        return resp


class SiteRequests:
    """Gives the receiver access to containers.

    :param filter: the ``Versioning`` filter
    """

    def __init__(self, filter):
        self.filter = filter

    def open(self, env, account, container, policy=None):
        """Return a container.

        :param policy: the name of a storage policy, to make the hidden
            container with that if it is missing, and to check that the user's
            may have versions; empty: with the default one; None: neither
        :returns: a ``SiteContainer``, or None if there is no hidden container
        :raises HTTPException: if it may not have versions
        """
        versioned = self._versioned(env, account, container)
        mode = self.filter.options.mode
        strategy = versioned.strategy if versioned.mode else \
            versioned.strategy_of_hidden(env, mode)
        is_there = is_success(versioned.info['status'])
        if policy is not None and not versioned.mode and (
                is_there or strategy is None):
            # That of a container that is there has the policy of that.
            ContainerContext(
                versioned, self.filter.options, self.filter.logger
            ).make_hidden(internal(
                env, 'PUT', versioned.path, {} if is_there else
                _policy_header(policy, container)))
            strategy = versioned.make_strategy(mode)
        return strategy and SiteContainer(self.filter, env, versioned,
                                          strategy)

    def _versioned(self, env, account, container):
        req = internal(env, 'HEAD', path_of(account, container))
        return self.filter.versioned(req.environ, account, container)


def _policy_header(policy, container):
    """Return the header of a storage policy, by which a container is made.

    :raises HTTPConflict: if this site does not know it
    """
    if not policy:
        return {}
    if POLICIES.get_by_name(policy) is None:
        raise HTTPConflict(
            'The storage policy %s of the container %s is not known here' %
            (policy, container))
    return {'X-Storage-Policy': policy}
