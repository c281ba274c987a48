# SPDX-License-Identifier: Apache-2.0
"""The bytes of the messages of a conversation between two nodes.

A question is a sync message about a set of many devices; its answer tells how
each of them is as well. PROTOCOL.md, "A conversation", is the format.
"""

import struct
from collections.abc import Sequence

from swift_lightsync.sync.core.comparison import UNREAD
from swift_lightsync.sync.core.conversation import (
    Condition,
    DeviceState,
    SharedReply,
)
from swift_lightsync.sync.core.partition_set import NamedSet
from swift_lightsync.sync.core.shared_set import SharedSet
from swift_lightsync.sync.wire.sync_message import (
    NUMBER,
    Roots,
    SyncMessageError,
    Verdict,
    decode_roots,
    encode_roots,
    pack,
    unpack,
)

SHARED, SHARED_REPLY = 8, 9

#: verdict, slices that differ, devices
REPLY_FIELDS = struct.Struct('<HII')
#: condition, seconds
STATE = struct.Struct('<BI')
MAX_SECONDS = 0xffffffff


def encode_question(partitions: NamedSet, roots: Sequence[str],
                    with_list: bool = True) -> bytes:
    """Return the bytes of a question; as ``sync_message.encode_roots``."""
    return encode_roots(partitions, roots, with_list, SHARED)


def decode_question(data: bytes) -> Roots:
    """Decode a question; as ``sync_message.decode_roots``."""
    return decode_roots(data, SHARED, SharedSet.decode)


def encode_reply(verdict: Verdict, differing: Sequence[int] = (),
                 states: Sequence[DeviceState] = ()) -> bytes:
    """Return the bytes of an answer.

    :param verdict: COMPARED; UNKNOWN_SET; NOT_YET if some device is not ready
    :param differing: as of ``comparison.differing_slices``
    :param states: of the devices, in the order of the set
    """
    return pack(SHARED_REPLY,
                REPLY_FIELDS.pack(verdict, len(differing), len(states)),
                struct.pack('<%dI' % len(differing), *differing),
                b''.join(STATE.pack(state.condition,
                                    min(state.seconds, MAX_SECONDS))
                         for state in states))


def decode_reply(data: bytes, slices: int, devices: int
                 ) -> tuple[Verdict, SharedReply]:
    """Decode an answer.

    :param data: the bytes of the answer
    :param slices: how many roots the question had
    :param devices: how many devices its set has
    :returns: the verdict, and the reply
    :raises SyncMessageError: if it is no answer to such a question
    """
    (verdict, count, said), rest = unpack(SHARED_REPLY, REPLY_FIELDS, data)
    if verdict not in list(Verdict):
        raise SyncMessageError('verdict is %d' % verdict)
    if said != (0 if verdict == Verdict.UNKNOWN_SET else devices):
        raise SyncMessageError('%d devices, %d were asked about'
                               % (said, devices))
    at = count * NUMBER.size
    if len(rest) != at + said * STATE.size:
        raise SyncMessageError('%d bytes for %d slices and %d devices'
                               % (len(rest), count, said))
    differing = [index for index, in NUMBER.iter_unpack(rest[:at])]
    indices = [index & ~UNREAD for index in differing]
    if any(a >= b for a, b in zip(indices, indices[1:])):
        raise SyncMessageError('slices do not ascend')
    if indices and (indices[-1] >= slices or verdict != Verdict.COMPARED):
        raise SyncMessageError('slice %d differs, but %d were asked for'
                               % (indices[-1], slices))
    states = [_state(*fields) for fields in STATE.iter_unpack(rest[at:])]
    if verdict == Verdict.NOT_YET and all(
            state.condition is Condition.READY for state in states):
        raise SyncMessageError('nothing was compared, though all is ready')
    return Verdict(verdict), SharedReply(verdict == Verdict.COMPARED,
                                         differing, states)


def _state(condition: int, seconds: int) -> DeviceState:
    if condition not in list(Condition):
        raise SyncMessageError('condition is %d' % condition)
    return DeviceState(Condition(condition), seconds)
