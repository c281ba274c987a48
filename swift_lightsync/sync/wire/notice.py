# SPDX-License-Identifier: Apache-2.0
"""
A notice: one node tells the others of a ring that another has failed.

LightSync §5.4.2. PROTOCOL.md, "Notices", is the format. A notice is a hint.
"""

import json
from dataclasses import dataclass
from typing import Any, Optional
from urllib.parse import quote, unquote

from swift_lightsync.common.places import (
    Device,
    Node,
    Place,
    node,
    parse_endpoint,
    place,
)

VERSION = 1
#: Longest notice that is read, bytes.
MAX_BYTES = 1024


class NoticeError(ValueError):
    """Bytes that are no notice, with the reason."""

    def __init__(self, reason: object) -> None:
        super().__init__('notice: %s' % reason)


@dataclass(frozen=True)
class Notice:
    """
    What a notice says.

    :param reporter: the node that cannot reach the other
    :param failed: the node or device that it cannot reach
    """
    reporter: Node
    failed: Place

    def encode(self) -> bytes:
        """Return the bytes of the notice."""
        return json.dumps({'version': VERSION, 'reporter': self.reporter,
                           'failed': self.failed}).encode('ascii')


def decode(data: bytes) -> Notice:
    """
    Decode a notice.

    :param data: the bytes of the notice
    :raises NoticeError: if they are no notice
    """
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as err:
        raise NoticeError(err)
    if not isinstance(fields, dict) or fields.get('version') != VERSION:
        raise NoticeError('must be an object of version %d' % VERSION)
    places: dict[str, Any] = {}
    for field, parse in (('reporter', node), ('failed', place)):
        try:
            places[field] = parse(fields.get(field))
        except ValueError as err:
            raise NoticeError('%s: %s' % (field, err))
    return Notice(**places)


def encode_sender(device: Device) -> str:
    """
    Return the value of the header that names the sender of a sync message.

    :param device: the sender
    :returns: ``IP:port/name``, the name as in a URL
    """
    ip, port, name = device
    return '%s:%d/%s' % (ip, port, quote(name, safe=''))


def parse_sender(value: Optional[str]) -> list[Place]:
    """
    Return the keys of failure tables that a sync message's sender has.

    :param value: as from :func:`encode_sender`, or None; the name may be
        missing
    :returns: the keys of its node and of the device; of the node alone if the
        name is missing, none if the value is not valid
    """
    where, slash, name = (value or '').partition('/')
    endpoint = parse_endpoint(where)
    if endpoint is None or not slash:
        return [endpoint] if endpoint else []
    try:
        return [endpoint, place([*endpoint, unquote(name)], (3,))]
    except ValueError:
        return []
