# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""
How long an event loop lets a request wait that needs no disk.

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
