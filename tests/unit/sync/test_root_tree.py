# SPDX-License-Identifier: Apache-2.0
"""The kept tree has the roots of the one that is computed anew."""

import random
import unittest

from swift_lightsync.sync.core.compact_set import CompactSet
from swift_lightsync.sync.core.root_tree import RootTree
from swift_lightsync.sync.core.shared_set import SharedSet, leaf_of
from tests.unit.sync.verbs import slice_roots


def _root(rng):
    return '%032x' % rng.getrandbits(128)


class TestRootTree(unittest.TestCase):
    def setUp(self):
        self.rng = random.Random(5)

    def _some(self, count):
        items = SharedSet((each % 2, ('sd', 'sd-1', 'sd.')[each % 3], each * 7)
                          for each in range(count))
        return items, {item: _root(self.rng) for item in items}

    def _tree(self, items, roots):
        return RootTree(leaf_of(item, roots[item]) for item in items)

    def test_its_slices_have_the_roots_of_the_document(self):
        for count in (1, 2, 3, 15, 16, 17, 100, 129):
            items, roots = self._some(count)
            tree = self._tree(items, roots)
            for slices in (1, 2, 7, 11, count):
                with self.subTest(count=count, slices=slices):
                    self.assertEqual(slice_roots(items, slices, roots),
                                     tree.slice_roots(slices))

    def test_a_replaced_leaf_changes_it_as_if_it_was_made_anew(self):
        for count in (1, 2, 3, 17, 100):
            items, roots = self._some(count)
            tree = self._tree(items, roots)
            for _ in range(20):
                place = self.rng.randrange(count)
                roots[items[place]] = _root(self.rng)
                leaf = leaf_of(items[place], roots[items[place]])
                self.assertTrue(tree.replace(place, leaf))
                self.assertFalse(tree.replace(place, leaf))
                for slices in (1, 5, count):
                    self.assertEqual(slice_roots(items, slices, roots),
                                     tree.slice_roots(slices))

    def test_a_compact_set_knows_the_places_of_its_items(self):
        items, _ = self._some(200)
        compact = CompactSet(items)
        self.assertEqual((len(items), items.digest, items.devices),
                         (len(compact), compact.digest, compact.devices))
        for place, item in enumerate(items):
            self.assertEqual(place, compact.place(*item))
            self.assertEqual(item, compact.item(place))
        for absent in ((0, 'sd', 1), (7, 'sd', 0), (0, 'sd9', 0),
                       (0, 'sd', 10 ** 6)):
            self.assertIsNone(compact.place(*absent))
