# SPDX-License-Identifier: Apache-2.0
"""
A user of the cluster: puts, deletes and gets objects through the proxy.

Each batch runs in a few threads with a connection each. An answer other
than the one that an operation calls for ends the batch with a DemoError:
nothing is retried, nothing is passed over.
"""

import hashlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from urllib.parse import quote, unquote, urlsplit

from tools.demonstration.errors import DemoError

THREADS = 8
TIMEOUT = 60


@dataclass(frozen=True, order=True)
class ObjectName:
    """An object: its container and its name there."""

    container: str
    name: str

    def __str__(self):
        return '%s/%s' % (self.container, self.name)


def digest(data):
    """:returns: what two equal contents have in common"""
    return hashlib.sha256(data).hexdigest()


class Client:
    """
    A user with a token.

    :param auth_url: the URL of tempauth
    :param user: the user's name
    :param key: the password
    :raises DemoError: if that gives no token
    """

    def __init__(self, auth_url, user, key):
        self.local = threading.local()
        self.host = urlsplit(auth_url).netloc
        response, _ = self._send('GET', urlsplit(auth_url).path, headers={
            'X-Auth-User': user, 'X-Auth-Key': key})
        self._require('GET ' + auth_url, response, (200,))
        self.token = response.getheader('X-Auth-Token')
        self.storage_url = response.getheader('X-Storage-Url')
        self.path = urlsplit(self.storage_url).path
        self.account = unquote(self.path.rpartition('/')[2])

    def _keep_connection(self):
        """This thread will send many requests, without long pauses."""
        self.local.connection = HTTPConnection(self.host, timeout=TIMEOUT)

    def _send(self, method, path, body=None, headers=()):
        connection = getattr(self.local, 'connection', None) or \
            HTTPConnection(self.host, timeout=TIMEOUT)
        try:
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            return response, response.read()
        except (OSError, HTTPException) as err:
            raise DemoError('%s http://%s%s: no answer from the proxy: %r' % (
                method, self.host, path, err)) from err

    @staticmethod
    def _require(what, response, allowed):
        if response.status not in allowed:
            raise DemoError('%s: the answer is %d %s, not %s' % (
                what, response.status, response.reason,
                ' or '.join(str(status) for status in allowed)))

    def _request(self, method, where, allowed, body=None, query='', **headers):
        path = '%s/%s' % (self.path, quote(str(where)))
        response, data = self._send(
            method, path + query, body,
            {'X-Auth-Token': self.token,
             **{name.replace('_', '-'): value
                for name, value in headers.items()}})
        self._require('%s %s' % (method, path), response, allowed)
        return response, data

    def make_container(self, container, policy):
        self._request('PUT', container, (201, 202), X_Storage_Policy=policy)

    def listing(self, container):
        """:returns: the names of all objects of a container, sorted"""
        names, marker = [], ''
        while True:
            _, data = self._request(
                'GET', container, (200,),
                query='?format=json&marker=' + quote(marker, safe=''))
            page = [row['name'] for row in json.loads(data)]
            if not page:
                return names
            names += page
            marker = page[-1]

    def put(self, item):
        """
        :param item: an ObjectName and the LocalFile to put there
        :returns: the ObjectName, and the digest of what was sent
        """
        where, local = item
        data = local.read()
        self._request('PUT', where, (201,), body=data)
        return where, digest(data)

    def delete(self, where):
        self._request('DELETE', where, (204,))

    def check(self, item):
        """
        :param item: an ObjectName and the digest of its content, or None if
            it must not be found
        :returns: what is wrong, or None
        """
        where, wanted = item
        response, data = self._request('GET', where, (200, 404))
        if wanted is None:
            return None if response.status == 404 else (
                '%s was deleted, but GET answers %d' % (
                    where, response.status))
        if response.status != 200:
            return '%s exists, but GET answers %d' % (where, response.status)
        if digest(data) != wanted:
            return '%s: the content is not that of its local file' % where
        return None

    def status(self, where):
        """:returns: that of the answer to a GET: 200, 404 or 503"""
        response, _ = self._request('GET', where, (200, 404, 503))
        return response.status

    def each(self, operation, items, progress, threads=THREADS):
        """
        Do an operation with each item.

        :param operation: a method of this client
        :param items: what it is called with, one at a time
        :param progress: called after each, without arguments
        :param threads: how many at a time
        :returns: a list of the results, in the order of the items
        """
        def one(item):
            result = operation(item)
            progress()
            return result

        with ThreadPoolExecutor(
                threads, initializer=self._keep_connection) as pool:
            pending = [pool.submit(one, item) for item in items]
            try:
                return [each.result() for each in pending]
            finally:
                pool.shutdown(cancel_futures=True)
