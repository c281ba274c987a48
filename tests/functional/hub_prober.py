# SPDX-License-Identifier: Apache-2.0
"""How long an event loop lets a request wait that needs no disk.

    python -m tests.functional.hub_prober ADDRESS PORT

Asks for /healthcheck every 10 ms, until its standard input is closed; then
prints the longest wait and how many there were, as JSON.
"""

import http.client
import json
import select
import sys
import time

INTERVAL = 0.01


def main(address, port):
    """:returns: the longest wait in seconds, and how many there were"""
    connection = http.client.HTTPConnection(address, port, timeout=60)
    longest = asked = 0
    while not select.select([sys.stdin], [], [], INTERVAL)[0]:
        started = time.monotonic()
        connection.request('GET', '/healthcheck')
        if connection.getresponse().read() != b'OK':
            raise SystemExit('%s:%s is not healthy' % (address, port))
        longest = max(longest, time.monotonic() - started)
        asked += 1
    return longest, asked


if __name__ == '__main__':
    print(json.dumps(main(*sys.argv[1:])))
