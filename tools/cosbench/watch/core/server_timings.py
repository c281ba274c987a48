# SPDX-License-Identifier: Apache-2.0
"""What Swift's servers say of their own requests by statsd.

Of ``proxy-server.object.GET.200.timing:12.3|ms`` and
``object-server.PUT.timing:4.5|ms`` the sums and counts by server and method
are kept, of ``object-server.async_pendings:1|c`` the count; the rest is passed
over. A number may follow the server, as in the log name ``object-server.1``.
What a packet can fill is bounded: a few servers and methods.
"""

import math
import re

from swift_lightsync.common.openmetrics import Family

#: Lines of a packet that are read, and milliseconds that are believed.
MAX_LINES, MAX_MS = 1000, 1e9
_TIMING = re.compile(
    r'(?:.*\.)?((?:proxy|account|container|object)-server)(?:\.\d+)?\.'
    r'(?:(?:account|container|object)\.)?(GET|HEAD|PUT|POST|DELETE)'
    r'(?:\.\d{3})?\.timing:([\d.]{1,20})\|ms.*', re.ASCII)
_PENDING = re.compile(
    r'(?:.*\.)?object-server(?:\.\d+)?\.async_pendings:(\d{1,9})\|c.*',
    re.ASCII)


class ServerTimings:
    """Adds up packets of statsd; ``families`` has the sums."""

    def __init__(self) -> None:
        #: (server, method) -> seconds, requests.
        self._sums: dict[tuple[str, str], list[float]] = {}
        self._pending = 0

    def take(self, packet: bytes) -> None:
        """Take a packet, from anyone."""
        for line in packet.decode('utf8', 'replace').split(
                '\n', MAX_LINES)[:MAX_LINES]:
            match = _TIMING.fullmatch(line)
            if match is not None:
                self._add(*match.groups())
                continue
            match = _PENDING.fullmatch(line)
            if match is not None:
                self._pending += int(match[1])

    def _add(self, server: str, method: str, text: str) -> None:
        try:
            value = float(text)
        except ValueError:
            return
        if not math.isfinite(value) or value > MAX_MS:
            return
        sums = self._sums.setdefault((server, method), [0.0, 0.0])
        sums[0] += value / 1000
        sums[1] += 1

    def families(self) -> list[Family]:
        """Return what was added up, as metrics."""
        took = Family('swift_request_seconds', 'counter',
                      'Seconds that requests to a server took.')
        done = Family('swift_requests', 'counter', 'Requests to a server.')
        for (server, method), (seconds, count) in sorted(self._sums.items()):
            took.add(seconds, server=server, method=method)
            done.add(count, server=server, method=method)
        return [took, done, Family(
            'swift_async_pendings', 'counter',
            'Updates that a container server did not take at once.').add(
                self._pending)]
