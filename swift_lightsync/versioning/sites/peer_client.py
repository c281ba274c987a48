# SPDX-License-Identifier: Apache-2.0
"""Signed requests to another site: offers and packs (VERSIONING.md §5).

Connections are kept. One that was kept may be dead by now: the request that
finds it so is sent once more, on a new one.
"""

import os
import random
import time
from contextlib import closing, contextmanager
from hashlib import sha256

from swift.common.concurrency import green_http_client as client
from swift.common.concurrency import socket

from swift_lightsync.common.signing import SignatureError
from swift_lightsync.versioning.core import shipping
from swift_lightsync.versioning.core.comparing import Comparison, differences
from swift_lightsync.versioning.core.signature import (
    ANSWER_HEADER,
    HEADER,
    METHOD,
    PATH,
    TRAILER,
    Claim,
    check_answer,
    trailer,
)
from swift_lightsync.versioning.sites.outgoing import Truncated

CHUNK = 1 << 16
_MAX_ANSWER = shipping.MAX_HEAD


class PeerDown(Exception):
    """A site does not answer, or not as it should."""


class PeerRefused(Exception):
    """A site refuses a request.

    :param status: of its answer
    """

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


class PeerClient:
    """Sends requests to one other site.

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
        # Connections that are not in use, the last one used last.
        self._idle = []

    def offer(self, groups):
        """Ask which of some versions the peer lacks.

        :param groups: each a ``Group``
        :returns: a ``Lacking``
        :raises PeerDown: if it does not answer
        :raises PeerRefused: if it does not take offers now
        """
        count = sum(group.places for group in groups)
        body = self._ask(shipping.offer(groups))
        return self._read(shipping.lacking, body, count)

    def ship(self, frames, data, length):
        """Send a pack to the peer.

        :param frames: the JSON of the ``Frame`` of each shipment
        :param data: of all of them: bytes; or an iterable of bytes, which can
            be sent only once
        :param length: bytes of data
        :returns: ``Results``, one for each shipment
        :raises PeerDown: if it does not answer
        :raises PeerRefused: if it does not take packs now
        :raises Truncated: if the data does not have its length
        """
        body = self._ask(shipping.pack(frames), data, length)
        return self._read(shipping.results_of, body, len(frames))

    def compare(self, until, containers):
        """Compare some containers.

        :param until: a ``Stamp``, see ``Comparison``
        :param containers: each a ``Compared``
        :returns: ``Differences``
        :raises PeerDown: if it does not answer
        :raises PeerRefused: if it does not compare now
        """
        body = self._ask(shipping.encoded(Comparison(
            shipping.FORMAT, 'compare', until, tuple(containers)).to_json()))
        return self._read(differences, body, len(containers))

    def _read(self, read, body, count):
        try:
            return read(body, count)
        except ValueError as err:
            raise PeerDown('site %s: %s' % (self.peer.name, err)) from err

    def _ask(self, head, data=b'', length=0):
        can_repeat = isinstance(data, bytes)
        connection = self._idle.pop() if can_repeat and self._idle else None
        if connection is not None:
            try:
                return self._sent(connection, head, data, length)
            except (OSError, client.HTTPException) as err:
                if isinstance(err, TimeoutError):
                    raise self._down(err) from err
                # The others are no better: their server is gone.
                self.close()
        connection = self._connect()
        try:
            return self._sent(connection, head, data, length)
        except (OSError, client.HTTPException) as err:
            raise self._down(err) from err

    def _down(self, err):
        return PeerDown('site %s: %s' % (self.peer.name,
                                         str(err) or type(err).__name__))

    def close(self):
        """Close all connections that are not in use."""
        while self._idle:
            self._idle.pop().close()

    def _sent(self, connection, head, data, length):
        """Send a request, signed anew each time; return the answer's body."""
        key, whole = self.peer.keys[0], len(head) + length + TRAILER
        claim = Claim.of(self.site, int(self._now()), os.urandom(16).hex(),
                         head).signed(key, self.peer.name, whole)
        body = self._body(head, data, length, key, claim.mac)
        with self._kept(connection):
            status, answered, text = self._exchange(connection, body, {
                HEADER: str(claim), 'Content-Length': str(whole),
                'Content-Type': 'application/octet-stream'})
        return self._checked(key, claim.mac, status, answered, text)

    @contextmanager
    def _kept(self, connection):
        """Keep a connection afterwards, if it can be used again."""
        try:
            yield
        except BaseException:
            connection.close()
            raise
        # It has no socket where the peer closes it.
        if connection.sock is not None:
            self._idle.append(connection)

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
            # Closed is closed: whoever uses it again shall see that.
            connection.auto_open = 0
            return connection
        raise PeerDown('site %s: %s' % (self.peer.name, '; '.join(errors)))

    @staticmethod
    def _exchange(connection, body, headers):
        try:
            connection.request(METHOD, PATH, body=body, headers=headers)
            broken = False
        except (BrokenPipeError, ConnectionResetError):
            # It may have answered without reading all.
            broken = True
        with closing(connection.getresponse()) as response:
            text = response.read(_MAX_ANSWER + 1)
            if broken or response.will_close or not response.isclosed():
                connection.close()
        return response.status, response.getheader(ANSWER_HEADER, ''), text

    def _body(self, head, data, length, key, mac):
        digest, sent = sha256(), 0
        parts = [data[start:start + CHUNK]
                 for start in range(0, len(data), CHUNK)] \
            if isinstance(data, bytes) else data
        # A small request is one write.
        before = head
        for chunk in parts:
            sent += len(chunk)
            if sent > length:
                break
            digest.update(chunk)
            self._limit(len(chunk))
            yield before + chunk
            before = b''
        if sent != length:
            raise Truncated('%d bytes or more of data, must be %d' % (
                sent, length))
        yield before + trailer(key, mac, digest.hexdigest())

    def _checked(self, key, mac, status, answered, text):
        """Return the body of an answer, once its signature and status are
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
