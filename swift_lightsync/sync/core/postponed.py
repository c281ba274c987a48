# SPDX-License-Identifier: Apache-2.0
"""When to ask neighbours again that are busy, or have not read enough yet.

To be overloaded, or to begin with cold caches, is no failure and no
difference: such a neighbour is asked again later. PROTOCOL.md, "Busy
neighbours".
"""

from collections.abc import Callable
from dataclasses import dataclass

from swift_lightsync.common.address import PlaceTuple as Key
from swift_lightsync.common.backoff import Backoff

#: Seconds before the second message, doubled with each further one, and the
#: most that these come to.
LEAST, MOST = 1.0, 300.0
#: Seconds for which a pass waits for one neighbour, all in all.
PASS_PATIENCE = 30.0


@dataclass
class _Entry:
    """A neighbour that has put us off.

    :param backoff: when it may be asked again
    :param since: when it first put us off, of those times in a row; seconds
    :param met: when it first kept this pass waiting; None: not yet
    """
    backoff: Backoff
    since: float
    met: float | None = None


class Postponed:
    """The neighbours that put us off, and when to ask each of them again.

    All times are seconds of one clock, which the caller reads.

    :param random: returns a number from 0 to 1, so that those who were put off
        at the same time come back at different times
    """

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self._entries: dict[Key, _Entry] = {}

    def begin_pass(self) -> None:
        """Let the pass that begins wait for each neighbour anew."""
        for entry in self._entries.values():
            entry.met = None

    def put_off(self, key: Key, now: float, wait: float = 0.0) -> None:
        """Note that a neighbour put us off.

        :param key: the neighbour
        :param now: the time, seconds
        :param wait: how long it asked us to wait, seconds
        """
        entry = self._entries.setdefault(key, _Entry(
            Backoff(LEAST, MOST, self._random), now))
        if entry.backoff.may_try(now):
            # Of several messages under way at once, the first one counts.
            entry.backoff.until = now + max(entry.backoff.failed(now),
                                            min(wait, MOST))

    def turn(self, key: Key, now: float) -> float | None:
        """Return how long to wait before a neighbour is asked.

        :param key: the neighbour
        :param now: the time, seconds
        :returns: seconds; None: longer than the pass may wait for it
        """
        entry = self._entries.get(key)
        if entry is None or entry.backoff.may_try(now):
            return 0.0
        if entry.met is None:
            entry.met = now
        if entry.backoff.until - entry.met > PASS_PATIENCE:
            return None
        return entry.backoff.until - now

    def since(self, key: Key, now: float) -> float:
        """Return for how many seconds a neighbour has put us off; 0: not."""
        entry = self._entries.get(key)
        return now - entry.since if entry else 0.0

    def answered(self, key: Key) -> None:
        """Note that a neighbour gave an answer."""
        self._entries.pop(key, None)
