# SPDX-License-Identifier: Apache-2.0
"""
Where something is: the (IP, port) of a node, and the name of a device there.

An address is a tuple, so that it can be a key. Addresses come from files and
from other nodes as JSON: ``Node``, ``Device`` and ``Place`` are annotations
for the fields of records.
"""

from typing import Annotated, Any

from swift_lightsync.common.records import Parsed
from swift_lightsync.common.text import printable, shown

MAX_NAME = 255
MAX_PORT = 65535

NodeTuple = tuple[str, int]
DeviceTuple = tuple[str, int, str]
PlaceTuple = NodeTuple | DeviceTuple


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME


def _is_node(value: Any) -> bool:
    # A bool is an int to Python.
    return isinstance(value, list) and len(value) >= 2 and _is_name(
        value[0]) and type(value[1]) is int and 0 < value[1] <= MAX_PORT


def parse_node(value: Any) -> NodeTuple:
    """Read the address of a node.

    :param value: of JSON
    :returns: (IP, port)
    :raises ValueError: if it is none
    """
    if not _is_node(value) or len(value) != 2:
        raise ValueError('%s must be [IP, port]' % shown(value))
    return value[0], value[1]


def parse_device(value: Any) -> DeviceTuple:
    """Read the address of a device.

    :param value: of JSON
    :returns: (IP, port, name)
    :raises ValueError: if it is none
    """
    if not _is_node(value) or len(value) != 3 or not _is_name(value[2]):
        raise ValueError('%s must be [IP, port, device]' % shown(value))
    return value[0], value[1], value[2]


def parse_place(value: Any) -> PlaceTuple:
    """Read the address of a node or of a device.

    :param value: of JSON
    :returns: (IP, port) or (IP, port, name)
    :raises ValueError: if it is neither
    """
    return parse_node(value) if isinstance(value, list) and len(value) == 2 \
        else parse_device(value)


#: Annotations of a record's fields.
Node = Annotated[NodeTuple, Parsed(parse_node, of=Any, write=list)]
Device = Annotated[DeviceTuple, Parsed(parse_device, of=Any, write=list)]
Place = Annotated[PlaceTuple, Parsed(parse_place, of=Any, write=list)]


def parse_endpoint(value: str | None) -> NodeTuple | None:
    """Read ``IP:port``, as it stands in a header or on a command line.

    :param value: from anyone; None: there is none
    :returns: (IP, port), or None if it is no such thing
    """
    ip, _, port = (value or '').rpartition(':')
    if not (port.isascii() and port.isdigit() and len(port) <= 5):
        return None
    try:
        return parse_node([ip, int(port)])
    except ValueError:
        return None


def parse_host(value: str) -> NodeTuple:
    """Read ``IP:port`` or ``[IPv6]:port``, as an operator writes it.

    :param value: an argument or an option
    :returns: (IP without brackets, port)
    :raises ValueError: if it is none
    """
    found = parse_endpoint(value)
    if found is None:
        raise ValueError('%s must be IP:port' % shown(value))
    return found[0].strip('[]'), found[1]


def place_name(place: PlaceTuple) -> str:
    """Write an address for people.

    :param place: of a node or of a device, from anyone
    :returns: ``IP:port`` or ``IP:port/device``; what could steer a terminal
        is replaced
    """
    return printable('/'.join(['%s:%d' % place[:2], *place[2:]]))
