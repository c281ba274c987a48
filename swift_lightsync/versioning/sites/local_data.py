# SPDX-License-Identifier: Apache-2.0
"""Reads the data of versions and the metadata of containers, and adopts
objects, through the proxy-server's code of this site.
"""

from contextlib import contextmanager
from dataclasses import replace

from swift.common.concurrency import Timeout
from swift.common.http import HTTP_NOT_FOUND
from swift.common.internal_client import InternalClient
from swift.common.middleware.memcache import MemcacheMiddleware
from swift.common.request_helpers import USE_REPLICATION_NETWORK_HEADER
from swift.common.storage_policy import POLICIES
from swift.common.swob import HTTPException, Request
from swift.common.utils import close_if_possible, drain_and_close
from swift.common.wsgi import ConfigString
from swift.proxy.controllers.base import (
    get_cache_key,
    headers_to_account_info,
    headers_to_container_info,
)

from swift_lightsync.versioning.core.row_data import Kind
from swift_lightsync.versioning.core.shipment import Shipment, stored_headers
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.data.container import VersionedContainer
from swift_lightsync.versioning.data.container_headers import (
    MODE,
    POLICY,
    made_headers,
    sysmeta,
)
from swift_lightsync.versioning.data.object_writes import ObjectWrites

SOURCE = 'SV'
#: Nothing in it that changes what a GET gives: no slo, dlo or symlink.
PIPELINE = """
[DEFAULT]
swift_dir = %s
[pipeline:main]
pipeline = catch_errors cache proxy-server

[app:proxy-server]
use = egg:swift-lightsync#proxy

[filter:cache]
use = egg:swift#memcache

[filter:catch_errors]
use = egg:swift#catch_errors
"""
TRIES = 2


class DataMissing(Exception):
    """No server gives the data now."""


def make_client(path, name, swift_dir):
    """Make the internal client that reads this site's data.

    :param path: of an internal client's conf; empty: a built-in one
    :param name: of this daemon, for logs
    :param swift_dir: where the built-in one finds rings and memcache.conf
    :raises SystemExit: if it cannot be loaded
    """
    try:
        return InternalClient(
            path or ConfigString(PIPELINE % swift_dir), name, TRIES,
            use_replication_network=True,
            global_conf={'log_name': name + '-ic'})
    except OSError as err:
        raise SystemExit('Unable to load the internal client from %s: %s' % (
            path or 'the built-in conf', err))


