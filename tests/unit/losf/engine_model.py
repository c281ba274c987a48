# SPDX-License-Identifier: Apache-2.0
"""A model of volumes, index, sweeper and compactor, whose power is cut.

Each step of FORMAT.md is one here, and anything may happen between two of
them: another step of somebody else, or a power cut. Of what was not synced
then, any part is lost: of the batches of the index any, not only the last.
"""

import random

from tests.unit.losf.engine_disk import (
    DATA,
    TOMBSTONE,
    Disk,
    Record,
    Volume,
    apply,
)

#: records of a volume
FULL = 5
HASHES = 3
#: what may be left out, to see that the model notices
FLAWS = ('sweep without sync', 'register without sync of the volume',
         'unlink without sync', 'move without sync of the copies',
         'tombstones first', 'checkpoint of now',
         'sync behind the removal of a tombstone',
         'copies that nobody removed', 'tombstones of what is copied',
         'volumes of tombstones first', 'metadata in an entry of their own')


class Engine(Disk):
    """What works on a device; between two steps anything may happen."""

    def sync(self):
        while self.is_syncing:
            yield
        self.is_syncing, wanted = True, self.number
        marks = {key[1]: value[0] for key, value in self.view.items()
                 if key[0] == 'v'}
        removed, self.removed = self.removed, set()
        self.syncing = removed
        yield
        for number, changes in self.batches:
            if number <= wanted:
                apply(self.durable, changes)
        self.batches = [each for each in self.batches if each[0] > wanted]
        self.syncing, self.is_syncing = set(), False
        yield
        if self.flaw == 'checkpoint of now':
            marks = {number: self.state(number)[0] + 1 for number in marks}
        self.batch({('v', number): (self.state(number)[0], mark)
                    for number, mark in marks.items()
                    if ('v', number) in self.view})

    def take(self, kind):
        for volume_number, volume in self.volumes.items():
            if (not volume.locked and volume.kind == kind
                    and len(volume.records) < FULL):
                break
        else:
            volume_number, self.next_volume = (self.next_volume,
                                               self.next_volume + 1)
            volume = self.volumes[volume_number] = Volume(kind)
        volume.locked = True
        return volume_number, volume

    def put(self, hash_, kind, again=False):
        """Write an object or delete it, and remove what is superseded.

        :param again: whether it is what was acknowledged last, which another
            node or a late request brings once more
        """
        self.time += 1
        written = time = self.time
        if again and hash_ in self.acknowledged:
            time, kind = self.acknowledged[hash_]
        number, volume = self.take(kind)
        spot = number, len(volume.records)
        self.begun.setdefault(hash_, set()).add((time, kind))
        volume.records.append(Record(hash_, time, kind, written, written))
        yield
        if self.flaw != 'register without sync of the volume':
            volume.sync()
        yield
        yield from self.enter(('o', hash_, time, kind), spot)
        self.acknowledged[hash_] = time, kind
        volume.locked = False
        yield
        yield from self.remove(hash_, [
            name for name in self.files(hash_) if name[0] < time])

    def enter(self, key, spot):
        number, old = spot[0], self.view.get(key)
        changes = {key: self.value(spot), ('v', number): (
            max(self.state(number)[0], spot[1] + 1), self.state(number)[1])}
        if old:
            changes[('d', *old[:2])] = True
        if self.flaw == 'metadata in an entry of their own':
            changes[key] = *spot, None
            self.batch({('m', *key[1:]): self.value(spot)[2]})
            yield
        self.batch(changes)

    def remove(self, hash_, names):
        if hash_ in self.copied and (
                self.flaw != 'tombstones of what is copied'):
            names = [name for name in names if name[1] != TOMBSTONE]
        files = self.files(hash_)
        names = [name for name in names if name in files]
        if not names:
            return
        tombstones = any(kind == TOMBSTONE for _, kind in names)
        must_sync = tombstones and (
            hash_ in self.removed or hash_ in self.syncing)
        behind = self.flaw == 'sync behind the removal of a tombstone'
        if must_sync and not behind:
            yield from self.sync()
            files = self.files(hash_)
            names = [name for name in names if name in files and (
                name[1] != TOMBSTONE or hash_ not in self.copied)]
        changes = {}
        for name in names:
            changes[('o', hash_, *name)] = None
            changes[('d', *files[name])] = True
        self.batch(changes)
        self.removed.add(hash_)
        yield
        if must_sync and behind:
            yield from self.sync()

    def reclaim(self, hash_):
        """Remove a tombstone that is old enough, when it is all there is."""
        files = self.files(hash_)
        if list(files) and all(kind == TOMBSTONE for _, kind in files):
            yield from self.remove(hash_, list(files))

    def sweep(self):
        snapshot = self.dead()
        if self.flaw != 'sweep without sync':
            yield from self.sync()
        kinds = (TOMBSTONE, DATA) if self.flaw == 'tombstones first' \
            else (DATA, TOMBSTONE)
        for kind in kinds:
            done = [spot for spot in snapshot if spot[0] in self.volumes
                    and self.volumes[spot[0]].kind == kind
                    and spot[0] != self.emptied and ('d', *spot) in self.view]
            for spot in done:
                record = self.record(spot)
                if record and not record.zeros:
                    record.zeros, record.zeros_synced = True, False
                    yield
            for number in {spot[0] for spot in done}:
                if number in self.volumes:
                    self.volumes[number].sync()
            yield
            self.batch({('d', *spot): None for spot in done
                        if ('d', *spot) in self.view})
            yield
            if kind == DATA and any(
                    self.volumes[spot[0]].kind == DATA
                    for spot in self.dead() if spot[0] in self.volumes):
                return

    def compact(self):
        free = [number for number, volume in self.volumes.items()
                if not volume.locked and volume.records]
        if not free:
            return
        number = self.chance.choice(free)
        volume = self.volumes[number]
        volume.locked, self.emptied = True, number
        try:
            yield from self.move(number, volume)
        finally:
            volume.locked, self.emptied = False, None

    def move(self, number, volume):
        target_number, target = self.take(volume.kind)
        moves = {}
        self.copied = {key[1] for key in self.entries(number)}
        for key, spot in self.entries(number).items():
            old = volume.records[spot[1]]
            assert old, 'no record: %s of %s' % (spot, key)
            moves[key, spot] = target_number, len(target.records)
            target.records.append(Record(old.hash, old.time, old.kind,
                                         old.written, old.metadata))
            yield
        if self.flaw != 'move without sync of the copies':
            target.sync()
        yield
        changes = {('v', target_number): (
            len(target.records), self.state(target_number)[1])}
        for (key, spot), copy in moves.items():
            if self.view.get(key, ())[:2] == spot:
                changes[key] = self.value(copy)
                changes[('d', *spot)] = True
            else:
                changes[('d', *copy)] = True
                if self.flaw != 'copies that nobody removed':
                    self.removed.add(key[1])
        self.batch(changes)
        self.copied = set()
        target.locked = False
        yield
        if self.entries(number) or volume.kind == TOMBSTONE and any(
                self.volumes[spot[0]].kind == DATA for spot in self.dead()
                if spot[0] in self.volumes) and (
                    self.flaw != 'volumes of tombstones first'):
            return
        if self.flaw != 'unlink without sync':
            yield from self.sync()
        self.unlinked[number] = self.volumes.pop(number)
        yield
        self.unlinked.pop(number)
        yield
        self.batch({('v', number): None, **{
            ('d', *spot): None for spot in self.dead(number)}})


