# SPDX-License-Identifier: Apache-2.0
"""
What Swift says of containers, remembered by one process of a proxy-server, so
that not every request of another site asks for it again.

Only containers with versions are remembered: their mode and their storage
policy stay. One that is deleted meanwhile gets what was made elsewhere before
others heard of that, as it would a moment earlier, and ``.life`` decides.
"""

import time
from collections import OrderedDict

from swift.proxy.controllers.base import get_cache_key

#: Seconds for which a container is remembered, and how many are.
KEPT = 300
MOST = 4096
_CACHE = 'swift.infocache'


class Infos:
    """Opens containers with what is remembered of them."""

    def __init__(self):
        # The least recently stored one first: (when, what).
        self._known = OrderedDict()

    def open(self, helper, env, account, container, create=False):
        """
        Open a container, see ``SiteRequests``.

        :returns: a ``SiteContainer``, or None
        """
        key = get_cache_key(account, container)
        cache = env.setdefault(_CACHE, {})
        when, info = self._known.get(key, (0, None))
        if info is not None and time.monotonic() - when < KEPT:
            cache[key] = info
        found = helper.open(env, account, container, create)
        if found is not None and found.exists and \
                cache.get(key, info) is not info:
            self._known[key] = time.monotonic(), cache[key]
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        return found

    def forget(self, env, account, container):
        """Ask again the next time."""
        key = get_cache_key(account, container)
        self._known.pop(key, None)
        env.get(_CACHE, {}).pop(key, None)
