# SPDX-License-Identifier: Apache-2.0
"""The costs of operations: bytes on the wire and seconds. The one place for
constants.

The bytes were measured with this project's object-server; the seconds are
those that the figures of the paper (LightSync, IEEE TPDS 29(9), 2018) imply.
"""

from dataclasses import dataclass

#: Ethernet, IP and TCP headers of a packet.
FRAME = 66
#: Bytes of payload that a packet carries.
SEGMENT = 1448
#: Packets besides those that carry a request and its answer: handshake,
#: acknowledgements and closing; on a connection that is kept, only the last
#: acknowledgement.
NEW_CONNECTION = 8
KEPT_CONNECTION = 1
#: Connection attempts that meet silence send this many packets.
UNANSWERED = 1
#: Head of a request and of its answer, by verb; lightsync: roots.
LIGHTSYNC_HEADS = (221, 116)
NOTICE_HEADS = (143, 104)
REPLICATE_HEADS = (171, 116)
#: The pickled suffix hashes in the answer to REPLICATE: empty, and each.
HASHES_BASE, HASHES_EACH = 6, 49
#: Bytes that rsync exchanges besides a file: file list, checksums.
RSYNC_BASE = 1200
#: A tombstone has no contents.
FILE_HEAD = 100


@dataclass(frozen=True)
class Costs:
    """Costs in seconds, except the last two.

    :param message: a REPLICATE or a sync message from request to answer,
        including the reading of hashes at both ends but not the latency
    :param fingerprint: reading the root of one of many partitions
    :param rehash: hashing a suffix anew
    :param push: an rsync of some suffixes of a partition
    :param push_suffix: each further suffix of one rsync of many partitions
    :param silence: how long stock Swift waits for a silent node
    :param conn_timeout: how long LightSync waits for a connection
    :param http_timeout: how long both wait for an answer
    :param bandwidth: bytes a second
    :param object_bytes: mean size of an object
    """
    message: float = 0.0029
    fingerprint: float = 0.0001
    rehash: float = 0.0047
    push: float = 0.146
    push_suffix: float = 0.0004
    silence: float = 0.5
    conn_timeout: float = 0.5
    http_timeout: float = 60.0
    bandwidth: float = 125e6
    object_bytes: int = 8192


#: Five servers on one switch, §3.1. A host that is unplugged is unreachable
#: once ARP gives up, 3 s: 262,144 of these are the paper's 220 hours.
LAB = Costs(silence=3.0)
#: 64 virtual machines, §6.3. A host that is gone swallows packets: 1,300
#: partitions that wait http_timeout for it are most of the 28 hours.
CLOUD = Costs(message=0.0031, rehash=0.0119, push=0.040, silence=60.0)
#: Swift 2.38 has a time-out for the connection as well.
TODAY = Costs()
COSTS = {'lab': LAB, 'cloud': CLOUD, 'today': TODAY}


def on_wire(heads, request, answer, kept):
    """Return the bytes on the wire, in both directions, of a request and its
    answer.

    :param heads: a pair, the heads of both
    :param request: bytes of the request's body
    :param answer: bytes of the answer's body
    :param kept: whether the connection existed before
    """
    payload = (heads[0] + request, heads[1] + answer)
    packets = sum(-(-size // SEGMENT) for size in payload)
    packets += KEPT_CONNECTION if kept else NEW_CONNECTION
    return sum(payload) + packets * FRAME
