# SPDX-License-Identifier: Apache-2.0
"""
The replicator's side of sync messages: a client that keeps connections.

In a stable cluster a sync message is a few dozen bytes; making a connection
for each would cost more than the message does.
"""

import os
import socket
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Optional
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
from swift.common.storage_policy import StoragePolicy

from swift_lightsync.common.address import DeviceTuple, NodeTuple
from swift_lightsync.sync import missing_message
from swift_lightsync.sync.core.comparison import Ask, compare
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.keys import endpoint
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

#: What statuses other than 200 mean; UNSUPPORTED are those of an
#: object-server that does not know the verb, or not this message.
REFUSALS: dict[int, Answer] = {HTTP_INSUFFICIENT_STORAGE: Answer.UNMOUNTED,
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

    def __init__(self, answer: Answer, reason: object) -> None:
        super().__init__(str(reason))
        self.answer = answer


class Refusal(Exception):
    """
    The device was reached, and answered with an error.

    :param answer: an :class:`Answer`
    """

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.answer = answer


class _Response(BufferedHTTPResponse):

    def _read_status(self) -> tuple[Any, int, str]:
        found: tuple[Any, int, str] = super()._read_status()
        if found[1] == HTTP_CONTINUE:
            # We never ask for it; a stream of them would block the hub.
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

    def __init__(self, conn_timeout: float, http_timeout: float) -> None:
        self.conn_timeout = conn_timeout
        self.http_timeout = http_timeout
        #: Connections that are not in use, by the node they lead to.
        self._idle: dict[NodeTuple, list[_Connection]] = defaultdict(list)

    def ask(self, sender: Optional[DeviceTuple], node: RingDevice,
            policy: StoragePolicy, roots: Mapping[int, str]
            ) -> tuple[Answer, set[int], Optional[int]]:
        """
        Compare the roots of partitions with those of a device.

        :param sender: the local device, if the ring names it
        :param node: the device to ask
        :param policy: the StoragePolicy of the partitions
        :param roots: the root of each partition, by its number
        :returns: the answer; the partitions that differ, if it is DIFFER; and
            how many seconds ago the device's rounds were last played, or None
            if it does not say
        :raises ConnectFailure: if the node cannot be reached
        :raises SyncMessageError: if the answer makes no sense
        :raises Timeout: if no answer comes in time
        :raises OSError, HTTPException: if the connection broke
        """
        headers: dict[str, object] = {POLICY_HEADER: int(policy)}
        if sender:
            headers[SENDER_HEADER] = encode_sender(sender)
        comparison = compare(roots)
        # Hashing the roots of many slices would keep other greenthreads
        # waiting.
        step: Callable[[Any], Ask] = (
            comparison.send if len(roots) <= AT_ONCE
            else partial(tpool.execute, comparison.send))
        differing: Optional[list[int]] = None
        idle: Optional[int] = None
        try:
            while True:
                asked = step(differing)
                differing, idle = self._differing(node, asked, headers)
        except StopIteration as end:
            return (Answer.DIFFER if end.value else Answer.MATCH, end.value,
                    idle)
        except Refusal as refusal:
            return refusal.answer, set(), None

    def _differing(self, node: RingDevice, asked: Ask,
                   headers: Mapping[str, object]
                   ) -> tuple[list[int], Optional[int]]:
        """
        Ask one question of a comparison.

        :returns: the indices of the slices that differ, and the seconds that
            :meth:`ask` returns
        """
        partitions, roots = asked.partitions, asked.roots
        for with_list in ((True,) if len(partitions.encoded) <= DIGEST_BYTES
                          else (False, True)):
            resp, body = self._answer(node, ROOTS, headers, encode_roots(
                partitions, roots, with_list=with_list))
            verdict, differing = decode_reply(body, len(roots))
            if verdict is Verdict.COMPARED:
                return differing, _idle(resp)
        raise SyncMessageError('the set is unknown where it was just sent')

    def suffix_hashes(self, node: RingDevice, policy: StoragePolicy,
                      partitions: Collection[int]
                      ) -> dict[int, dict[str, str]]:
        """
        Ask a device for the suffix hashes of partitions.

        :param node: the device to ask
        :param policy: the StoragePolicy of the partitions
        :param partitions: their numbers
        :returns: the hash of each suffix, by partition; partitions that could
            not be hashed are left out
        :raises Refusal: if the device answers with an error; otherwise as
            :meth:`ask`
        """
        _, body = self._answer(
            node, SUFFIXES, {POLICY_HEADER: int(policy)},
            exchange_message.encode_suffixes(partitions))
        return exchange_message.decode_suffix_hashes(body, partitions)

    def missing(self, node: RingDevice, policy: StoragePolicy,
                offer: Mapping[int, Sequence[bytes]]
                ) -> missing_message.Wanted:
        """
        Offer objects to a device.

        :param node: the device
        :param policy: the StoragePolicy of the partitions
        :param offer: the lines of each partition
        :returns: which of the objects the device wants
        :raises: as :meth:`suffix_hashes`
        """
        _, body = self._answer(node, MISSING, {POLICY_HEADER: int(policy)},
                               missing_message.encode_offer(offer))
        return missing_message.decode_wanted(body, offer)

    def rehash(self, node: RingDevice, policy: StoragePolicy,
               suffixes: Mapping[int, Iterable[str]]) -> None:
        """
        Have a device hash suffixes anew, which rsync wrote to unnoticed.

        :param node: the device
        :param policy: the StoragePolicy of the partitions
        :param suffixes: the suffixes of each partition
        :raises: as :meth:`suffix_hashes`
        """
        self._answer(node, REHASH, {POLICY_HEADER: int(policy)},
                     exchange_message.encode_rehash(suffixes),
                     HTTP_NO_CONTENT)

    def notify(self, node: RingDevice, data: bytes) -> None:
        """
        Send a notice to a node.

        :param node: any device of the node
        :param data: the bytes of the notice
        :raises: as :meth:`ask`, but for SyncMessageError
        """
        self._request(node, NOTICE, {}, data)

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            for conn in self._idle.popitem()[1]:
                conn.close()

    def _answer(self, node: RingDevice, what: str,
                headers: Mapping[str, object], message: bytes,
                expected: int = HTTP_OK) -> tuple[_Response, bytes]:
        resp, body = self._request(node, what, headers, message)
        if resp.status in REFUSALS:
            raise Refusal(REFUSALS[resp.status])
        if resp.status != expected:
            raise SyncMessageError('answered with status %d' % resp.status)
        return resp, body

    def _request(self, node: RingDevice, what: str,
                 headers: Mapping[str, object],
                 message: bytes) -> tuple[_Response, bytes]:
        path = '/%s/%s' % (quote(node['device'], safe=''), what)
        idle = self._idle[endpoint(node)]
        while idle:
            conn = idle.pop()
            if not _is_quiet(conn):
                conn.close()
                continue
            try:
                return self._converse(conn, idle, path, headers, message)
            except (green_http_client.RemoteDisconnected, BrokenPipeError,
                    ConnectionResetError):
                # The server closed the idle connection; asking twice does no
                # harm.
                continue
        conn = self._connect(node)
        return self._converse(conn, idle, path, headers, message)

    def _connect(self, node: RingDevice) -> _Connection:
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

    def _converse(self, conn: _Connection, idle: list[_Connection], path: str,
                  headers: Mapping[str, object],
                  message: bytes) -> tuple[_Response, bytes]:
        keep = False
        try:
            with Timeout(self.http_timeout):
                _send(conn, path, headers, message)
                resp = conn.getresponse()
                # http.client allocates as much as is asked for.
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


def _idle(resp: _Response) -> Optional[int]:
    said = resp.getheader(IDLE_HEADER) or ''
    if said.isascii() and said.isdigit() and len(said) <= IDLE_DIGITS:
        return int(said)
    return None


def _is_quiet(conn: _Connection) -> bool:
    """
    Return whether a kept connection can be used again.

    It cannot if the peer has closed it, or has sent bytes that nobody asked
    for: they would be taken for the answer to the next message.
    """
    try:
        conn.sock.fd.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _send(conn: _Connection, path: str, headers: Mapping[str, object],
          message: bytes) -> None:
    """Send a request, in one packet if its headers and body fit."""
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
