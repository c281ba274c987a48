# SPDX-License-Identifier: Apache-2.0
"""The index does what a dict would."""

import shutil
import tempfile

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from swift_losf.format import keys
from swift_losf.format.header import VolumeType
from swift_losf.index.index import Index, NotFound, is_tombstone
from tests.unit.losf.index_world import NAME, OTHER, TOMBSTONE, location_of

HASHES = [(n << 12 | suffix).to_bytes(16, 'big')
          for n in (0, 1) for suffix in (0, 4095)]
NAMES = (NAME, OTHER, TOMBSTONE, '1700000000.00002#1.data')
places = st.tuples(st.sampled_from((0, 2 ** 32 - 1)),
                   st.sampled_from(HASHES))
names = st.sampled_from(NAMES)


class IndexMachine(RuleBasedStateMachine):
    """The index beside a dict of (partition, hash) to names and locations."""

    @initialize()
    def open(self):
        self.directory = tempfile.mkdtemp(prefix='losf')
        self.index = Index(self.directory)
        self.files = {}
        self.quarantined = []
        self.dead = {}
        self.end = 4096

    def teardown(self):
        self.index.close()
        shutil.rmtree(self.directory)

    def of(self, place):
        return self.files.setdefault(place, {})

    def bury(self, location):
        self.dead[location.spot] = location.length

    @rule(place=places, name=names)
    def register(self, place, name):
        location = location_of(name, self.end, 1 + is_tombstone(name))
        self.end += 4096
        files = self.of(place)
        if name in files:
            self.bury(files[name])
        files[name] = location
        for _ in range(2):
            assert self.index.register(
                *place, name, location, location.offset
            ) == sorted(files.items())

    @rule(place=places, wanted=st.lists(names))
    def remove(self, place, wanted):
        files = self.of(place)
        gone = sorted(name for name in files if name in wanted or not wanted)
        for name in gone:
            self.bury(files.pop(name))
        assert self.index.remove(*place, wanted) == (gone, len(files))

    @rule(place=places, old=names, new=names)
    def rename(self, place, old, new):
        files = self.of(place)
        try:
            found = self.index.rename(*place, old, new)
        except NotFound:
            assert old not in files and new not in files
            return
        if old in files and old != new:
            if new in files:
                self.bury(files[new])
            files[new] = files.pop(old)
        assert found == sorted(files.items())

    @rule(place=places, whole_suffix=st.booleans())
    def quarantine(self, place, whole_suffix):
        partition, hash_ = place
        suffix = keys.suffix_of(hash_)
        if whole_suffix:
            count = self.index.quarantine(partition, suffix=suffix)
        else:
            count = self.index.quarantine(partition, hash_)
        before = len(self.quarantined)
        for other in list(self.files):
            if other == place or (
                    whole_suffix and other[0] == partition
                    and keys.suffix_of(other[1]) == suffix):
                self.quarantined += [
                    (*other, name, location) for name, location
                    in self.files.pop(other).items()]
        assert count == len(self.quarantined) - before

    @precondition(lambda self: self.end > 4096)
    @rule()
    def reopen(self):
        self.index.close()
        self.index = Index(self.directory)

    @invariant()
    def lists_agree(self):
        present = {place: files for place, files in self.files.items()
                   if files}
        partitions = sorted({partition for partition, _ in present})
        assert self.index.reader.list_partitions() == partitions
        for partition in partitions:
            hashes = [hash_ for each, hash_ in present if each == partition]
            suffixes = sorted({keys.suffix_of(hash_) for hash_ in hashes})
            assert self.index.reader.list_partition(partition) == suffixes
            for suffix in suffixes:
                page, more = self.index.reader.list_suffix(partition, suffix)
                assert not more and [
                    (hash_, sorted(found)) for hash_, found in page] == sorted(
                        (hash_, sorted(present[partition, hash_]))
                        for hash_ in hashes
                        if keys.suffix_of(hash_) == suffix)
        found, _ = self.index.reader.list_quarantine()
        assert sorted(found, key=repr) == sorted(self.quarantined, key=repr)

    @invariant()
    def counts_agree(self):
        found = self.index.statistics()
        lengths = [location.length for files in self.files.values()
                   for location in files.values()]
        assert (found.files, found.bytes) == (len(lengths), sum(lengths))
        assert found.dead_bytes == sum(self.dead.values())
        assert found.quarantined == len(self.quarantined)
        assert all(state.type == (VolumeType.TOMBSTONES if number == 2
                                  else VolumeType.DATA)
                   for number, state in self.index.list_volumes())


TestIndexIsADict = IndexMachine.TestCase
TestIndexIsADict.settings = settings(
    max_examples=25, stateful_step_count=20,
    suppress_health_check=[HealthCheck.too_slow])