class LocalData:
    """Reads and writes through an internal client.

    :param client: an ``InternalClient``
    """

    def __init__(self, client):
        self._client = client
        self._uncached = _without_memcache(client.app)

    def mode_of(self, account, container):
        """Look up the mode of a container.

        :returns: a text, its mode, empty if it never had versions; None if it
            cannot be read
        """
        try:
            return self.headers(account, container).get(sysmeta(MODE), '')
        except (DataMissing, Timeout):
            return None

    def open(self, database, item):
        """Open a version or a life record for shipping.

        :param database: a ``Database`` of a hidden container
        :param item: an ``Item`` of it
        :returns: (``Shipment``, an iterable of its data; close it)
        :raises DataMissing: if it cannot be read
        """
        place = database.account, database.container
        policy = POLICIES[database.policy].name
        if item.life is not None:
            return Shipment(*place, life=item.life, policy=policy), ()
        entry = item.entry
        if entry.kind is not Kind.DATA:
            return Shipment(*place, entry, policy=policy), ()
        response = self._send(
            'GET', (database.account, database.hidden_container,
                    entry.data_name),
            {USE_REPLICATION_NETWORK_HEADER: 'true'}, infocache(database))
        if not response.is_success:
            drain_and_close(response)
            raise DataMissing('GET of its data: %s' % response.status_int)
        headers, body = response.headers, response.app_iter
        stamp, changed = _stamps(headers)
        if stamp != entry.version.id:
            close_if_possible(body)
            raise DataMissing('its data is of %s' % stamp)
        return Shipment(
            *place, replace(entry, changed=changed if changed > stamp
                            else None),
            stored_headers(headers.items()),
            int(headers['Content-Length']), policy=policy), body

    def headers(self, account, container):
        """Return the headers of a container; none if it is not there.

        :raises DataMissing: if nobody can tell
        """
        # Clients are not told by memcache of what a daemon has seen while they
        # change it.
        response = self._ask('HEAD', (account, container), environ={
            'swift.infocache': {
                get_cache_key(account): headers_to_account_info({})}},
            app=self._uncached)
        if response.status_int == HTTP_NOT_FOUND:
            return {}
        if not response.is_success:
            raise DataMissing('its container: %s' % response.status)
        return response.headers

    def make_container(self, database, mode, life, before):
        """Have Swift make the user's container of a hidden one what its record
        says.

        :param database: a ``Database`` of the hidden container
        :param life: its ``Life``
        :param before: the headers that it has; none: it is not there
        :returns: a status
        :raises DataMissing: if nobody would find the data of its versions
        """
        if int(before.get(POLICY, database.policy)) != database.policy:
            raise DataMissing('it is in another storage policy')
        return self._ask(
            'PUT', (database.account, database.container), made_headers(
                life, mode, database.hidden_container,
                POLICIES[database.policy], before)).status_int

    def adopt(self, database, obj, strategy):
        """Make a null version of an object of the user's container itself.

        :param database: a ``Database`` of it
        :param strategy: of the container
        :raises DataMissing: if it may not have been adopted
        """
        with _told():
            self._writes(database, obj, strategy).adopt()

    def copy(self, database, old, new, strategy):
        """Store the data of one version as those of another, too.

        :param old: an ``Entry``, as ``new``
        :raises DataMissing: if that was not done
        """
        writes = self._writes(database, old.object, strategy)
        with _told():
            writes.copy(writes.versioned.data_path(old), new)

    def delete_data(self, database, entries, strategy):
        """Delete the data of versions that are purged.

        :param entries: each an ``Entry``
        :param strategy: of the container
        :raises DataMissing: if some may still be there
        """
        with _told():
            for entry in entries:
                self._writes(database, entry.object,
                             strategy).delete_data(entry)

    def _writes(self, database, obj, strategy):
        return ObjectWrites(
            VersionedContainer(self._client.app, database.account,
                               database.container, {'storage_policy': None},
                               lambda *_: strategy), obj, Request.blank('/'))

    def _ask(self, *args, **options):
        """Return the answer to a request, drained."""
        response = self._send(*args, **options)
        drain_and_close(response)
        return response

    def _send(self, method, names, headers=(), environ=(), app=None):
        # Only owners are told of access lists, and change them.
        request = Request.blank(
            self._client.make_path(*names), headers={
                **dict(headers), 'X-Backend-Allow-Reserved-Names': 'true',
                'User-Agent': self._client.user_agent},
            environ={**dict(environ), 'REQUEST_METHOD': method,
                     'swift.source': SOURCE, 'swift_owner': True})
        return request.get_response(app or self._client.app)


def _without_memcache(app):
    """Return what follows memcache's filter in a pipeline, or all of it."""
    each = app
    while hasattr(each, 'app'):
        if isinstance(each, MemcacheMiddleware):
            return each.app
        each = each.app
    return app


def infocache(database):
    """Return what spares a request for data the question what Swift says of a
    hidden container: nothing but its storage policy matters.
    """
    return {'swift.infocache': {
        get_cache_key(database.account, database.hidden_container): dict(
            headers_to_container_info({}), storage_policy=database.policy)}}


@contextmanager
def _told():
    """Tell of a request that failed."""
    try:
        yield
    except HTTPException as err:
        raise DataMissing('its data: %s' % err.status) from err


def _stamps(headers):
    """Return when the data of an object is of, and its last change."""
    changed = Stamp.parse(headers['X-Backend-Timestamp'])
    data = headers.get('X-Backend-Data-Timestamp')
    return Stamp.parse(data) if data else changed, changed
