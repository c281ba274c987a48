# SPDX-License-Identifier: Apache-2.0
"""Ports: which are free, who listens, whether a daemon does already."""

import collections
import contextlib
import random
import socket

import psutil

from swift_losf.memory_directory import connect
from tools import ToolError
from tools.cluster.layout import CLUSTER_PORTS, NODE_PORTS, port

#: the state of a listening socket in /proc/net/tcp
LISTENING = '0A'
#: below the range from which the kernel takes ports for outgoing connections
SEARCHED = range(21000, 32000, 10)
#: the last ports that were found, kept from others until they are bound
_reserved: collections.deque[contextlib.ExitStack] = collections.deque()
RESERVED = 8


def bind_error(ip: str, number: int) -> str:
    """Return why nothing can listen there, '' if something could."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((ip, number))
        except OSError as err:
            return err.strerror or str(err)
    return ''


def free_base_port(nodes: int = 5) -> int:
    """Return a base port whose ports are free now on every address.

    :param nodes: the number of nodes of the cluster
    :raises ToolError: if there is none
    """
    # in no order, so that two who search at once seldom look at the same
    for base in random.sample(SEARCHED, len(SEARCHED)):
        wanted = [port(base, name) for name in CLUSTER_PORTS] + [
            port(base, name, node) for name in NODE_PORTS
            for node in range(1, nodes + 1)]
        if not any(bind_error('0.0.0.0', each) for each in wanted) and \
                _reserve(base, max(wanted)):
            return base
    raise ToolError('no free ports for a cluster from %d to %d; end what '
                    'uses them' % (SEARCHED[0], SEARCHED[-1]))


def _reserve(first: int, last: int) -> bool:
    """Keep ports from other processes that search, for as long as it takes.

    An abstract Unix socket stands for each ten ports; it goes with its
    process, and when so many later ones have been found.
    """
    with contextlib.ExitStack() as stack:
        for each in range(first, last + 1, SEARCHED.step):
            held = stack.enter_context(socket.socket(socket.AF_UNIX))
            try:
                held.bind('\0swift-lightsync-ports-%d' % each)
            except OSError:
                return False
        _reserved.append(stack.pop_all())
    if len(_reserved) > RESERVED:
        _reserved.popleft().close()
    return True


def owner(ip: str, number: int) -> str:
    """Return 'pid 12 (memcached)' for who listens there; '': unknown."""
    for each in psutil.net_connections('tcp'):
        if each.status == psutil.CONN_LISTEN and each.pid and each.laddr in (
                (ip, number), ('0.0.0.0', number), ('::', number)):
            return 'pid %d (%s)' % (each.pid, psutil.Process(each.pid).name())
    return ''


def listens(pid: int, ip: str, number: int) -> bool:
    """Return whether anything in the network of a process listens there."""
    local = '%s:%04X' % (socket.inet_aton(ip)[::-1].hex().upper(), number)
    try:
        with open('/proc/%d/net/tcp' % pid) as table:
            rows = [line.split() for line in table]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return any(row[1] == local and row[3] == LISTENING for row in rows)


def answers(path: str) -> bool:
    """Return whether an index server listens on its socket."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            connect(client, path)
        except OSError:
            return False
    return True
