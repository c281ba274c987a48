# SPDX-License-Identifier: Apache-2.0
"""Makes those wait, longer each time, who fail to log in."""

import ipaddress
import time

from swift_lightsync.common.backoff import delay_after

#: Failures that cost nothing: people mistype.
FREE = 3
#: Seconds after the next one, and at most; each doubles it.
FIRST, LONGEST = 2.0, 300.0
#: Addresses that are remembered, and seconds after which one is not.
MOST, MEMORY = 1000, 3600.0


class Lockout:
    """
    Counts failed logins of each address.

    :param clock: seconds, monotonic
    """

    def __init__(self, clock=time.monotonic):
        self._clock = clock
        #: network -> (failures, when the last was), the oldest first.
        self._failures = {}

    def wait(self, address):
        """
        Return how long a client has to wait.

        :param address: of the client, as text, or None
        :returns: seconds for which it may not try; 0: it may
        """
        count, last = self._failures.get(_network(address), (0, 0.0))
        delay = delay_after(count - FREE, FIRST, LONGEST)
        return max(0.0, last + delay - self._clock()) if delay else 0.0

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
    """Return what counts as one: of IPv6 anyone has 2**64 addresses."""
    try:
        found = ipaddress.ip_address((address or '').partition('%')[0])
    except ValueError:
        return address
    if found.version == 4:
        return str(found)
    return str(ipaddress.ip_network((found, 64), strict=False))
