# SPDX-License-Identifier: Apache-2.0
"""
What a partition's log has for its peers.

A follower tells which peer holds which entry, what to push to whom next, and
how far all peers have come. PROTOCOL.md, "Convergence"; PROAR §IV-C,
Algorithm 2.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import (
    Callable,
    Collection,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Protocol,
    Sequence,
    Set,
    Tuple,
)

from swift_lightsync.proar.core.oplog import (
    Entry,
    Progress,
    State,
    exposed_after,
    last_commit,
    start_of,
)

#: So many entries further one looks for more of an object that is pushed.
SPAN = 1000


class View(Protocol):
    """What a log held at one moment; see oplog_file.LogView."""

    @property
    def base(self) -> int:
        """The eversion of the first record."""

    @property
    def last_update(self) -> int:
        """The eversion of the last record; base - 1 if there is none."""

    @property
    def entries(self) -> Sequence[Entry]:
        """The entries that can be read, in order."""

    @property
    def damaged(self) -> Sequence[int]:
        """The eversions of the others."""


@dataclass(frozen=True)
class Push:
    """
    An object whose present state a peer needs.

    :param path_hash: of the object, 16 bytes
    :param eversions: of the entries that this state answers for
    :param logged: when the oldest of them was, Unix time in microseconds
    """
    path_hash: bytes
    eversions: Tuple[int, ...]
    logged: int


class Follower:
    """
    The entries of one log that some peer lacks, and the peers' progress.

    :param view: the whole log
    :param peers: ids of the devices that have to hold the partition, without
        the log's own
    :param cursors: the recorded eversion of each of them
    :param peers_of: returns the ids of the devices that have to hold the
        object of a path hash. They are the peers, unless the object has moved
        to another partition since it was logged.
    """

    def __init__(self, view: View, peers: Iterable[int],
                 cursors: Mapping[int, int],
                 peers_of: Callable[[bytes], Set[int]]) -> None:
        self.base, self.last_update = view.base, view.base - 1
        self._cursors = cursors
        self._peers_of = peers_of
        #: by eversion: what some peer lacks, intents too
        self._entries: 'OrderedDict[int, Entry]' = OrderedDict()
        self._intents: 'OrderedDict[int, Entry]' = OrderedDict()
        self._progress: Dict[int, Progress] = {}
        for peer in peers:
            self._join(peer, view.base, view.last_update)
        self.see(view)

    def _join(self, peer: int, eversion: int, last_update: int) -> None:
        """Count in a peer, which needs nothing before an eversion."""
        self._progress[peer] = Progress(start_of(
            self._cursors.get(peer), eversion, last_update))

    @property
    def after(self) -> int:
        """The eversion after which the log has to be read again."""
        return next(iter(self._intents), self.last_update + 1) - 1

    def see(self, view: View) -> None:
        """
        Take in what the log has after :attr:`after`.

        :param view: of the same log
        """
        if view.base > self.base:
            self.cut(view.base)
        seen, self.last_update = self.last_update, view.last_update
        for eversion in view.damaged:
            if eversion > seen or eversion in self._intents:
                self._settle(eversion)
        for entry in view.entries:
            if entry.eversion > seen:
                self._add(entry)
            else:
                self.decide(entry)

    def _add(self, entry: Entry) -> None:
        needed = self._peers_of(entry.path_hash)
        for peer in needed - self._progress.keys():
            self._join(peer, entry.eversion, self.last_update)
        for peer, progress in self._progress.items():
            if peer not in needed:
                progress.apply(entry.eversion)
        if any(not progress.holds(entry.eversion)
               for progress in self._progress.values()):
            self._entries[entry.eversion] = entry
            self._intents[entry.eversion] = entry
            self.decide(entry)

    def _settle(self, eversion: int) -> None:
        """Note that no peer needs an entry."""
        self._intents.pop(eversion, None)
        self._entries.pop(eversion, None)
        for progress in self._progress.values():
            progress.apply(eversion)
        self._forget_held()

    def _forget_held(self) -> None:
        done = self.last_commit
        while self._entries and next(iter(self._entries)) <= done:
            self._entries.popitem(last=False)

    def intents(self) -> List[Entry]:
        """Return the entries whose outcome is not known."""
        return list(self._intents.values())

    def decide(self, entry: Entry) -> None:
        """
        Take in the outcome of an intent.

        :param entry: as it is now
        """
        if entry.eversion not in self._intents:
            return
        if entry.state is State.ABORTED:
            self._settle(entry.eversion)
        elif entry.state is State.COMMITTED:
            del self._intents[entry.eversion]

    def lacks(self, peer: int) -> bool:
        """Return whether a peer does not hold everything."""
        return self._progress[peer].cursor < self.last_update

    def pushes(self, peer: int, most: int,
               without: Collection[bytes] = ()) -> List[Push]:
        """
        Return what a peer lacks, the oldest first, without intents.

        :param peer: a device id
        :param most: how many objects, at most
        :param without: path hashes of objects to leave out
        :returns: a Push of each object
        """
        progress = self._progress[peer]
        found: Dict[bytes, List[int]] = {}
        end = self.last_update
        for eversion in range(progress.cursor + 1, self.last_update + 1):
            if eversion > end:
                break
            entry = self._entries.get(eversion)
            if entry is None or eversion in self._intents \
                    or progress.holds(eversion) or entry.path_hash in without:
                continue
            if len(found) < most or entry.path_hash in found:
                found.setdefault(entry.path_hash, []).append(eversion)
            if len(found) == most:
                end = min(end, eversion + SPAN)
        return [Push(path_hash, tuple(eversions),
                     self._entries[eversions[0]].logged)
                for path_hash, eversions in found.items()]

    def applied(self, peer: int, eversions: Iterable[int]) -> None:
        """Note that a peer holds entries, or need not hold them."""
        for eversion in eversions:
            self._progress[peer].apply(eversion)
        self._forget_held()

    def cut(self, base: int) -> None:
        """Note that the log has lost its entries before an eversion."""
        self.base = base
        for kept in (self._entries, self._intents):
            while kept and next(iter(kept)) < base:
                kept.popitem(last=False)
        for progress in self._progress.values():
            progress.cut(base)

    def cursors(self) -> Dict[int, int]:
        """Return the eversion up to which each device id has all."""
        return {peer: progress.cursor
                for peer, progress in self._progress.items()}

    @property
    def last_commit(self) -> int:
        """The eversion up to which all peers hold everything."""
        return last_commit(self.cursors().values(), self.last_update)

    @property
    def exposed(self) -> int:
        """How many entries no other device is known to hold."""
        return self.last_update - exposed_after(self.cursors().values(),
                                                self.last_update)

    @property
    def oldest(self) -> Optional[Entry]:
        """The oldest entry that a peer lacks, or None."""
        return next(iter(self._entries.values()), None)

    @property
    def records(self) -> int:
        """How many records the log has."""
        return self.last_update - self.base + 1
