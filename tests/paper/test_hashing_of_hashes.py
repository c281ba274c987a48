# SPDX-License-Identifier: Apache-2.0
"""LightSync §5.2: Hashing of Hashes."""

import unittest
from hashlib import md5
from itertools import combinations

from swift_lightsync.sync.core import merkle
from swift_lightsync.sync.core.shared_set import SharedSet
from swift_lightsync.sync.wire import sync_message


def suffix_hashes(count):
    return {'%03x' % number: md5(b'%d' % number).hexdigest()
            for number in range(count)}


class TestHashingOfHashes(unittest.TestCase):

    def test_fig_19_a_node_is_the_hash_of_its_children(self):
        hashes = suffix_hashes(4)
        leaves = [md5(b'\1' + (suffix + digest).encode()).digest()
                  for suffix, digest in sorted(hashes.items())]
        left, right = (md5(b'\2' + leaves[i] + leaves[i + 1]).digest()
                       for i in (0, 2))
        self.assertEqual(md5(b'\2' + left + right).hexdigest(),
                         merkle.root(hashes))

    def test_fig_20_one_root_stands_for_all_suffix_hashes(self):
        # Every change of one hash, every removal, every addition, and every
        # exchange of two hashes gives a root of its own.
        hashes = suffix_hashes(33)
        variants = [hashes]
        for suffix in hashes:
            variants.append(dict(hashes, **{suffix: 'f' * 32}))
            variants.append({other: digest for other, digest
                             in hashes.items() if other != suffix})
        variants += [dict(hashes, **{'%03x' % number: 'f' * 32})
                     for number in range(33, 66)]
        variants += [dict(hashes, **{a: hashes[b], b: hashes[a]})
                     for a, b in combinations(hashes, 2)]
        roots = {merkle.root(variant) for variant in variants}
        self.assertEqual(len(variants), len(roots))

    def test_5_2_replicas_with_equal_suffix_hashes_have_equal_roots(self):
        hashes = suffix_hashes(100)
        backwards = dict(reversed(list(hashes.items())))
        self.assertEqual(merkle.root(hashes), merkle.root(backwards))

    def test_5_2_a_sync_message_shrinks_by_a_factor_of_h(self):
        # One hash value travels, whatever the number of suffixes.
        one = SharedSet([(0, 'sda', 7)])
        sizes = {len(sync_message.encode_roots(
            one, [merkle.root(suffix_hashes(h))])) for h in (1, 8, 32, 4096)}
        self.assertEqual(1, len(sizes))
        self.assertLessEqual(sizes.pop(), 16 + 40)
