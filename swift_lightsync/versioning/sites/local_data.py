# SPDX-License-Identifier: Apache-2.0
"""
Reads the data of versions and the metadata of containers, through the
proxy-server's code of this site.
"""

from dataclasses import replace

from swift.common.concurrency import Timeout
from swift.common.http import HTTP_NOT_FOUND
from swift.common.internal_client import InternalClient, UnexpectedResponse
from swift.common.utils import close_if_possible
from swift.common.wsgi import ConfigString

from swift_lightsync.versioning.core.row_data import Kind
from swift_lightsync.versioning.core.shipping import Shipment
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.stored_headers import stored_headers
from swift_lightsync.versioning.sites.databases import MODE

#: Nothing in it that changes what a GET gives: no slo, dlo or symlink.
PIPELINE = """
[DEFAULT]
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


def make_client(path, name):
    """
    Make the internal client that reads this site's data.

    :param path: of an internal client's conf; empty: a built-in one
    :param name: of this daemon, for logs
    :raises SystemExit: if it cannot be loaded
    """
    try:
        return InternalClient(path or ConfigString(PIPELINE), name, TRIES,
                              use_replication_network=True,
                              global_conf={'log_name': name + '-ic'})
    except OSError as err:
        raise SystemExit('Unable to load the internal client from %s: %s' % (
            path or 'the built-in conf', err))


class LocalData:
    """
    Reads through an internal client.

    :param client: an ``InternalClient``
    """

    def __init__(self, client):
        self._client = client

    def mode_of(self, account, container):
        """
        Look up the mode of a container.

        :returns: a text, its mode, empty if it never had versions; None if it
            cannot be read
        """
        try:
            found = self._client.get_container_metadata(
                account, container, acceptable_statuses=(2, HTTP_NOT_FOUND))
        except (UnexpectedResponse, Timeout):
            return None
        return found.get(MODE.lower(), '')

    def open(self, database, item):
        """
        Open a version for shipping.

        :param database: a ``Database`` of a hidden container
        :param item: an ``Item`` of it
        :returns: (``Shipment``, an iterable of its data; close it)
        :raises DataMissing: if it cannot be read
        """
        entry = item.entry
        if entry.kind is not Kind.DATA:
            return Shipment(entry), ()
        container, name = (
            (database.container, entry.object) if entry.plain
            else (database.hidden_container, item.row.name))
        try:
            _, headers, body = self._client.get_object(
                database.account, container, name,
                {'X-Newest': 'true'} if entry.plain else {})
        except UnexpectedResponse as err:
            close_if_possible(err.resp.app_iter)
            raise DataMissing(str(err)) from err
        stamp = Stamp.parse(headers.get(
            'X-Backend-Data-Timestamp', headers['X-Backend-Timestamp']))
        if stamp != entry.version.id:
            close_if_possible(body)
            raise DataMissing('its data is of %s' % stamp)
        changed = Stamp.parse(headers['X-Backend-Timestamp'])
        return Shipment(
            replace(entry, changed=changed if changed > stamp else None),
            stored_headers(headers.items()),
            int(headers['Content-Length'])), body
