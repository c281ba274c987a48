# SPDX-License-Identifier: Apache-2.0
"""
Where something is: (replication IP, port) of a node, and a device's name.

Keys of failure tables, senders of notices and rows of reports are places. All
of them come from files or from other nodes, as JSON.
"""

MAX_NAME = 255
MAX_PORT = 65535


def _is_name(value):
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME


def place(value, lengths=(2, 3)):
    """
    :param value: of JSON
    :param lengths: 2 if it may be a node, 3 if it may be a device
    :returns: a tuple, the place
    :raises ValueError: if the value is none
    """
    sound = (isinstance(value, list) and len(value) in lengths
             and all(map(_is_name, value[::2]))
             and type(value[1]) is int and 0 < value[1] <= MAX_PORT)
    if not sound:
        raise ValueError('%.80r must be [IP, port%s]' % (
            value, ', device' if 3 in lengths else ''))
    return tuple(value)


def node(value):
    """As :func:`place`, of a node."""
    return place(value, (2,))


def device(value):
    """As :func:`place`, of a device."""
    return place(value, (3,))


def parse_endpoint(value):
    """
    :param value: ``IP:port``, or None
    :returns: (IP, port), or None if it is none
    """
    ip, _, port = (value or '').rpartition(':')
    if not (port.isascii() and port.isdigit() and len(port) <= 5):
        return None
    try:
        return node([ip, int(port)])
    except ValueError:
        return None
