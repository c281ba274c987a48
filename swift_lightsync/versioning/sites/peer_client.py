# SPDX-License-Identifier: Apache-2.0
"""Signed requests to another site: offers and shipments (VERSIONING.md §5)."""

import os
import random
import time
from hashlib import sha256
from urllib.parse import quote

from swift.common.concurrency import green_http_client as client
from swift.common.concurrency import socket

from swift_lightsync.common.signing import SignatureError
from swift_lightsync.versioning.core import shipping
from swift_lightsync.versioning.core.signature import (
    ANSWER_HEADER,
    TRAILER,
    Signed,
    check_answer,
    trailer,
)

CHUNK = 1 << 16
_MAX_ANSWER = shipping.MAX_HEAD


class PeerDown(Exception):
    """A site does not answer, or not as it should."""


class PeerRefused(Exception):
    """
    A site refuses a request.

    :param status: of its answer
    """

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


class Truncated(Exception):
    """Data is shorter or longer than announced."""


class PeerClient:
    """
    Sends requests to one other site.

    :param peer: a ``Peer``
    :param site: the name of this site
    :param options: ``PropagatorOptions``
    :param limit: a function of a number of bytes; it returns when they may be
        sent
    """

    def __init__(self, peer, site, options, limit=lambda size: None,
                 now=time.time):
        self.peer = peer
        self.site = site
        self.options = options
        self._limit = limit
        self._now = now

    def offer(self, account, container, versions):
        """
        Ask which of some versions the peer lacks.

        :param container: the user's
        :param versions: ``Offered``
        :returns: the places in ``versions`` of those that the peer lacks
        :raises PeerDown: if it does not answer
        :raises PeerRefused: if it does not take offers for this container
        """
        body = self._ask(account, container, shipping.offer(versions))
        try:
            return shipping.lacking(body, len(versions))
        except ValueError as err:
            raise PeerDown('site %s: %s' % (self.peer.name, err)) from err

    def ship(self, account, container, shipped, data=()):
        """
        Send a version to the peer.

        :param shipped: a ``Shipment``
        :param data: iterable of bytes, as many as its length says
        :raises PeerDown: if it does not answer
        :raises PeerRefused: if it does not take this version now
        :raises Truncated: if the data does not have its length
        """
        self._ask(account, container, shipping.shipment(shipped), data,
                  shipped.length)

    def _ask(self, account, container, head, data=(), length=0):
        path = '/v1/%s/%s' % (quote(account, safe=''),
                              quote(container, safe=''))
        signed = Signed('POST', path, self.site, self.peer.name,
                        int(self._now()), os.urandom(16).hex(),
                        len(head) + length + TRAILER, head)
        key = self.peer.keys[0]
        headers, sent_mac = signed.headers(key)
        body = self._body(head, data, length, key, sent_mac)
        connection = self._connect()
        try:
            status, mac, text = self._exchange(connection, path, body,
                                               headers)
        except (OSError, client.HTTPException) as err:
            raise PeerDown('site %s: %s' % (
                self.peer.name, str(err) or type(err).__name__)) from err
        finally:
            connection.close()
        return self._checked(key, sent_mac, status, mac, text)

    def _connect(self):
        """Return a connection to the first endpoint that takes one."""
        errors = []
        endpoints = self.peer.endpoints
        for endpoint in random.sample(endpoints, len(endpoints)):
            cls = client.HTTPSConnection if endpoint.tls else \
                client.HTTPConnection
            connection = cls(endpoint.host, endpoint.port,
                             timeout=self.options.conn_timeout)
            try:
                connection.connect()
            except OSError as err:
                connection.close()
                errors.append('%s:%d: %s' % (endpoint.host, endpoint.port,
                                             err))
                continue
            connection.sock.settimeout(self.options.node_timeout)
            connection.sock.setsockopt(
                socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        raise PeerDown('site %s: %s' % (self.peer.name, '; '.join(errors)))

    @staticmethod
    def _exchange(connection, path, body, headers):
        try:
            connection.request('POST', path, body=body, headers=headers)
        except (BrokenPipeError, ConnectionResetError):
            # It may have answered without reading all.
            pass
        response = connection.getresponse()
        text = response.read(_MAX_ANSWER + 1)
        return response.status, response.getheader(ANSWER_HEADER, ''), text

    def _body(self, head, data, length, key, mac):
        yield head
        digest, sent = sha256(), 0
        for chunk in data:
            sent += len(chunk)
            if sent > length:
                break
            digest.update(chunk)
            self._limit(len(chunk))
            yield chunk
        if sent != length:
            raise Truncated('%d bytes or more of data, must be %d' % (
                sent, length))
        yield trailer(key, mac, digest.hexdigest())

    def _checked(self, key, mac, status, answered, text):
        """
        Return the body of an answer, once its signature and status are
        checked.

        :raises PeerDown: if the peer has not signed the answer
        :raises PeerRefused: if the status is an error
        """
        try:
            check_answer(key, mac, status, text, answered, self.peer.name)
        except SignatureError as err:
            # Who refuses our signature cannot sign; who is in between
            # neither.
            raise PeerDown('%s (status %d%s)' % (
                err, status, _said(text))) from err
        if 200 <= status < 300:
            return text
        reason = 'site %s answers %d%s' % (self.peer.name, status,
                                           _said(text))
        raise PeerRefused(status, reason)


def _said(text):
    said = shipping.reason(text)
    return ': ' + said if said else ''
