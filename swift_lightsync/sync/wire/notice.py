# SPDX-License-Identifier: Apache-2.0
"""A notice: one node tells the others of a ring that another has failed.

LightSync §5.4.2. PROTOCOL.md, "Notices", is the format. A notice is a hint.
"""

import json
from dataclasses import dataclass
from typing import Literal

from swift_lightsync.common.address import Node, Place
from swift_lightsync.common.records import Record, RecordError, load_json

VERSION = 1
#: Longest notice that is read, bytes.
MAX_BYTES = 1024


class NoticeError(ValueError):
    """Bytes that are no notice, with the reason."""

    def __init__(self, reason: object) -> None:
        super().__init__('notice: %s' % reason)


@dataclass(frozen=True)
class _Versioned(Record):
    version: Literal[1]


@dataclass(frozen=True)
class Notice(Record):
    """What a notice says.

    :param reporter: the node that cannot reach the other
    :param failed: the node or device that it cannot reach
    """
    reporter: Node
    failed: Place

    def encode(self) -> bytes:
        """Return the bytes of the notice."""
        return json.dumps(
            {'version': VERSION, **self.to_json()}).encode('ascii')


def decode(data: bytes) -> Notice:
    """Decode a notice.

    :param data: the bytes of the notice
    :raises NoticeError: if they are no notice
    """
    try:
        document = load_json(data, MAX_BYTES)
        _Versioned.from_json(document)
        return Notice.from_json(document)
    except RecordError as err:
        raise NoticeError(err)
