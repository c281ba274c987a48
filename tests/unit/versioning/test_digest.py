# SPDX-License-Identifier: Apache-2.0
"""Digests of versions: the same if and only if the versions are the same."""

from dataclasses import replace
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from swift.common.utils import ShardRange, Timestamp

from swift_lightsync.versioning.core.comparing import (
    BUCKETS,
    LIFE_BUCKET,
    Digest,
    bucket_of,
)
from swift_lightsync.versioning.core.heads import purge_rows
from swift_lightsync.versioning.core.life import Life, life_row
from swift_lightsync.versioning.core.row_data import Entry, row_of
from swift_lightsync.versioning.core.stamp import TICKS, Stamp
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.server import row_table
from tests.unit.versioning.test_verb_server import HIDDEN, NOW, VerbCase

LATER = Stamp(3000000000 * TICKS)
_ids = st.builds(Stamp, st.integers(1, 5), st.integers(1, 3))
entries = st.builds(
    lambda obj, stamp, deleted, changed: Entry(
        obj, Version(stamp, 'rome', Vector(), deleted),
        changed=changed and Stamp(stamp.ticks + changed, 7)),
    st.sampled_from(('a', 'b', 'ö/x')), _ids, st.booleans(),
    st.sampled_from((None, 1, 2)))


def record(entry):
    row = row_of(entry)
    return row.name, str(row.stamp), row.content_type


def digest(*entries):
    return Digest.of(map(record, entries), LATER)


def facts(entries):
    """What makes versions different."""
    return {(entry.object, entry.version.id, entry.kind, entry.changed)
            for entry in entries}


def distinct(found):
    """Of one id there is one version."""
    return list({(each.object, each.version.id): each
                 for each in found}.values())


class TestDigest(VerbCase):

    @given(st.lists(entries), st.lists(entries))
    def test_it_is_the_same_if_and_only_if_the_versions_are(self, one, two):
        one, two = distinct(one), distinct(two)
        found = digest(*one), digest(*two)
        self.assertEqual(facts(one) == facts(two), found[0] == found[1])
        self.assertEqual(facts(one) == facts(two),
                         found[0].root == found[1].root)

    @given(st.lists(entries), st.lists(entries))
    def test_the_buckets_that_differ_are_those_of_the_objects_that_do(
            self, one, two):
        one, two = distinct(one), distinct(two)
        different = {each[0] for each in facts(one) ^ facts(two)}
        self.assertEqual({bucket_of(obj) for obj in different},
                         digest(*one).differing(digest(*two)))

    @given(st.lists(entries), st.randoms())
    def test_databases_that_share_the_versions_have_it_together(self, found,
                                                                random):
        found = distinct(found)
        random.shuffle(found)
        half = len(found) // 2
        self.assertEqual(digest(*found), digest(*found[:half]).joined(
            digest(*found[half:])))

    def test_what_is_random_in_the_time_of_a_change_is_left_out(self):
        entry = self.entry()
        one, two = (replace(entry, changed=Stamp(
            entry.version.id.ticks + TICKS, nonce)) for nonce in (1, 2))
        self.assertEqual(digest(one), digest(two))

    def test_what_is_too_new_is_left_out(self):
        old, new = self.entry('o'), self.entry('o')
        until = old.version.id
        self.assertEqual(Digest.of([record(old)], until), Digest.of(
            [record(old), record(new)], until))
        self.assertNotEqual(Digest.of([], until),
                            Digest.of([record(old)], until))
        changed = replace(old, changed=Stamp(until.ticks + TICKS, 5))
        self.assertEqual(Digest.of([record(old)], until),
                         Digest.of([record(changed)], until))

    def test_it_has_all_buckets(self):
        self.assertRaises(ValueError, Digest, (0,) * (BUCKETS - 1))


class TestDigestOfAReplica(VerbCase):

    def told(self):
        return Digest(self.version(digest=LATER).digests)

    def test_it_is_that_of_the_live_versions(self):
        kept, gone = self.entry('a'), self.entry('b')
        marker = self.entry('c', deleted=True)
        for entry in kept, gone, marker:
            self.version(entry.object, [row_of(entry)])
        self.version('b', purge_rows(
            gone, self.clock.tick(self.seconds + 1), True))
        self.assertEqual(digest(kept, marker), self.told())

    def test_it_is_read_in_parts(self):
        found = [self.entry('o%d' % number) for number in range(5)]
        for entry in found:
            self.version(entry.object, [row_of(entry)])
        for at_once in 1, 2, 5:
            with mock.patch.object(row_table, '_AT_ONCE', at_once):
                self.assertEqual(digest(*found), self.told())

    def test_the_life_of_a_container_is_in_it_while_that_exists(self):
        nothing = self.told()
        for seconds in 1, 2:
            self.version(rows=[life_row(Life(True, Stamp(seconds), 'rome'))])
            exists = self.told()
            self.assertEqual({LIFE_BUCKET}, nothing.differing(exists))
        self.version(rows=[life_row(Life(False, Stamp(3), 'rome'))])
        self.assertEqual(nothing, self.told())

    def test_it_is_told_only_if_asked_for(self):
        self.assertEqual((), self.version().digests)

    def test_none_is_told_while_the_container_is_being_sharded(self):
        entry = self.entry('a')
        self.version('a', [row_of(entry)])
        now = Timestamp(NOW + 5)
        broker = self.server._get_container_broker('sda', '0', 'a', HIDDEN)
        broker.merge_shard_ranges([
            ShardRange('.shards_a/s', now, state=ShardRange.CREATED),
            ShardRange('a/' + HIDDEN, now, state=ShardRange.ACTIVE)])
        broker.enable_sharding(Timestamp(NOW + 6))
        self.assertTrue(broker.set_sharding_state())
        answer = self.version(digest=LATER)
        self.assertEqual((), answer.digests)
        self.assertEqual(['.shards_a/s'],
                         [each.name for each in answer.shards])
