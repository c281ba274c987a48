# SPDX-License-Identifier: Apache-2.0
"""
The replicator's side of a sync message: connections that are kept.

In a stable cluster a sync message is a few dozen bytes; making a connection
for each would cost more than the message does.
"""

import os
import socket
from collections import defaultdict
from functools import partial
from urllib.parse import quote

from swift.common.bufferedhttp import (
    BufferedHTTPConnection,
    BufferedHTTPResponse,
)
from swift.common.concurrency import Timeout, green_http_client, tpool
from swift.common.http import (
    HTTP_CONTINUE,
    HTTP_INSUFFICIENT_STORAGE,
    HTTP_NO_CONTENT,
    HTTP_OK,
)

from swift_lightsync.sync import missing_message
from swift_lightsync.sync.core.comparison import compare
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.names import (
    IDLE_HEADER,
    MISSING,
    NOTICE,
    POLICY_HEADER,
    REHASH,
    ROOTS,
    SENDER_HEADER,
    SUFFIXES,
)
from swift_lightsync.sync.wire import exchange_message
from swift_lightsync.sync.wire.notice import encode_sender
from swift_lightsync.sync.wire.sync_message import (
    DIGEST_BYTES,
    MAX_BYTES,
    SyncMessageError,
    Verdict,
    decode_reply,
    encode_roots,
)

#: What a status other than 200 means; the others are the answers of an
#: object-server that does not know the verb, or not this message.
REFUSALS = {HTTP_INSUFFICIENT_STORAGE: Answer.UNMOUNTED,
            **dict.fromkeys((400, 404, 405, 501), Answer.UNSUPPORTED)}
#: Roots that are compared without a thread, which costs more than it saves.
AT_ONCE = 64
#: Most digits of the seconds for which a device may have been idle.
IDLE_DIGITS = 10
#: Connection time-outs without a packet acknowledged: a silent host.
SILENCE = 4


class ConnectFailure(Exception):
    """
    No connection: the node, not just the device, is out of reach.

    :param answer: Answer.REFUSED or Answer.TIMEOUT
    """

    def __init__(self, answer, reason):
        super().__init__(str(reason))
        self.answer = answer


class Refusal(Exception):
    """
    The device was reached, and answered with an error.

    :param answer: an :class:`Answer`
    """

    def __init__(self, answer):
        super().__init__(answer)
        self.answer = answer


class _Response(BufferedHTTPResponse):

    def _read_status(self):
        found = super()._read_status()
        if found[1] == HTTP_CONTINUE:
            # Nobody asked; a stream of them would keep the hub from running.
            raise green_http_client.HTTPException('100 Continue')
        return found


class _Connection(BufferedHTTPConnection):
    response_class = _Response


