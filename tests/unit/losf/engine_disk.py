# SPDX-License-Identifier: Apache-2.0
"""A device in a model of LOSF: what of it outlives a power cut."""

from dataclasses import dataclass, field

DATA, TOMBSTONE = 'data', 'ts'
#: the part of the cuts after which the index is lost
LOST = 0.1


@dataclass
class Record:
    """A record; zeros stands for a header that was made zeros.

    Metadata are a number that only a record and its copies have.
    """
    hash: int
    time: int
    kind: str
    written: int
    metadata: int
    zeros: bool = False
    #: whether that it is there, and that it is zeros, outlives a power cut
    synced: bool = False
    zeros_synced: bool = False


@dataclass
class Volume:
    kind: str
    records: list = field(default_factory=list)
    locked: bool = False

    def sync(self):
        for each in self.records:
            if each:
                each.synced, each.zeros_synced = True, each.zeros


class Disk:
    """One device: what is durable of it, and what is not.

    :param chance: a random.Random
    :param flaw: one of FLAWS, or None
    """

    def __init__(self, chance, flaw=None):
        self.chance = chance
        self.flaw = flaw
        self.volumes = {}
        self.unlinked = {}
        self.durable = {}
        #: what was written, and is not durable: (its number, changes)
        self.batches = []
        self.number = 0
        self.view = {}
        #: hashes of which files were removed since the last sync began, and
        #: those that it makes durable
        self.removed, self.syncing = set(), set()
        self.is_syncing = False
        #: the volume that is being compacted, and the hashes of which copies
        #: are made
        self.copied = set()
        self.emptied = None
        self.time = 0
        #: hash -> (time, kind) that was acknowledged last, and all begun
        self.acknowledged, self.begun = {}, {}
        self.next_volume = 1
        #: whether entries that are made get the metadata of their records
        self.keeps_metadata = True

    def batch(self, changes):
        self.number += 1
        self.batches.append((self.number, changes))
        for key, value in changes.items():
            if value is None:
                self.view.pop(key, None)
            else:
                self.view[key] = value

    def state(self, number):
        return self.view.get(('v', number), (0, 0))

    def files(self, hash_):
        return {key[2:]: value[:2] for key, value in self.view.items()
                if key[:2] == ('o', hash_)}

    def value(self, spot):
        """:returns: the value of an entry that points to a record"""
        return *spot, (self.record(spot).metadata if self.keeps_metadata
                       else None)

    def dead(self, number=None):
        return [key[1:] for key in self.view
                if key[0] == 'd' and number in (None, key[1])]

    def record(self, spot):
        volume = self.volumes.get(spot[0])
        return volume.records[spot[1]] if volume and spot[1] < len(
            volume.records) else None

    def entries(self, number):
        return {key: value[:2] for key, value in self.view.items()
                if key[0] == 'o' and value[0] == number}

    def cut(self):
        """Lose any part of what is not durable."""
        for number in list(self.unlinked):
            if self.chance.random() < 0.5:
                self.volumes[number] = self.unlinked[number]
        self.unlinked = {}
        for volume in self.volumes.values():
            volume.locked = False
            volume.records = [self._after(each) for each in volume.records]
        for _, changes in self.batches:
            if self.chance.random() < 0.5:
                apply(self.durable, changes)
        if self.chance.random() < LOST:
            self.durable = {}
        self.batches, self.view = [], dict(self.durable)
        self.removed, self.syncing, self.emptied = set(), set(), None
        self.is_syncing, self.copied = False, set()

    def _after(self, record):
        if record is None or not record.synced and self.chance.random() < .5:
            return None
        if record.zeros and not record.zeros_synced:
            record.zeros = self.chance.random() < 0.5
        record.synced, record.zeros_synced = True, record.zeros
        return record

    def recover(self):
        """Do what FORMAT.md, "Recovery", says, with the option or without."""
        self.keeps_metadata = self.chance.random() < 0.7
        for number, volume in sorted(self.volumes.items()):
            for offset in range(self.state(number)[1], len(volume.records)):
                self._adopt((number, offset), volume.records[offset])
            self.batch({('v', number): (len(volume.records),
                                        self.state(number)[1])})
        for key in list(self.view):
            if key[0] == 'v' and key[1] not in self.volumes \
                    and not self.entries(key[1]):
                self.batch({key: None, **{('d', *spot): None for spot in
                                          self.dead(key[1])}})
        for _ in self.sync():
            pass

    def _adopt(self, spot, record):
        if (record is None or record.zeros or ('d', *spot) in self.view
                or spot in self.entries(spot[0]).values()):
            return
        key = 'o', record.hash, record.time, record.kind
        entered = self.view.get(key, ())[:2]
        known = self.record(entered) if entered else None
        if known and not known.zeros and known.written >= record.written:
            self.batch({('d', *spot): True})
        elif entered:
            self.batch({('d', *entered): True, key: self.value(spot)})
        else:
            self.batch({key: self.value(spot)})

    def check(self):
        """Fail if anything acknowledged is lost, or deleted is back."""
        for hash_, (time, kind) in self.acknowledged.items():
            files = self.files(hash_)
            newest = max(files, default=None)
            assert newest is None or newest in self.begun[hash_], newest
            if newest is None:
                assert kind == TOMBSTONE, 'lost: %d of %d' % (time, hash_)
                continue
            assert newest[0] >= time or (
                kind == TOMBSTONE == newest[1]), 'back: %s' % (newest,)
            record = self.record(files[newest])
            assert record and not record.zeros and (
                record.hash, record.time) == (hash_, newest[0]), (
                    'no record: %d of %d' % (newest[0], hash_))
            told = self.view.get(('m', hash_, *newest), self.view[
                ('o', hash_, *newest)][2])
            assert told in (None, record.metadata), (
                'metadata of another record: %d of %d' % (newest[0], hash_))


def apply(entries, changes):
    for key, value in changes.items():
        if value is None:
            entries.pop(key, None)
        else:
            entries[key] = value
