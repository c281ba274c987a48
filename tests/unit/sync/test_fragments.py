# SPDX-License-Identifier: Apache-2.0
"""fragments: equal roots say what stock Swift's reconstructor would find."""

import re
import unittest

from hypothesis import given
from hypothesis import strategies as st
from swift.obj.reconstructor import ObjectReconstructor

from swift_lightsync.sync.core import merkle
from swift_lightsync.sync.core.conversation import (
    Condition,
    DeviceState,
    SharedTold,
)
from swift_lightsync.sync.core.fragments import (
    MIXED,
    NONE,
    Questions,
    equal_items,
    shown,
    summary,
)
from tests.unit.sync import documented
from tests.unit.sync.fixtures import node

OURS, THEIRS = 4, 5
HASH = st.sampled_from(['a' * 32, 'b' * 32])
#: Of a suffix: what is durable, our fragment, theirs, and that of a third.
SUFFIX = st.dictionaries(st.sampled_from([None, OURS, THEIRS, 7]), HASH,
                         min_size=1)
PARTITION = st.dictionaries(st.sampled_from(['07b', 'a83']), SUFFIX)


def delta(ours, theirs):
    """The suffixes that stock Swift finds to differ."""
    return ObjectReconstructor.get_suffix_delta(None, ours, OURS, theirs,
                                                THEIRS)


def translated(hashes, index):
    """The same objects in fragments of another index."""
    return {suffix: {index if key is not None else None: value
                     for key, value in of_suffix.items()}
            for suffix, of_suffix in hashes.items()}


def is_equal(ours, theirs):
    """Whether the reconstructor leaves a partner out."""
    root, fragment = summary(ours)
    if fragment not in (NONE, OURS):
        return False
    return shown(*summary(theirs)) == shown(
        root, NONE if fragment == NONE else THEIRS)


class TestRoots(unittest.TestCase):

    def test_the_example_of_the_document_holds(self):
        text = documented.protocol()
        suffix, durable, own = re.search(
            r'Example: suffix `(\w+)` with `(\w+)` without an index and '
            r'`(\w+)` of index 4', text).groups()
        root, fragment = summary({suffix: {None: durable, 4: own}})
        self.assertEqual(4, fragment)
        self.assertEqual(documented.found(
            r'root +MD5\(01 "07bc8.*= ([0-9a-f]{32})$'), root)
        self.assertEqual(documented.found(
            r'shown by 5 .*= ([0-9a-f]{32})$'), shown(root, 5))

    @given(PARTITION, PARTITION)
    def test_what_stock_swift_would_sync_is_never_equal(self, ours, theirs):
        if is_equal(ours, theirs):
            self.assertEqual([], delta(ours, theirs))

    @given(st.dictionaries(st.sampled_from(['07b', 'a83']), st.dictionaries(
        st.sampled_from([None, OURS]), HASH, min_size=1)))
    def test_the_same_objects_in_other_fragments_are_equal(self, hashes):
        self.assertTrue(is_equal(hashes, translated(hashes, THEIRS)))

    @given(PARTITION)
    def test_what_only_the_partner_has_is_found(self, theirs):
        if theirs:
            self.assertFalse(is_equal({}, theirs))

    def test_another_index_than_the_ring_has_for_the_partner_differs(self):
        ours = {'07b': {None: 'a', OURS: 'b'}}
        self.assertTrue(is_equal(ours, {'07b': {None: 'a', THEIRS: 'b'}}))
        self.assertFalse(is_equal(ours, {'07b': {None: 'a', 6: 'b'}}))

    def test_fragments_of_several_indices_are_equal_to_nothing(self):
        mixed = {'07b': {None: 'a', OURS: 'b', 7: 'b'}}
        self.assertEqual((merkle.EMPTY_ROOT, MIXED), summary(mixed))
        self.assertFalse(is_equal(mixed, translated(mixed, THEIRS)))
        self.assertFalse(is_equal({'07b': {None: 'a', OURS: 'b'}}, mixed))

    def test_a_replicated_policy_shows_its_root(self):
        self.assertEqual('ab' * 16, shown('ab' * 16, NONE))


class TestQuestions(unittest.TestCase):

    def setUp(self):
        self.questions = Questions()
        self.nodes = [node(number, 6200 + number) for number in range(3)]

    def add(self, local, number, root):
        partner = self.nodes[number]
        self.questions.add(local, number, partner, (1, partner['device'], 7),
                           root)

    def equal(self, **told):
        """:param told: by the name of a node what it said of its partition"""
        return self.questions.equal({
            ('127.0.0.1', 6200 + int(name[1:])): equal_items(
                [(1, 'sda', 7)], found) for name, found in told.items()})

    def ready(self, **told):
        return SharedTold(states={'sda': DeviceState(Condition.READY)},
                          **told)

    def test_partners_are_equal_that_say_so(self):
        for number in range(3):
            self.add('here', number, 'r')
        self.assertEqual({'here': {0}}, self.equal(
            n0=self.ready(), n1=self.ready(differing={(1, 'sda', 7)})))
        self.assertEqual({'here': set()}, self.equal(
            n0=self.ready(unread={(1, 'sda', 7)}), n1=SharedTold(),
            n2=SharedTold(states={'sda': DeviceState(Condition.NOT_YET)})))

    def test_two_devices_here_share_a_question_if_it_is_the_same(self):
        self.add('here', 0, 'r')
        self.add('there', 0, 'r')
        self.add('elsewhere', 0, 'other')
        self.assertEqual([{(1, 'sda', 7): 'r'}],
                         list(self.questions.roots.values()))
        self.assertEqual({'here': {0}, 'there': {0}},
                         self.equal(n0=self.ready()))