class SyncClient:
    """
    Sends sync messages to the replication ports of object-servers.

    :param conn_timeout: seconds a connection may take
    :param http_timeout: seconds an answer may take: the peer may have
        suffixes to hash first
    """

    def __init__(self, conn_timeout, http_timeout):
        self.conn_timeout = conn_timeout
        self.http_timeout = http_timeout
        self._idle = defaultdict(list)

    def ask(self, sender, node, policy, roots):
        """
        Compare the roots of partitions with those of a device.

        :param sender: the local device: (IP, port, name), or None
        :param node: the device, a dict as in the ring
        :param policy: the StoragePolicy of the partitions
        :param roots: a dict, partition number to root
        :returns: a tuple of an :class:`Answer`; if that is DIFFER, the set
            of partitions that differ; and how long ago the device's rounds
            were last played, seconds, or None if it does not say
        :raises ConnectFailure: if the node cannot be reached
        :raises SyncMessageError: if the answer makes no sense
        :raises Timeout: if no answer comes in time
        :raises OSError, HTTPException: if the connection broke
        """
        headers = {POLICY_HEADER: int(policy)}
        if sender:
            headers[SENDER_HEADER] = encode_sender(sender)
        comparison = compare(roots)
        # The roots of many slices take longer than others should wait.
        step = (comparison.send if len(roots) <= AT_ONCE
                else partial(tpool.execute, comparison.send))
        differing = idle = None
        try:
            while True:
                asked = step(differing)
                differing, idle = self._differing(node, asked, headers)
        except StopIteration as end:
            return (Answer.DIFFER if end.value else Answer.MATCH, end.value,
                    idle)
        except Refusal as refusal:
            return refusal.answer, set(), None

    def _differing(self, node, asked, headers):
        """:returns: the indices of the slices that differ, and as ``ask``"""
        partitions, roots = asked.partitions, asked.roots
        for with_list in ((True,) if len(partitions.encoded) <= DIGEST_BYTES
                          else (False, True)):
            resp, body = self._answer(node, ROOTS, headers, encode_roots(
                partitions, roots, with_list=with_list))
            verdict, differing = decode_reply(body, len(roots))
            if verdict is Verdict.COMPARED:
                return differing, _idle(resp)
        raise SyncMessageError('the set is unknown where it was just sent')

    def suffix_hashes(self, node, policy, partitions):
        """
        :param node: the device, a dict as in the ring
        :param policy: the StoragePolicy of the partitions
        :param partitions: their numbers
        :returns: a dict, partition number to a dict, suffix to hash;
            partitions that could not be hashed are left out
        :raises Refusal: if the device answers with an error; otherwise as
            :meth:`ask`
        """
        _, body = self._answer(
            node, SUFFIXES, {POLICY_HEADER: int(policy)},
            exchange_message.encode_suffixes(partitions))
        return exchange_message.decode_suffix_hashes(body, partitions)

    def missing(self, node, policy, offer):
        """
        Offer objects to a device.

        :param node: the device, a dict as in the ring
        :param policy: the StoragePolicy of the partitions
        :param offer: as for ``missing_message.encode_offer``
        :returns: a dict, as for ``missing_message.encode_wanted``
        :raises: as :meth:`suffix_hashes`
        """
        _, body = self._answer(node, MISSING, {POLICY_HEADER: int(policy)},
                               missing_message.encode_offer(offer))
        return missing_message.decode_wanted(body, offer)

    def rehash(self, node, policy, suffixes):
        """
        Have suffixes hashed anew that were written to past the server.

        :param node: the device, a dict as in the ring
        :param policy: the StoragePolicy of the partitions
        :param suffixes: a dict, partition number to a list of suffixes
        :raises: as :meth:`suffix_hashes`
        """
        self._answer(node, REHASH, {POLICY_HEADER: int(policy)},
                     exchange_message.encode_rehash(suffixes),
                     HTTP_NO_CONTENT)

    def notify(self, node, data):
        """
        Send a notice to a node.

        :param node: a device of it, a dict as in the ring
        :param data: the bytes of the notice
        :raises: as :meth:`ask`, but for SyncMessageError
        """
        self._request(node, NOTICE, {}, data)

    def close(self):
        """Close the connections that are not in use."""
        while self._idle:
            for conn in self._idle.popitem()[1]:
                conn.close()

    def _answer(self, node, what, headers, message, expected=HTTP_OK):
        resp, body = self._request(node, what, headers, message)
        if resp.status in REFUSALS:
            raise Refusal(REFUSALS[resp.status])
        if resp.status != expected:
            raise SyncMessageError('answered with status %d' % resp.status)
        return resp, body

    def _request(self, node, what, headers, message):
        path = '/%s/%s' % (quote(node['device'], safe=''), what)
        idle = self._idle[node['replication_ip'], node['replication_port']]
        while idle:
            conn = idle.pop()
            if not _is_quiet(conn):
                conn.close()
                continue
            try:
                return self._converse(conn, idle, path, headers, message)
            except (green_http_client.RemoteDisconnected, BrokenPipeError,
                    ConnectionResetError):
                # The server gave up the idle connection; asking twice does
                # no harm.
                continue
        conn = self._connect(node)
        return self._converse(conn, idle, path, headers, message)

    def _connect(self, node):
        conn = _Connection('%s:%s' % (
            node['replication_ip'], node['replication_port']))
        try:
            with Timeout(self.conn_timeout):
                conn.connect()
        except Timeout as err:
            conn.close()
            raise ConnectFailure(Answer.TIMEOUT, err)
        except OSError as err:
            raise ConnectFailure(Answer.REFUSED, err)
        if hasattr(socket, 'TCP_USER_TIMEOUT'):
            # A host that falls silent under a kept connection acknowledges
            # no packets; a busy one does, and may take http_timeout.
            conn.sock.setsockopt(
                socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT,
                int(SILENCE * self.conn_timeout * 1000))
        return conn

    def _converse(self, conn, idle, path, headers, message):
        keep = False
        try:
            with Timeout(self.http_timeout):
                _send(conn, path, headers, message)
                resp = conn.getresponse()
                # http.client makes a buffer of the size that is asked for.
                body = resp.read(MAX_BYTES if resp.length is None
                                 else min(resp.length, MAX_BYTES))
                keep = not resp.will_close and resp.isclosed()
                return resp, body
        except TimeoutError as err:
            raise ConnectFailure(Answer.TIMEOUT, err)
        finally:
            if keep:
                idle.append(conn)
            else:
                conn.close()


def _idle(resp):
    said = resp.getheader(IDLE_HEADER) or ''
    if said.isascii() and said.isdigit() and len(said) <= IDLE_DIGITS:
        return int(said)
    return None


def _is_quiet(conn):
    """
    Whether a kept connection can be used again: the peer has not closed it,
    nor sent what nobody asked for and the next message would be answered by.
    """
    try:
        conn.sock.fd.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _send(conn, path, headers, message):
    """Send a request; its headers and its body in one packet if they fit."""
    cork = getattr(socket, 'TCP_CORK', None)
    if cork is not None:
        conn.sock.setsockopt(socket.IPPROTO_TCP, cork, 1)
    conn.putrequest('LIGHTSYNC', path, skip_accept_encoding=True)
    conn.putheader('Content-Length', str(len(message)))
    for name, value in headers.items():
        conn.putheader(name, str(value))
    # Logged like the other replication verbs, at debug level.
    conn.putheader('X-Backend-Replication', 'true')
    conn.putheader('User-Agent', 'object-replicator %d' % os.getpid())
    conn.endheaders(message)
    if cork is not None:
        conn.sock.setsockopt(socket.IPPROTO_TCP, cork, 0)
