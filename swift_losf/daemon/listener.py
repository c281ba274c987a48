# SPDX-License-Identifier: Apache-2.0
"""The socket of an index server, and the grpcio server behind it."""

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor

import grpc

from swift_losf.index.index_lock import ServerError
from swift_losf.memory_directory import make_memory_directory, standby_socket

#: of Linux, for the path of a socket
MAX_SOCKET_PATH = 107
#: calls that are answered at a time, and that may wait for it: the next ones
#: are refused with RESOURCE_EXHAUSTED
WORKERS = 8
MAX_CALLS = 1024
MAX_REQUEST = 2 ** 20
#: seconds that calls may take that are under way when the server ends
GRACE = 5.0


def _bind(server, layout):
    """Bind the socket; return its path, in memory if the disk takes none."""
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(layout.socket)
        server.add_insecure_port('unix:' + layout.socket)
        return layout.socket
    except (RuntimeError, OSError):
        make_memory_directory(layout.root)
        path = standby_socket(layout.root)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        server.add_insecure_port('unix:' + path)
        return path


@contextlib.contextmanager
def listening(layout, service):
    """
    Serve on the socket, which only its owner may use.

    REQUIRES: index.lock; so a socket that exists is left from a server that
    was killed.
    """
    path = layout.socket
    if len(os.fsencode(path)) > MAX_SOCKET_PATH:
        raise ServerError('%s: a socket path must have at most %d bytes'
                          % (path, MAX_SOCKET_PATH))
    server = grpc.server(
        ThreadPoolExecutor(WORKERS, 'call'), (service.handler(),),
        options=(('grpc.max_receive_message_length', MAX_REQUEST),
                 ('grpc.so_reuseport', 0)),
        maximum_concurrent_rpcs=MAX_CALLS)
    mask = os.umask(0o177)
    try:
        path = _bind(server, layout)
        server.start()
    except (RuntimeError, OSError) as err:
        raise ServerError('%s: cannot listen: %s' % (path, err)) from err
    finally:
        os.umask(mask)
    try:
        yield
    finally:
        # Not server.stop(GRACE), which waits for clients that do nothing.
        service.close(GRACE)
        server.stop(None).wait()
        with contextlib.suppress(OSError):
            os.unlink(path)
