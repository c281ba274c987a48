# SPDX-License-Identifier: Apache-2.0
"""Writes objects by the object-servers, which then know that they changed.

``python -m tools.benchmarks.sync_writes`` runs where the servers can be
reached; standard input has a JSON list of the arguments of ``put``.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

from swift.common.direct_client import direct_put_object

#: Seconds that one write may take.
TIMEOUT = 60


def put(node: dict[str, Any], path: list[Any], timestamp: str,
        size: int) -> None:
    """Write an object to one device.

    :param node: the device, as the ring names it
    :param path: partition, account, container, object
    :param timestamp: of the object, as Swift writes it
    :param size: bytes
    :raises ClientException: if the server does not take it
    """
    direct_put_object(node, *path, [bytes(size)], size,
                      content_type='application/octet-stream',
                      headers={'X-Timestamp': timestamp},
                      response_timeout=TIMEOUT)


def write(cluster: Any, writes: Iterable[tuple[Any, ...]]) -> None:
    """Have ``put`` called with each of the arguments, among the nodes."""
    subprocess.run(cluster.network.command(
        None, [sys.executable, '-m', __name__]), check=True,
        input=json.dumps(list(writes)).encode('ascii'),
        env=cluster.environment())


if __name__ == '__main__':
    for arguments in json.load(sys.stdin):
        put(*arguments)
