# SPDX-License-Identifier: Apache-2.0
"""
A notice: one node tells the others of a ring that another has failed.

LightSync §5.4.2. PROTOCOL.md, "Notices", is the format. A notice is a hint.
"""

import json
from dataclasses import dataclass
from urllib.parse import quote, unquote

from swift_lightsync.common.places import node, parse_endpoint, place

VERSION = 1
#: Longest notice that is read, bytes.
MAX_BYTES = 1024


class NoticeError(ValueError):
    """Bytes that are no notice, with the reason."""

    def __init__(self, reason):
        super().__init__('notice: %s' % reason)


@dataclass(frozen=True)
class Notice:
    """
    :param reporter: who cannot reach the other: (replication IP, port)
    :param failed: whom: (IP, port), or (IP, port, device)
    """
    reporter: tuple
    failed: tuple

    def encode(self):
        """:returns: the bytes of the notice"""
        return json.dumps({'version': VERSION, 'reporter': self.reporter,
                           'failed': self.failed}).encode('ascii')


def decode(data):
    """
    :param data: the bytes of a notice
    :returns: a :class:`Notice`
    :raises NoticeError: if they are none
    """
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as err:
        raise NoticeError(err)
    if not isinstance(fields, dict) or fields.get('version') != VERSION:
        raise NoticeError('must be an object of version %d' % VERSION)
    places = {}
    for field, parse in (('reporter', node), ('failed', place)):
        try:
            places[field] = parse(fields.get(field))
        except ValueError as err:
            raise NoticeError('%s: %s' % (field, err))
    return Notice(**places)


def encode_sender(device):
    """
    :param device: (IP, port, name)
    :returns: ``IP:port/name``, the name as in a URL
    """
    ip, port, name = device
    return '%s:%d/%s' % (ip, port, quote(name, safe=''))


def parse_sender(value):
    """
    :param value: as from :func:`encode_sender`, or None; the name may be
        missing
    :returns: the keys of failure tables that speak of the sender: of its
        node, and of the device; none if the value is none
    """
    where, slash, name = (value or '').partition('/')
    endpoint = parse_endpoint(where)
    if endpoint is None or not slash:
        return [endpoint] if endpoint else []
    try:
        return [endpoint, place([*endpoint, unquote(name)], (3,))]
    except ValueError:
        return []
