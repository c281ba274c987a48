# SPDX-License-Identifier: Apache-2.0
"""The replicator's side of sync messages."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Optional

from swift.common.bufferedhttp import BufferedHTTPResponse
from swift.common.concurrency import tpool
from swift.common.http import HTTP_NO_CONTENT, HTTP_OK
from swift.common.storage_policy import StoragePolicy

from swift_lightsync.common.address import DeviceTuple, NodeTuple
from swift_lightsync.sync import missing_message
from swift_lightsync.sync.connections import REFUSALS, Connections, Refusal
from swift_lightsync.sync.core.compact_set import CompactSet
from swift_lightsync.sync.core.comparison import Ask, compare
from swift_lightsync.sync.core.conversation import (
    SharedReply,
    SharedTold,
    Told,
    converse,
)
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.root_tree import RootTree
from swift_lightsync.sync.core.shared_set import SharedItem, SharedSet
from swift_lightsync.sync.core.standing import narrow_down
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.names import (
    HAND_OFF_HEADER,
    IDLE_HEADER,
    MISSING,
    NOTICE,
    POLICY_HEADER,
    REHASH,
    ROOTS,
    SENDER_HEADER,
    SHARED,
    SUFFIXES,
)
from swift_lightsync.sync.wire import exchange_message, shared_message
from swift_lightsync.sync.wire.notice import encode_sender
from swift_lightsync.sync.wire.sync_message import (
    DIGEST_BYTES,
    SyncMessageError,
    Verdict,
    decode_reply,
    encode_roots,
)

#: Bytes of a set of a conversation that is sent at once.
SHORT = 64
#: Roots that are compared without a thread, which costs more than it saves.
AT_ONCE = 64
#: Most digits of the seconds for which a device may have been idle.
IDLE_DIGITS = 10


class SyncClient:
    """Sends sync messages to the replication ports of object-servers.

    :param conn_timeout: seconds a connection may take
    :param http_timeout: seconds an answer may take: the peer may have
        suffixes to hash first
    """

    def __init__(self, conn_timeout: float, http_timeout: float) -> None:
        self.connections = Connections(conn_timeout, http_timeout)

    def close(self) -> None:
        """Close the connections that are not in use."""
        self.connections.close()

    def ask(self, sender: Optional[DeviceTuple], node: RingDevice,
            policy: StoragePolicy, roots: Mapping[int, str],
            hand_offs: bool = False) -> Told:
        """Compare the roots of partitions with those of a device.

        :param sender: the local device, if the ring names it
        :param node: the device to ask
        :param policy: the StoragePolicy of the partitions
        :param roots: the root of each partition, by its number
        :param hand_offs: whether they are hand-offs here
        :returns: what it says
        :raises Refusal: if it puts us off
        :raises ConnectFailure: if the node cannot be reached
        :raises SyncMessageError: if the answer makes no sense
        :raises Timeout: if no answer comes in time
        :raises OSError, HTTPException: if the connection broke
        """
        headers = _headers(hand_offs, policy)
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
            found = end.value
            return Told(Answer.DIFFER if found.differing else Answer.MATCH,
                        found.differing, idle, found.unread)
        except Refusal as refusal:
            if refusal.is_postponement:
                raise
            return Told(refusal.answer)

    def _differing(self, node: RingDevice, asked: Ask,
                   headers: Mapping[str, object]
                   ) -> tuple[list[int], Optional[int]]:
        """Ask one question of a comparison.

        :returns: the answer of ``comparison.differing_slices``, and the
            seconds since the device's rounds were played
        :raises Refusal: if the device puts us off
        """
        partitions, roots = asked.partitions, asked.roots
        for with_list in ((True,) if len(partitions.encoded) <= DIGEST_BYTES
                          else (False, True)):
            resp, body = self._answer(node, ROOTS, headers, encode_roots(
                partitions, roots, with_list=with_list))
            verdict, differing = decode_reply(body, len(roots))
            if verdict is Verdict.COMPARED:
                return differing, _idle(resp)
            if verdict is Verdict.NOT_YET:
                raise Refusal(Answer.NOT_YET, differing[0])
        raise SyncMessageError('the set is unknown where it was just sent')

    def ask_shared(self, sender: Optional[NodeTuple], node: RingDevice,
                   roots: Mapping[SharedItem, str],
                   hand_offs: bool = False) -> SharedTold:
        """Compare the roots of partitions with those of a node's devices.

        :param sender: the local node, if the ring names it
        :param node: any device of the node
        :param roots: the root of each partition
        :param hand_offs: whether they are hand-offs here
        :returns: what the node says
        :raises: as :meth:`suffix_hashes`
        """
        conversation = converse(roots)
        return self._converse(
            sender, node, conversation.send if len(roots) <= AT_ONCE
            else partial(tpool.execute, conversation.send), hand_offs)

    def ask_standing(self, sender: Optional[NodeTuple], node: RingDevice,
                     items: CompactSet, tree: RootTree) -> SharedTold:
        """Compare a standing set; as :meth:`ask_shared`.

        :param items: the set
        :param tree: the roots of its partitions
        """
        return self._converse(sender, node, narrow_down(items, tree).send)

    def _converse(self, sender: Optional[NodeTuple], node: RingDevice,
                  step: Callable[[Any], Any],
                  hand_offs: bool = False) -> SharedTold:
        headers = _headers(hand_offs)
        if sender:
            headers[SENDER_HEADER] = '%s:%d' % sender
        reply: Optional[SharedReply] = None
        try:
            while True:
                reply = self._shared_reply(node, step(reply), headers)
        except StopIteration as end:
            told: SharedTold = end.value
            return told

    def _shared_reply(self, node: RingDevice, asked: Any,
                      headers: Mapping[str, object]) -> SharedReply:
        items = asked.partitions
        if not isinstance(items, (SharedSet, CompactSet)):
            raise TypeError('%r is no shared set' % type(items))
        for with_list in ((True,) if len(items.encoded) <= SHORT
                          else (False, True)):
            _, body = self._answer(
                node, SHARED, headers, shared_message.encode_question(
                    items, asked.roots, with_list))
            verdict, reply = shared_message.decode_reply(
                body, len(asked.roots), len(items.devices))
            if verdict is not Verdict.UNKNOWN_SET:
                return reply
        raise SyncMessageError('the set is unknown where it was just sent')

    def suffix_hashes(self, node: RingDevice, policy: StoragePolicy,
                      partitions: Collection[int], hand_offs: bool = False
                      ) -> dict[int, dict[str, str]]:
        """Ask a device for the suffix hashes of partitions.

        :param node: the device to ask
        :param policy: the StoragePolicy of the partitions
        :param partitions: their numbers
        :param hand_offs: whether they are hand-offs here
        :returns: the hash of each suffix, by partition; partitions that could
            not be hashed are left out
        :raises Refusal: if the device answers with an error; otherwise as
            :meth:`ask`
        """
        _, body = self._answer(
            node, SUFFIXES, _headers(hand_offs, policy),
            exchange_message.encode_suffixes(partitions))
        return exchange_message.decode_suffix_hashes(body, partitions)

    def missing(self, node: RingDevice, policy: StoragePolicy,
                offer: Mapping[int, Sequence[bytes]]
                ) -> missing_message.Wanted:
        """Offer objects to a device.

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
        """Have a device hash suffixes anew, which rsync wrote to unnoticed.

        :param node: the device
        :param policy: the StoragePolicy of the partitions
        :param suffixes: the suffixes of each partition
        :raises: as :meth:`suffix_hashes`
        """
        self._answer(node, REHASH, {POLICY_HEADER: int(policy)},
                     exchange_message.encode_rehash(suffixes),
                     HTTP_NO_CONTENT)

    def notify(self, node: RingDevice, data: bytes) -> None:
        """Send a notice to a node.

        :param node: any device of the node
        :param data: the bytes of the notice
        :raises: as :meth:`ask`, but for SyncMessageError
        """
        self.connections.request(node, NOTICE, {}, data)

    def _answer(self, node: RingDevice, what: str,
                headers: Mapping[str, object], message: bytes,
                expected: int = HTTP_OK
                ) -> tuple[BufferedHTTPResponse, bytes]:
        resp, body = self.connections.request(node, what, headers, message)
        if resp.status in REFUSALS:
            raise Refusal(REFUSALS[resp.status], status=resp.status)
        if resp.status != expected:
            raise SyncMessageError('answered with status %d' % resp.status)
        return resp, body


def _headers(hand_offs: bool,
             policy: Optional[StoragePolicy] = None) -> dict[str, object]:
    headers: dict[str, object] = {}
    if policy is not None:
        headers[POLICY_HEADER] = int(policy)
    if hand_offs:
        headers[HAND_OFF_HEADER] = 'yes'
    return headers


def _idle(resp: BufferedHTTPResponse) -> Optional[int]:
    said = resp.getheader(IDLE_HEADER) or ''
    if said.isascii() and said.isdigit() and len(said) <= IDLE_DIGITS:
        return int(said)
    return None
