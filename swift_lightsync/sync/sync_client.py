# SPDX-License-Identifier: Apache-2.0
"""The replicator's side of sync messages."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from swift.common.concurrency import tpool
from swift.common.http import HTTP_NO_CONTENT, HTTP_OK
from swift.common.storage_policy import StoragePolicy

from swift_lightsync.common.address import NodeTuple
from swift_lightsync.sync import missing_message
from swift_lightsync.sync.connections import REFUSALS, Connections, Refusal
from swift_lightsync.sync.core.compact_set import CompactSet
from swift_lightsync.sync.core.conversation import (
    Ask,
    Conversation,
    SharedReply,
    SharedTold,
    converse,
    narrow_down,
)
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.root_tree import RootTree
from swift_lightsync.sync.core.shared_set import SharedItem
from swift_lightsync.sync.names import (
    HAND_OFF_HEADER,
    MISSING,
    NOTICE,
    POLICY_HEADER,
    REHASH,
    ROOTS,
    SENDER_HEADER,
    SUFFIXES,
)
from swift_lightsync.sync.wire import exchange_message
from swift_lightsync.sync.wire.sync_message import (
    SyncMessageError,
    Verdict,
    decode_reply,
    encode_roots,
)

#: Bytes of a set of a conversation that is sent at once.
SHORT = 64
#: Roots that are compared without a thread, which costs more than it saves.
AT_ONCE = 64


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

    def ask_shared(self, sender: NodeTuple | None, node: RingDevice,
                   roots: Mapping[SharedItem, str],
                   hand_offs: bool = False) -> SharedTold:
        """Compare the roots of partitions with those of a node's devices.

        :param sender: the local node, if the ring names it
        :param node: any device of the node
        :param roots: the root of each partition
        :param hand_offs: whether they are hand-offs here
        :returns: what the node says
        :raises Refusal: if it answers with an error, or puts us off
        :raises ConnectFailure: if the node cannot be reached
        :raises SyncMessageError: if the answer makes no sense
        :raises Timeout: if no answer comes in time
        :raises OSError, HTTPException: if the connection broke
        """
        return self._converse(sender, node, converse(roots),
                              len(roots) <= AT_ONCE, hand_offs)

    def ask_standing(self, sender: NodeTuple | None, node: RingDevice,
                     items: CompactSet, tree: RootTree) -> SharedTold:
        """Compare a standing set; as :meth:`ask_shared`.

        :param items: the set
        :param tree: the roots of its partitions
        """
        return self._converse(sender, node, narrow_down(items, tree))

    def _converse(self, sender: NodeTuple | None, node: RingDevice,
                  conversation: Conversation, at_once: bool = True,
                  hand_offs: bool = False) -> SharedTold:
        headers = _headers(hand_offs)
        if sender:
            headers[SENDER_HEADER] = '%s:%d' % sender
        # Hashing many roots would keep other greenthreads waiting.
        step = conversation.send if at_once \
            else partial(tpool.execute, conversation.send)
        reply: Any = None
        try:
            while True:
                reply = self._shared_reply(node, step(reply), headers)
        except StopIteration as end:
            told: SharedTold = end.value
            return told

    def _shared_reply(self, node: RingDevice, asked: Ask,
                      headers: Mapping[str, object]) -> SharedReply:
        items = asked.partitions
        for with_list in ((True,) if len(items.encoded) <= SHORT
                          else (False, True)):
            body = self._answer(node, ROOTS, headers, encode_roots(
                items, asked.roots, with_list))
            verdict, reply = decode_reply(body, len(asked.roots),
                                          len(items.devices))
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
        :raises: as :meth:`ask_shared`
        """
        body = self._answer(
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
        body = self._answer(node, MISSING, {POLICY_HEADER: int(policy)},
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
        :raises: as :meth:`ask_shared`, but for SyncMessageError
        """
        self.connections.request(node, NOTICE, {}, data)

    def _answer(self, node: RingDevice, what: str,
                headers: Mapping[str, object], message: bytes,
                expected: int = HTTP_OK) -> bytes:
        resp, body = self.connections.request(node, what, headers, message)
        if resp.status in REFUSALS:
            raise Refusal(REFUSALS[resp.status])
        if resp.status != expected:
            raise SyncMessageError('answered with status %d' % resp.status)
        return body


def _headers(hand_offs: bool,
             policy: StoragePolicy | None = None) -> dict[str, object]:
    headers: dict[str, object] = {}
    if policy is not None:
        headers[POLICY_HEADER] = int(policy)
    if hand_offs:
        headers[HAND_OFF_HEADER] = 'yes'
    return headers
