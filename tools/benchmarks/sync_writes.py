# SPDX-License-Identifier: Apache-2.0
"""Writes objects by the object-servers, which then know that they changed.

``python -m tools.benchmarks.sync_writes`` runs where the servers can be
reached; standard input has a JSON list of the arguments of ``put``.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote

#: Seconds that one write may take.
TIMEOUT = 60


def put(ip: str, port: int, path: str, timestamp: str, size: int) -> None:
    """Write an object to one device.

    :param path: /device/partition/account/container/object
    :param timestamp: of the object, as Swift writes it
    :param size: bytes
    """
    connection = HTTPConnection(ip, port, timeout=TIMEOUT)
    try:
        connection.request('PUT', quote(path), bytes(size), {
            'X-Timestamp': timestamp,
            'Content-Type': 'application/octet-stream'})
        status = connection.getresponse().status
        if status != 201:
            raise SystemExit('PUT %s to %s:%d: status %d'
                             % (path, ip, port, status))
    finally:
        connection.close()


def write(cluster: Any, writes: Iterable[tuple[str, int, str, str, int]]
          ) -> None:
    """Have ``put`` called with each of the arguments, among the nodes."""
    subprocess.run(cluster.network.command(
        None, [sys.executable, '-m', __name__]), check=True,
        input=json.dumps(list(writes)).encode('ascii'),
        env=cluster.environment())


if __name__ == '__main__':
    for arguments in json.load(sys.stdin):
        put(*arguments)
