# SPDX-License-Identifier: Apache-2.0
"""A model of vouching, fences and ring epochs: one object, steps in any order.

Whether a device may answer alone is decided by the product's own `Standing`.
Everything else is a few lines each: what PROTOCOL.md says in "Vouching" and
"Ring epochs". A process is a generator; each yield lets others go on.

A life is judged as a register whose writes are ordered by their timestamps: a
read shows no older write than any that was acknowledged, or was read, before
it began.
"""

from typing import Set

from swift_lightsync.proar.core.standing import NS, Told
from tests.unit.proar.model_devices import VOUCH, Device, Entry

MARGIN = 1.05
PLACE = (0, 0)
#: version of the ring -> its rows; the first is the primary role; and of
#: epochs that differ in where primary roles live
RINGS = {1: (0, 1, 2), 2: (3, 1, 2)}
REGIONS = {1: (0, 1, 2), 2: (1, 0, 2)}
DEVICES = (0, 1, 2, 3)
QUORUM = 2
ALL = frozenset(DEVICES)


class Broken(Exception):
    """A device has died, or does not answer."""


class World:
    """The devices, the network and the clients of one life.

    :param chance: a random.Random
    :param mutations: names of rules that are left out
    :param rolls_out: whether the ring changes; otherwise devices die and are
        cut off from each other
    :param rings: RINGS or REGIONS
    """

    def __init__(self, chance, mutations=(), rolls_out=False, rings=RINGS):
        self.chance = chance
        self.without = set(mutations)
        self.rolls_out = rolls_out
        self.rings = rings
        self.now = NS
        self.devices = [Device(number) for number in DEVICES]
        self.proxies = [1, 1]
        #: pairs that do not reach each other; proxies are 'p0' and 'p1'
        self.cuts = set()
        self.stamp = 0
        #: the newest write that was acknowledged, and that or was read
        self.acknowledged = 0
        self.shown = 0
        self.violations = []
        #: the processes that are at work
        self.running = []

    # Network

    def reach(self, here, number):
        """Return a device, unless it is dead or cut off."""
        device = self.devices[number]
        if not device.is_up or (here, number) in self.cuts:
            raise Broken()
        return device

    def answers(self, here, number):
        try:
            return self.reach(here, number)
        except Broken:
            return None

    def on(self, device):
        """Yield once, and end with the device's process if it dies."""
        lives = device.lives
        yield
        if device.lives != lives or not device.is_up:
            raise Broken()

    # Vouching

    def round(self, device):
        began = self.now
        ring, told = device.ring, {}
        # Often only some are asked, in any case those with open questions.
        is_of_all = device.standing.ring != ring or self.chance.random() < 0.4
        asked = DEVICES if is_of_all else {
            *self.chance.sample(DEVICES, 2), *device.standing.open_peers()}
        for number in self.chance.sample(sorted(asked), len(asked)):
            if number == device.number:
                continue
            yield from self.on(device)
            peer = self.answers(device.number, number)
            if peer is None:
                continue
            can_tell, held = False, ()
            if ring == peer.ring or 'same ring' in self.without:
                can_tell = self.promise(peer, device.number)
                yield from self.on(device)
                held = self.held(peer, device.number)
            version = peer.ring
            yield from self.on(device)
            if self.answers(number, device.number):
                told[number] = Told(began, ring if 'same ring' in self.without
                                    else version, can_tell, held)
        if device.standing.ring != device.ring:
            device.forget()
        if ring == device.ring:
            device.standing = device.standing.after(began, told, is_of_all)

    def promise(self, peer, asker):
        peer.promise_as(peer.ring)
        peer.promises[asker] = max(
            self.now + int(VOUCH * MARGIN * NS), peer.promises.get(asker, 0))
        return peer.others_end <= self.now

    @staticmethod
    def held(peer, asker):
        return (PLACE,) if any(asker not in entry.has
                               for entry in peer.log) else ()

    def fence(self, device):
        if 'fence' in self.without:
            return
        primary = self.rings[device.ring][0]
        if device.promised_by != device.ring:
            until = max([device.others_end, *device.promises.values()])
        else:
            until = device.others_end
            told = device.promises.get(primary, 0)
            if told > self.now:
                yield from self.on(device)
                known = self.answers(device.number, primary)
                if known is None:
                    until = max(until, told)
                elif 'missed' not in self.without:
                    known.missed = self.now
        while self.now < until:
            yield from self.on(device)

    # Requests

    def take(self, device, stamp, is_failover):
        """Log and commit a write on one device."""
        entry = Entry(stamp, {device.number})
        device.log.append(entry)
        yield from self.on(device)
        if is_failover:
            yield from self.fence(device)
            yield from self.on(device)
        device.value = max(device.value, stamp)

    def write(self, proxy):
        self.stamp += 1
        stamp, ring, here = self.stamp, self.proxies[proxy], 'p%d' % proxy
        primary = self.answers(here, self.rings[ring][0])
        yield
        if primary and self.takes_alone(primary, ring):
            try:
                yield from self.take(primary, stamp, False)
            except Broken:
                return
            self.acknowledge(stamp)
            return
        rings = {ring}
        for number in self.chance.sample(self.rings[ring], 3):
            device = self.answers(here, number)
            if device and 'epochs' not in self.without:
                rings.add(device.ring)
            yield
        targets = sorted({number for each in rings
                          for number in self.rings[each]})
        needed = len(targets) - (3 - QUORUM)
        spare = [number for number in DEVICES if number not in targets]
        takers = []
        for number in targets:
            device = self.answers(here, number)
            if device is None and spare:
                number = spare.pop()
                device = self.answers(here, number)
            if device and (device.ring in rings
                           or 'epochs' in self.without):
                taker = self.take(device, stamp, True)
                takers.append(taker)
        taken = 0
        while takers:
            taker = self.chance.choice(takers)
            try:
                next(taker)
            except StopIteration:
                taken += 1
                takers.remove(taker)
            except Broken:
                takers.remove(taker)
            if taken == needed:
                # The others go on without the client.
                self.acknowledge(stamp)
                self.running += takers
                return
            yield

    def acknowledge(self, stamp):
        self.acknowledged = max(self.acknowledged, stamp)
        self.shown = max(self.shown, stamp)

    def takes_alone(self, device, ring):
        if 'epochs' in self.without:
            return True
        return device.ring == ring and (
            'alone' in self.without
            or device.standing.may_take_alone(ring))

    def read(self, proxy):
        wanted, ring, here = self.shown, self.proxies[proxy], 'p%d' % proxy
        acknowledged = self.acknowledged
        primary = self.answers(here, self.rings[ring][0])
        if primary and primary.value and self.is_vouched(primary, ring):
            yield
            self.show(primary.value, wanted, 'alone %d' % primary.number)
            return
        asked: Set[int] = set()
        found, todo = 0, set(self.rings[ring] if self.rolls_out else DEVICES)
        is_complete, is_known = primary is not None, False
        while todo:
            number = self.chance.choice(sorted(todo))
            todo.discard(number)
            asked.add(number)
            yield
            device = self.answers(here, number)
            if device is None:
                is_complete = False
                continue
            if number == self.rings[ring][0]:
                is_known = self.knows_of_none(device, ring)
                yield
                if self.answers(here, number) is None:
                    is_complete = is_known = False
                    continue
            found = max(found, device.value)
            if 'epochs' not in self.without:
                named = {device.ring}
                if not device.standing.agrees(device.ring):
                    named.add(1)  # which it had before
                todo |= {each for version in named
                         for each in self.rings[version]} - asked
        if is_complete:
            self.show(found, wanted, 'asked %s' % sorted(asked))
        elif is_known and not found:
            # One that was read and not acknowledged may be gone.
            self.show(0, acknowledged, 'known by the primary role')

    def is_vouched(self, device, ring):
        if device.ring != ring and 'epochs' not in self.without:
            return False
        if device.standing.ring != device.ring:
            return False
        return not device.standing.obstacle(
            self.now, PLACE,
            frozenset(self.rings[device.ring]) - {device.number},
            device.missed)

    def knows_of_none(self, device, ring):
        """Whether a write that it has not is on no quorum."""
        doubters = device.standing.doubters(
            self.now, PLACE, frozenset(
                self.rings[ring] if 'whole ring' in self.without
                else DEVICES) - {device.number}, device.missed)
        return device.ring == ring == device.standing.ring \
            and device.is_filled and doubters is not None \
            and len(doubters) < QUORUM

    def show(self, value, wanted, how):
        if value < wanted:
            self.violations.append('%d, not %d: %s' % (value, wanted, how))
        self.shown = max(self.shown, value)

    # Convergers

    def converge(self, device):
        for entry in list(device.log):
            for number in self.rings[device.ring]:
                yield from self.on(device)
                peer = self.answers(device.number, number)
                if peer:
                    peer.value = max(peer.value, device.value)
                    if device.value >= entry.stamp:
                        entry.has.add(number)
            if entry.has >= set(self.rings[device.ring]):
                entry.converged = entry.converged or self.now
                if entry in device.log and self.may_forget(device, entry):
                    device.log.remove(entry)

    def may_forget(self, device, entry):
        return 'kept log' in self.without or device.standing.agrees(
            device.ring, entry.converged)
