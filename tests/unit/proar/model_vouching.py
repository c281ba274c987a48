# SPDX-License-Identifier: Apache-2.0
"""How the devices of the model reach, ask, tell and fill each other."""

from typing import Any

from swift_lightsync.proar.core.filling import NS
from swift_lightsync.proar.core.standing import Told
from tests.unit.proar.model_devices import DEVICES, VOUCH, Device

MARGIN = 1.05
PLACE = (0, 0)
#: version of the ring -> its rows; the first is the primary role; and of
#: epochs that differ in where primary roles live
RINGS = {1: (0, 1, 2), 2: (3, 1, 2)}
REGIONS = {1: (0, 1, 2), 2: (1, 0, 2)}


class Broken(Exception):
    """A device has died, or does not answer."""


class Vouching:
    """The part of a World that is between its devices; see there."""

    chance: Any
    now: int
    devices: list[Device]
    cuts: set[tuple]
    without: set[str]
    rings: dict

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
            can_tell, held, is_unsure = False, (), False
            if ring == peer.ring or 'same ring' in self.without:
                can_tell = self.promise(peer, device.number)
                yield from self.on(device)
                held = self.held(peer, device.number)
                yield from self.on(device)
                is_unsure = 'unsure' not in self.without \
                    and not peer.has_all()
            version, clock = peer.ring, self.clock()
            yield from self.on(device)
            if self.answers(number, device.number):
                told[number] = Told(began, ring if 'same ring' in self.without
                                    else version, can_tell, held, False,
                                    peer.passed, clock, is_unsure)
        if device.standing.ring != device.ring:
            device.forget()
        if ring == device.ring:
            device.standing = device.standing.after(began, told, is_of_all)
            device.note(began, told)

    def clock(self):
        """Return what is taken for Unix time: its seconds are short."""
        return self.now / NS * 1000

    def replicate(self, device):
        """Let an object-replicator end a pass without a failure."""
        began = self.clock()
        for number in self.chance.sample(DEVICES, len(DEVICES)):
            yield from self.on(device)
            peer = self.reach(device.number, number)
            peer.value = max(peer.value, device.value)
        device.passed = began

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
