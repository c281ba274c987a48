# SPDX-License-Identifier: Apache-2.0
"""A peer for replicators under test: Swift's own object-server.

Swift's replicator tests put a mock where the replicator opens its HTTP
connections, and the mock knows REPLICATE only. A message of ours goes out by
a connection of its own, past the mock. Here it finds what those tests stand
for, a node that runs stock Swift: a real object-server on the address and
port that the tests' rings name, which answers an unknown verb with 405.
"""

import os
import sys
import threading

from swift.common.concurrency import eventlet, wsgi
from swift.common.utils import NullLogger
from swift.obj.server import ObjectController

PORT = 6200
READY = 'ready'


def _end_with_parent():
    sys.stdin.read()
    os._exit(0)


def main(devices):
    """
    Serve until stdin is closed, which the parent's end does at the latest.

    The word READY is printed once it listens.

    :param devices: a directory that takes the place of /srv/node
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    listener = eventlet.listen(('0.0.0.0', PORT))
    app = ObjectController({'devices': devices, 'mount_check': 'false'})
    print(READY, flush=True)
    wsgi.server(listener, app, NullLogger())


if __name__ == '__main__':
    main(sys.argv[1])
