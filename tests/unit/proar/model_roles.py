# SPDX-License-Identifier: Apache-2.0
"""A model of vouching, fences and ring epochs: one object, steps in any order.

Whether a device may answer alone is decided by the product's own `Standing`.
Everything else is a few lines each: what PROTOCOL.md says in "Vouching" and
"Ring epochs". A process is a generator; each yield lets others go on.

A life is judged as a register whose writes are ordered by their timestamps: a
read shows no older write than any that was acknowledged, or was read, before
it began.
"""


from swift_lightsync.proar.core.filling import NS
from tests.unit.proar.model_devices import DEVICES, Device, Entry
from tests.unit.proar.model_vouching import PLACE, RINGS, Broken, Vouching

QUORUM = 2
ALL = frozenset(DEVICES)


class World(Vouching):
    """The devices, the network and the clients of one life.

    :param chance: a random.Random
    :param mutations: names of rules that are left out
    :param rolls_out: whether the ring changes; otherwise devices die and are
        cut off from each other
    :param rings: RINGS or REGIONS
    :param loses: whether disks are replaced and objects lost; then it is
        judged only whether a read finds nothing
    """

    def __init__(self, chance, mutations=(), rolls_out=False, rings=RINGS,
                 loses=False):
        self.chance = chance
        self.without = set(mutations)
        self.rolls_out = rolls_out
        self.rings = rings
        self.loses = loses
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
            value = primary.value
            yield
            self.show(value, wanted, 'alone %d' % primary.number)
            return
        asked: set[int] = set()
        found, todo = 0, set(self.rings[ring] if self.rolls_out else DEVICES)
        is_complete, is_known = primary is not None, False
        # The 404 of one that is vouched for holds, if nobody has lost any.
        is_alone = primary is not None and self.is_vouched(primary, ring) \
            and primary.has_all() \
            and not primary.standing.unsure(self.takers(primary, ring))
        yield
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
                # It is asked once more.
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
        if is_complete and not self.loses:
            self.show(found, wanted, 'asked %s' % sorted(asked))
        elif (is_known or is_alone) and not found:
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

    def takers(self, device, ring):
        """Return who takes writes of the object, besides a device."""
        return {*self.rings[ring]} - {device.number} \
            if 'hand-offs' in self.without else {*DEVICES} - {device.number}

    def knows_of_none(self, device, ring):
        """Whether a write that it has not is on no quorum."""
        doubters = device.standing.doubters(
            self.now, PLACE, frozenset(
                self.rings[ring] if 'whole ring' in self.without
                else DEVICES) - {device.number},
            self.takers(device, ring), device.missed)
        return device.ring == ring == device.standing.ring \
            and device.has_all() and doubters is not None \
            and len(doubters) < QUORUM

    def show(self, value, wanted, how):
        if self.loses:
            wanted = min(wanted, max(each.value for each in self.devices))
        if value < wanted and not (self.loses and value):
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
