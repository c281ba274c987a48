# SPDX-License-Identifier: Apache-2.0
"""What the requests of other sites to one process of a proxy-server share: its
workers, and what Swift says of containers, so that not every request asks for
that again.

Only containers with versions are remembered: their mode and their storage
policy stay. One that is deleted meanwhile gets what was made elsewhere before
others heard of that, as it would a moment earlier, and ``.life`` decides.
"""

import time
from collections import OrderedDict

from swift.common.concurrency import Semaphore
from swift.proxy.controllers.base import get_cache_key

from swift_lightsync.versioning.core.shipping import LATER, Result

#: Containers or shipments that one process works on at once, of all requests.
WORKERS = 16
#: Seconds after which nothing more of a request is begun.
BOUND = 5.0
#: Seconds for which a container is remembered, and how many are.
KEPT = 300
MOST = 4096
_CACHE = 'swift.infocache'


class Workers:
    """What the requests of one process share: so many steps are done at once.
    """

    def __init__(self):
        self._free = Semaphore(WORKERS)

    def do(self, step, *args, until):
        """Do a step, once there is a worker.

        :param until: when it is not begun any more, by ``time.monotonic``;
            None: it needs no worker, and may begin at any time
        :returns: what the step returns; a ``Result`` if it is not begun
        """
        if until is None:
            return step(*args)
        with self._free:
            if time.monotonic() >= until:
                return Result(LATER)
            return step(*args)


class Infos:
    """Opens containers with what is remembered of them.

    :param helper: ``SiteRequests``
    """

    def __init__(self, helper):
        self._helper = helper
        # The least recently stored one first: (when, what).
        self._known = OrderedDict()

    def open(self, env, account, container, policy=None):
        """Open a container, see ``SiteRequests``."""
        key = get_cache_key(account, container)
        cache = env.setdefault(_CACHE, {})
        when, info = self._known.get(key, (0, None))
        if info is not None and time.monotonic() - when < KEPT:
            cache[key] = info
        found = self._helper.open(env, account, container, policy)
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
