# SPDX-License-Identifier: Apache-2.0
"""The socket of an index server, and the gRPC server behind it."""

import contextlib
import os
import socket

from swift_losf.index.grpc_server import UnaryServer
from swift_losf.index.index_lock import ServerError
from swift_losf.memory_directory import (
    check_path,
    make_memory_directory,
    standby_socket,
)

#: seconds that calls may take that are under way when the server ends
GRACE = 5.0


def _bind(sock, layout):
    """Bind the socket; return its path, in memory if the disk takes none."""
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(layout.socket)
        sock.bind(layout.socket)
        return layout.socket
    except OSError:
        make_memory_directory(layout.root)
        path = standby_socket(layout.root)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        sock.bind(path)
        return path


def _listen(layout):
    """Return a socket that listens, and its path."""
    path = layout.socket
    try:
        check_path(path)
    except ValueError as err:
        raise ServerError(str(err)) from err
    sock = socket.socket(socket.AF_UNIX)
    mask = os.umask(0o177)
    try:
        path = _bind(sock, layout)
        sock.listen(socket.SOMAXCONN)
    except OSError as err:
        sock.close()
        raise ServerError('%s: cannot listen: %s' % (path, err)) from err
    finally:
        os.umask(mask)
    return sock, path


@contextlib.contextmanager
def listening(layout, service):
    """Serve on the socket, which only its owner may use.

    REQUIRES: index.lock; so a socket that exists is left from a server that
    was killed.
    """
    sock, path = _listen(layout)
    server = UnaryServer(sock, service)
    server.start()
    try:
        yield
    finally:
        # Clients that do nothing are not waited for.
        service.close(GRACE)
        server.close(GRACE)
        with contextlib.suppress(OSError):
            os.unlink(path)
