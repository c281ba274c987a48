# SPDX-License-Identifier: Apache-2.0
"""What happens to the devices and clients of the model, in any order."""

from swift_lightsync.proar.core.filling import NS
from tests.unit.proar.model_devices import DEVICES, VOUCH
from tests.unit.proar.model_vouching import REGIONS, RINGS, Broken


class Life:
    """One life of a World.

    :param world: the World
    """

    def __init__(self, world):
        self.world = world
        self.chance = world.chance
        self.running = world.running

    def die(self, device):
        device.is_up = False
        device.lives += 1

    def start(self, device):
        if not device.is_up:
            device.is_up = True
            device.log = [entry for entry in device.log
                          if entry.stamp <= device.value]

    def give_ring(self, device):
        """Give a device the new ring.

        One that is new at its place has nothing of before, when it was a
        hand-off: see the table of what can be seen.
        """
        if self.world.rings is REGIONS:
            # An option: its processes are started anew.
            device.lives += 1
            device.forget()
        elif device.number == 3 and device.ring == 1:
            if device.log:
                return
            if all(each.ring == 1 for each in self.world.devices):
                device.value = 0
        device.ring = 2

    def lose(self, device):
        """Give a device another disk, or have it lose its object."""
        is_quarantined = self.chance.random() < 0.5
        if not is_quarantined or 'marks' not in self.world.without:
            device.loss += 1
        device.value = 0
        device.log = []
        if not is_quarantined:
            # It takes longer than what the old one has promised.
            self.world.now += int(2 * VOUCH * NS)
            device.lives += 1
            device.promises.clear()
            device.forget()
            device.noted = None

    def strike(self, device):
        """Have one lose what it has, another die, all others be back."""
        primary, *others = self.world.devices
        victim, other = self.chance.sample(others, 2)
        self.lose(victim)
        self.die(other)
        for device in self.world.devices:
            if device is not other:
                self.start(device)
        for device in primary, victim, primary:
            self.running += [self.world.round(device), self.world.read(0)]

    def begin(self, _device):
        """Let the object be one that nobody has heard of.

        The primary role is dead: it is the last one to hear of it.
        """
        self.world.acknowledged = self.world.shown = 0
        self.world.cuts.clear()
        self.running.clear()
        for device in self.world.devices:
            self.die(device)
            device.value = 0
            device.log = []
            device.noted = device.full()
            self.start(device)
        self.die(self.world.devices[0])

    def split(self):
        """Cut the network in two, proxies as devices."""
        sides = {each: self.chance.random() < 0.5
                 for each in ('p0', 'p1', *DEVICES)}
        self.world.cuts = {(here, there) for here in sides
                           for there in DEVICES
                           if sides[here] != sides[there]}

    def event(self):
        """Let something happen."""
        chance = self.chance
        device = chance.choice(self.world.devices)
        kinds = ['write', 'write', 'read', 'read', 'read', 'read', 'time',
                 'converge', 'cut', 'heal'] + ['round'] * 6
        kinds += ['ring', 'proxy', 'fill'] if self.world.rolls_out else \
            ['die', 'start', 'start', 'part', 'split']
        if self.world.loses:
            kinds += ['lose', 'strike', 'begin', 'heal'] + [
                'replicate'] * 6
        kind = chance.choice(kinds)
        if kind in ('write', 'read'):
            self.running.append(getattr(self.world, kind)(chance.randrange(2)))
        elif kind == 'time':
            self.world.now += int(chance.random() ** 2 * 2 * VOUCH * NS)
        elif kind in ('round', 'converge', 'replicate'):
            if device.is_up:
                self.running.append(getattr(self.world, kind)(device))
        elif kind == 'cut':
            number = chance.choice((0, 0, device.number))
            self.world.cuts.add(('p0', 0 if self.world.rolls_out else number))
        elif kind == 'part':
            number = chance.choice(DEVICES)
            self.world.cuts |= {(number, device.number),
                                (device.number, number)}
        elif kind == 'split':
            self.split()
        elif kind == 'heal':
            self.world.cuts.clear()
        elif kind == 'ring':
            self.give_ring(device)
        elif kind == 'fill':
            # A replicator that has the new ring fills the new device.
            for each in self.world.devices:
                if each.ring == 2 and self.world.rings is RINGS:
                    self.world.devices[3].value = max(
                        each.value, self.world.devices[3].value)
        elif kind == 'proxy':
            self.world.proxies[chance.randrange(2)] = 2
        else:
            getattr(self, kind)(device)

    def live(self, steps):
        """Live for so many steps, and return what was violated."""
        if not self.world.rolls_out:
            self.split()
        for _ in range(steps):
            self.world.now += 1 + self.chance.randrange(NS // 50)
            if not self.running or self.chance.random() < 0.1:
                self.event()
                continue
            process = self.chance.choice(self.running)
            try:
                next(process)
            except (StopIteration, Broken):
                if process in self.running:
                    self.running.remove(process)
        return self.world.violations
