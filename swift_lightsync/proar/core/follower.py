# SPDX-License-Identifier: Apache-2.0
"""What a device's log has for the other devices of one storage policy.

A follower tells which device lacks which entry, what to push to whom next,
and what to note in the log. An entry waits for no other one: an object that
cannot be pushed holds nothing up. PROTOCOL.md, "Convergence"; PROAR §IV-C,
Algorithm 2.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from swift_lightsync.proar.core.epochs import is_newer
from swift_lightsync.proar.core.oplog import OVER, Entry, Op, State, place_of

#: path hash, and whether it is about container updates
Key = tuple[bytes, bool]


@dataclass(frozen=True)
class Push:
    """An object whose present state a peer needs.

    :param path_hash: of the object, 16 bytes
    :param eversions: of the entries that this state answers for
    :param logged: when the oldest of them was, Unix time in microseconds
    :param is_row: whether the peer needs the container updates of the object,
        not the object
    """
    path_hash: bytes
    eversions: tuple[int, ...]
    logged: int
    is_row: bool = False

    @property
    def key(self) -> Key:
        """What the pushes of the same thing have in common."""
        return self.path_hash, self.is_row


@dataclass(frozen=True)
class Mark:
    """What is to be noted in the log.

    :param eversion: of an entry
    :param state: that it has now
    :param holders: ids of the other devices that hold it
    """
    eversion: int
    state: State
    holders: frozenset[int]


def _key(entry: Entry) -> Key:
    return entry.path_hash, entry.op is Op.ROW


@dataclass
class _Open:
    """An entry that some peer lacks.

    :param entry: as it was read
    :param lacking: ids of the peers that lack it
    :param holders: ids of those that hold it
    :param refused: ids of those that did not take it, though they are well
    :param is_aside: whether all that lack it did not take it
    """
    entry: Entry
    lacking: set[int]
    holders: set[int]
    refused: set[int] = field(default_factory=set)
    is_aside: bool = False


class Follower:
    """The entries of a device and policy that some peer lacks.

    :param peers_of: returns the ids of the devices that have to hold the
        object of a path hash, without the log's own
    :param ring_version: of the ring that tells so
    """

    def __init__(self, peers_of: Callable[[bytes], frozenset[int]],
                 ring_version: int = 0) -> None:
        self._peers_of = peers_of
        self._ring_version = ring_version
        #: by the number of the segment, and by eversion
        self._open: dict[int, dict[int, _Open]] = {}
        self._intents: dict[int, Entry] = {}
        #: by the id of the peer, and by key: the eversions that it
        #: lacks, those first that it has lacked for longest
        self._queues: dict[int, dict[Key, list[int]]] = {}
        #: by the id of the peer: how many entries it lacks
        self._behind: dict[int, int] = {}

    def add(self, entry: Entry) -> list[Mark]:
        """Take in an entry of the log, and return what to note."""
        if entry.state in (State.INTENT, State.UNDECIDED):
            self._intents[entry.eversion] = entry
            return []
        lacking = [peer for peer in self._peers_of(entry.path_hash)
                   if entry.is_lacked_by(peer, self._ring_version)]
        if not lacking:
            return [] if entry.state in OVER else [
                Mark(entry.eversion, self._held_by_all(entry),
                     entry.holders)]
        number, _ = place_of(entry.eversion)
        self._open.setdefault(number, {})[entry.eversion] = _Open(
            entry, set(lacking), set(entry.holders),
            is_aside=entry.state is State.ASIDE)
        for peer in lacking:
            self._queues.setdefault(peer, {}).setdefault(
                _key(entry), []).append(entry.eversion)
            self._behind[peer] = self._behind.get(peer, 0) + 1
        return []

    def intents(self) -> list[Entry]:
        """Return the entries whose outcome is not known."""
        return list(self._intents.values())

    def decide(self, entry: Entry) -> list[Mark]:
        """Take in the outcome of an intent, and return what to note.

        :param entry: the entry as it is now
        """
        if self._intents.pop(entry.eversion, None) is None:
            return []
        return self.add(entry)

    # Pushing

    def lacking(self) -> list[int]:
        """Return the ids of the peers that lack something."""
        return [peer for peer, queue in self._queues.items() if queue]

    def pushes(self, peer: int, most: int,
               without: Collection[Key] = ()) -> list[Push]:
        """Return what a peer lacks, the oldest first, without intents.

        :param peer: a device id
        :param most: how many objects, at most
        :param without: keys of what to leave out
        :returns: a Push of each object
        """
        found: list[Push] = []
        for key, eversions in self._queues.get(peer, {}).items():
            if len(found) == most:
                break
            if key not in without:
                number, _ = place_of(eversions[0])
                path_hash, is_row = key
                found.append(Push(
                    path_hash, tuple(eversions),
                    self._open[number][eversions[0]].entry.logged, is_row))
        return found

    def applied(self, peer: int, push: Push) -> list[Mark]:
        """Note that a peer holds what was pushed, or need not hold it.

        :returns: what to note in the log
        """
        return [mark for eversion in push.eversions
                for mark in self._applied(peer, eversion)]

    def _applied(self, peer: int, eversion: int) -> Iterable[Mark]:
        found = self._found(eversion)
        if not found or peer not in found.lacking:
            return
        self._needs_no_more(peer, found)
        found.holders.add(peer)
        found.refused.discard(peer)
        found.is_aside = False
        state = State.HELD
        if not found.lacking:
            state = self._held_by_all(found.entry)
            self._drop(eversion)
        yield Mark(eversion, state, frozenset(found.holders))

    def refused(self, peer: int, push: Push) -> list[Mark]:
        """Note that a peer that is well did not take what was pushed.

        It is tried again after everything else that the peer lacks.

        :returns: what to note in the log
        """
        queue = self._queues.get(peer, {})
        if push.key in queue:
            queue[push.key] = queue.pop(push.key)
        marks = []
        for eversion in push.eversions:
            found = self._found(eversion)
            if not found or peer not in found.lacking:
                continue
            found.refused.add(peer)
            if not found.holders and not found.is_aside and \
                    found.refused >= found.lacking:
                found.is_aside = True
                marks.append(Mark(eversion, State.ASIDE, frozenset()))
        return marks

    def _held_by_all(self, entry: Entry) -> State:
        """Return the state of what all devices of this ring hold.

        If its writer had a newer ring, others may lack it: that ring comes.
        """
        return State.HELD if is_newer(
            entry.ring_version, self._ring_version) else State.CONVERGED

    def _found(self, eversion: int) -> _Open | None:
        number, _ = place_of(eversion)
        return self._open.get(number, {}).get(eversion)

    def _needs_no_more(self, peer: int, found: _Open) -> None:
        found.lacking.discard(peer)
        queue = self._queues[peer]
        key = _key(found.entry)
        queue[key].remove(found.entry.eversion)
        if not queue[key]:
            del queue[key]
        self._behind[peer] -= 1

    def _drop(self, eversion: int) -> None:
        number, _ = place_of(eversion)
        del self._open[number][eversion]
        if not self._open[number]:
            del self._open[number]

    # Segments

    def open_in(self, number: int) -> list[Entry]:
        """Return the entries of a segment that some peer lacks, or intents."""
        return [found.entry for found
                in self._open.get(number, {}).values()] + [
            entry for entry in self._intents.values()
            if place_of(entry.eversion)[0] == number]

    def forget(self, number: int) -> int:
        """Forget a segment, which is gone.

        :returns: how many of its entries some peer lacked
        """
        entries = list(self._open.get(number, {}).items())
        for eversion, found in entries:
            for peer in list(found.lacking):
                self._needs_no_more(peer, found)
            self._drop(eversion)
        for eversion in list(self._intents):
            if place_of(eversion)[0] == number:
                del self._intents[eversion]
        return len(entries)

    # What is told of it

    @property
    def behind(self) -> dict[int, int]:
        """How many entries each peer lacks, by its id, if any."""
        return {peer: count for peer, count in self._behind.items() if count}

    @property
    def entries(self) -> int:
        """How many entries some peer lacks."""
        return sum(map(len, self._open.values()))

    @property
    def exposed(self) -> int:
        """How many entries no other device is known to hold."""
        return sum(not found.holders for segment in self._open.values()
                   for found in segment.values())

    @property
    def aside(self) -> int:
        """How many entries can be pushed to nobody who is well."""
        return sum(found.is_aside for segment in self._open.values()
                   for found in segment.values())

    @property
    def oldest(self) -> Entry | None:
        """One of the oldest entries that a peer lacks, or None."""
        return min((next(iter(segment.values())).entry
                    for segment in self._open.values()),
                   key=lambda entry: entry.logged, default=None)
