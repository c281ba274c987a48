# SPDX-License-Identifier: Apache-2.0
"""
Addresses of nodes and devices, as they come from files and other nodes.

A node is (replication IP, port), a device (replication IP, port, name). Keys
of failure tables, senders of notices and rows of reports are such addresses.
"""

from typing import Any, Optional, Union, cast

Node = tuple[str, int]
Device = tuple[str, int, str]
Place = Union[Node, Device]

MAX_NAME = 255
MAX_PORT = 65535


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME


def place(value: Any, lengths: tuple[int, ...] = (2, 3)) -> Place:
    """
    Return a value of JSON as the address of a node or a device.

    :param value: the value: [IP, port] or [IP, port, device]
    :param lengths: 2 if it may be a node, 3 if it may be a device
    :returns: the address
    :raises ValueError: if the value is no such address
    """
    sound = (isinstance(value, list) and len(value) in lengths
             and all(map(_is_name, value[::2]))
             and type(value[1]) is int and 0 < value[1] <= MAX_PORT)
    if not sound:
        raise ValueError('%.80r must be [IP, port%s]' % (
            value, ', device' if 3 in lengths else ''))
    return cast(Place, tuple(value))


def node(value: Any) -> Node:
    """Return a value of JSON as a node's address; as :func:`place`."""
    return cast(Node, place(value, (2,)))


def device(value: Any) -> Device:
    """Return a value of JSON as a device's address; as :func:`place`."""
    return cast(Device, place(value, (3,)))


def parse_endpoint(value: Optional[str]) -> Optional[Node]:
    """
    Return an ``IP:port`` as the address of a node.

    :param value: the text, or None
    :returns: (IP, port), or None if the text is no such address
    """
    ip, _, port = (value or '').rpartition(':')
    if not (port.isascii() and port.isdigit() and len(port) <= 5):
        return None
    try:
        return node([ip, int(port)])
    except ValueError:
        return None
