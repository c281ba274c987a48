# SPDX-License-Identifier: Apache-2.0
"""Who fails to log in waits, longer each time."""

import ipaddress
import time

#: Failures that cost nothing: people mistype.
FREE = 3
#: Seconds after the next one, and at most; each doubles it.
FIRST, LONGEST = 2.0, 300.0
#: Addresses that are remembered, and seconds after which one is not.
MOST, MEMORY = 1000, 3600.0


class Lockout:
    """
    :param clock: seconds, monotonic
    """

    def __init__(self, clock=time.monotonic):
        self._clock = clock
        #: network -> (failures, when the last was), the oldest first.
        self._failures = {}

    def wait(self, address):
        """
        :param address: of a client, as text, or None
        :returns: seconds for which it may not try; 0: it may
        """
        count, last = self._failures.get(_network(address), (0, 0.0))
        if count <= FREE:
            return 0.0
        delay = min(LONGEST, FIRST * 2.0 ** min(count - FREE - 1, 30))
        return max(0.0, last + delay - self._clock())

    def failed(self, address):
        now, network = self._clock(), _network(address)
        count, last = self._failures.pop(network, (0, now))
        if now - last > MEMORY:
            count = 0
        if len(self._failures) >= MOST:
            del self._failures[next(iter(self._failures))]
        self._failures[network] = (count + 1, now)

    def passed(self, address):
        self._failures.pop(_network(address), None)


def _network(address):
    """Of IPv6 one has 2**64 addresses: they count as one."""
    try:
        found = ipaddress.ip_address((address or '').partition('%')[0])
    except ValueError:
        return address
    if found.version == 4:
        return str(found)
    return str(ipaddress.ip_network((found, 64), strict=False))