def live(seed, cuts=5, flaw=None):
    """Live a life of a device, whose power is cut some times.

    :returns: how many cuts there were
    """
    chance = random.Random(seed)
    disk = Engine(chance, flaw)
    for _ in range(cuts):
        _until_cut(disk, chance)
        disk.cut()
        disk.recover()
        disk.check()
    return cuts


def _until_cut(disk, chance):
    running = []
    idle = {'sync': disk.sync, 'sweep': disk.sweep, 'compact': disk.compact}
    busy = set()
    for _ in range(chance.randrange(5, 120)):
        name = chance.choice(['client'] * 3 + list(idle))
        if name == 'client' and len(running) < 4:
            hash_ = chance.randrange(HASHES)
            if ('hash', hash_) not in busy:
                busy.add(('hash', hash_))
                running.append((('hash', hash_), chance.choice((
                    lambda h=hash_: disk.put(h, DATA),
                    lambda h=hash_: disk.put(h, DATA, again=True),
                    lambda h=hash_: disk.put(h, TOMBSTONE),
                    lambda h=hash_: disk.reclaim(h)))()))
        elif name in idle and name not in busy:
            busy.add(name)
            running.append((name, idle[name]()))
        if running:
            which = chance.choice(running)
            try:
                next(which[1])
            except StopIteration:
                running.remove(which)
                busy.discard(which[0])
    for _, each in running:
        # what it had to do does not happen any more
        each.gi_frame and each.close()
