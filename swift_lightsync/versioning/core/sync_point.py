# SPDX-License-Identifier: Apache-2.0
"""What a task does next: the rows of one database that are due, and those of
many databases in a fair order.

Accounts, their containers and these containers' databases have their turns one
after the other, and a database has only so much under way at once: so no row
holds up another.
"""

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from zlib import crc32

from swift_lightsync.versioning.core.progress import Progress, turn

#: Rows that are read at once.
PAGE = 1000
#: Rows that wait: no others are looked at beyond so many.
WINDOW = 20000
#: Rows of one database that wait in memory for their turn.
QUEUE = 1000
#: Weight of what one database may have under way: of a row it is 1, and one
#: more for each so many bytes, but at most MAX_WEIGHT.
WEIGHT = 1000
WEIGHED = 1 << 16
MAX_WEIGHT = 128


class Work:
    """An item that is being worked on.

    :param follower: of its database
    :param item: has ``rowid``, ``row`` and ``entry``
    :param fresh: whether it has never been tried, by nobody
    """

    def __init__(self, follower: 'Follower', item: Any, fresh: bool) -> None:
        self.database = follower.database
        self.item = item
        self.fresh = fresh
        #: Bytes of its data, as far as that is known.
        self.size: int = item.entry.size if item.entry else 0
        self.weight = min(MAX_WEIGHT, 1 + self.size // WEIGHED)
        self._follower: Follower | None = follower

    def done(self) -> None:
        """Record that the item needs no more work."""
        self._end(lambda follower: follower.progress.done(self.item.rowid))

    def failed(self) -> None:
        """Hold the item back, longer after each failure."""
        self._end(lambda follower: follower.hold(self.item.rowid))

    def put_back(self, until: float | None = None) -> None:
        """Leave the item as it was: nobody has tried it.

        :param until: when it is due again; None: at once
        """
        self._end(lambda follower: follower.put_back(self, until))

    def _end(self, settle: Callable[['Follower'], None]) -> None:
        # Whoever comes second does not know better.
        follower, self._follower = self._follower, None
        if follower is not None:
            follower.progress.stop(self.item.rowid)
            settle(follower)
            follower.ended(self)


class Follower:
    """Takes a task through the rows of a database.

    :param task: has ``name``, for the sync point; ``wants``, a function that
        tells whether an item concerns the task, or None: all do; ``site``,
        the site whose versions are due, while those of others wait for the
        others' servers, None: all are alike; ``delay``, the seconds after
        which an item is due; ``backoff``, before whose ``until`` nothing can
        be done
    :param database: has ``account``, ``container``, ``place``, ``items``,
        ``items_at``, ``point`` and ``save_point``
    :param options: has ``handover_delay``, ``retry_delay`` and
        ``max_retry_delay``
    :param now: returns the wall time in seconds
    :param ended: is called after each ``Work`` that has ended
    """

    def __init__(self, task: Any, database: Any, options: Any,
                 now: Callable[[], float],
                 ended: Callable[[Work], None] = lambda work: None) -> None:
        self.progress = Progress(database.point(task.name))
        self.database = database
        #: Of all that is under way.
        self.weight = 0
        self._task = task
        self._options = options
        self._now = now
        self._ended = ended
        self._saved = self.progress.point
        #: When it had its last turn, see ``fair``.
        self.turn = 0
        self._queue: deque[Any] = deque()
        # Whether there may be more than the queue had room for.
        self._more = False
        # Up to which ROWID it is decided when rows are due; whether no others
        # followed.
        self._decided = self.progress.point
        self._whole = True
        #: what the files were when all was looked at; None: never
        self.looked_at: Any = None
        # The same of when it was only noted.
        self._noted: Any = None

    @property
    def is_ready(self) -> bool:
        """Whether there is something to ``take``."""
        return bool(self._queue) and self.weight < WEIGHT

    @property
    def has_more(self) -> bool:
        """Whether there is more to do, now or once something has ended."""
        return bool(self._queue) or self._more or self._has_unread

    @property
    def _has_unread(self) -> bool:
        """Whether there are rows beyond those that were looked at, and room.
        """
        return not self._whole and self.progress.waiting < WINDOW

    @property
    def is_idle(self) -> bool:
        """Whether all is done and stored of what was looked at."""
        return self.looked_at is not None and not (
            self.has_more or self.progress.waiting) and \
            self._saved == self.progress.point

    def look(self, state: Any, now: float) -> None:
        """Look for the rows that are due, unless nothing can have changed.

        :param state: a value that changes whenever anything is written
        :param now: what is due later is left, Unix time
        """
        if now < self._task.backoff.until:
            self._queue.clear()
            self._more, self._whole, self.looked_at = False, True, None
            self._note(state)
        elif not self._queue and (
                self.has_more or state is None or state != self.looked_at
                or now >= self.progress.due_at):
            self._read(now)
            self.looked_at = state

    def read_on(self, now: float) -> None:
        """Look for what the queue had no room for before."""
        if self.has_more and not self._queue:
            self._read(now)

    def _read(self, now: float) -> None:
        """Fill the queue: look at new rows, and take of all that are due as
        many as it has room for, those whose turn is this replica's first.
        """
        self._decided, self._whole = self._look_on(
            self._decided, partial(self._schedule, now))
        due = self.progress.due(now, QUEUE)
        self._more = len(due) == QUEUE
        items = self.database.items_at(due) if due else {}
        for rowid in due:
            if rowid in items:
                self._queue.append(items[rowid])
            else:
                self.progress.done(rowid)

    def take(self) -> Work:
        """Return the next item; its work is under way from now on."""
        item = self._queue.popleft()
        work = Work(self, item, self.progress.start(item.rowid))
        self.weight += work.weight
        return work

    def hold(self, rowid: int) -> None:
        """Leave a row alone for longer and longer."""
        self.progress.hold(rowid, self._now(), self._options.retry_delay,
                           self._options.max_retry_delay)

    def put_back(self, work: Work, until: float | None) -> None:
        """Leave a row as it was before it was started."""
        # Since then others may have had their turn.
        self.progress.put_back(
            work.item.rowid, until, work.fresh and self._now(
            ) - self.progress.made(work.item.rowid) <
            self._options.handover_delay)

    def ended(self, work: Work) -> None:
        """Take note that a work is not under way any more."""
        self.weight -= work.weight
        self._ended(work)

    def save(self) -> None:
        """Store how far all is done."""
        point = self.progress.point
        if self._saved != point:
            self.database.save_point(self._task.name, point)
            self._saved = point

    def _note(self, state: Any) -> None:
        """Look at new rows without working on them, so that the lag is known.
        """
        if state is None or state != self._noted:
            self._look_on(self.progress.end, lambda made, item: None)
            self._noted = state

    def _schedule(self, now: float, made: float, item: Any) -> None:
        """Decide when a row is due."""
        ordinal, replicas = self.database.place
        turns = turn(crc32(item.row.name.encode('utf8')), ordinal,
                     replicas) + self._is_of_others(item)
        delay = self._options.handover_delay
        # Until then it is no other's turn.
        self.progress.schedule(
            item.rowid, turns, now + self._task.delay + delay * turns,
            turns == 0 and now - made < delay)

    def _is_of_others(self, item: Any) -> bool:
        """Check whether it is first the turn of another site."""
        if self._task.site is None:
            return False
        entry = item.entry
        # Nobody says who has purged or changed one.
        if entry and (entry.purged or entry.changed):
            return False
        made = entry.version if entry else item.life
        return bool(made.site != self._task.site)

    def _look_on(self, after: int, found: Callable[[float, Any], None]
                 ) -> tuple[int, bool]:
        """Look at the rows after a ROWID, until enough wait.

        :param found: is called with when a row was made, and its item, of each
            that concerns the task
        :returns: the last ROWID, and whether no others follow
        """
        wants, whole = self._task.wants, False
        while self.progress.waiting < WINDOW and not whole:
            page = self.database.items(after, PAGE)
            whole = len(page) < PAGE
            for after, made, item in page:
                wanted = item is not None and (wants is None or wants(item))
                self.progress.look(after, made, wanted)
                if wanted:
                    found(made, item)
        return after, whole


def fair(followers: Iterable[Follower], room: int,
         turns: dict[str, int]) -> list[Work]:
    """Take what is due from many databases, in turn: first of the accounts,
    then of the containers of an account, then of the databases of a container.
    Whoever had a turn last is the last to have another one.

    :param followers: those that are ready
    :param room: how much to take at most
    :param turns: when each account had its last turn; it is brought up to date
    """
    tree: dict[str, dict[str, deque[Follower]]] = {}
    for each in sorted(followers, key=lambda each: each.turn):
        tree.setdefault(each.database.account, {}).setdefault(
            each.database.container, deque()).append(each)
    accounts = deque(sorted(tree, key=lambda name: turns.get(name, 0)))
    waiting = {name: deque(found.values()) for name, found in tree.items()}
    number = max(turns.values(), default=0)
    taken: list[Work] = []
    while accounts and len(taken) < room:
        account = accounts.popleft()
        containers = waiting[account]
        databases = containers.popleft()
        follower = databases.popleft()
        taken.append(follower.take())
        number += 1
        turns[account] = follower.turn = number
        if follower.is_ready:
            databases.append(follower)
        if databases:
            containers.append(databases)
        if containers:
            accounts.append(account)
    return taken
