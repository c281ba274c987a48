# SPDX-License-Identifier: Apache-2.0
"""merkle: the root over the suffix hashes of a partition."""

import re
import unittest
from hashlib import md5

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.sync.core import merkle
from tests.unit.sync import documented

SUFFIXES = st.text('0123456789abcdef', min_size=3, max_size=3)
HASHES = st.text('0123456789abcdef', min_size=32, max_size=32)
PARTITIONS = st.dictionaries(SUFFIXES, HASHES, max_size=40)


def digest(data):
    return md5(data, usedforsecurity=False).digest()


def naive_root(hashes):
    """The root as PROTOCOL.md words it, one node at a time."""
    nodes = [digest(b'\1' + (suffix + hashes[suffix]).encode())
             for suffix in sorted(hashes)]
    while len(nodes) > 1:
        above = []
        for i in range(0, len(nodes), 2):
            pair = nodes[i:i + 2]
            above.append(digest(b'\2' + b''.join(pair))
                         if len(pair) == 2 else pair[0])
        nodes = above
    return (nodes or [digest(b'\0')])[0].hex()


class TestRoot(unittest.TestCase):

    def test_the_example_of_the_document_holds(self):
        suffixes = re.findall(
            r'`([0-9a-f]{3})` with hash\s+`([0-9a-f]+)`',
            documented.protocol())
        self.assertEqual(2, len(suffixes))
        for suffix, suffix_hash in suffixes:
            leaf = documented.found(
                r'leaf %s +MD5\(01 "%s"\) += ([0-9a-f]{32})$'
                % (suffix, suffix + suffix_hash))
            self.assertEqual(leaf, merkle.root({suffix: suffix_hash}))
        self.assertEqual(documented.found(r'^    root .*= ([0-9a-f]{32})$'),
                         merkle.root(dict(suffixes)))

    def test_no_suffix_has_the_documented_root(self):
        self.assertEqual(
            documented.found(r'no suffix +MD5\(00\) += ([0-9a-f]{32})$'),
            merkle.root({}))

    def test_an_odd_last_node_rises_as_it_is(self):
        three = {'001': 'a', '002': 'b', '003': 'c'}
        left = bytes.fromhex(merkle.root({'001': 'a', '002': 'b'}))
        right = bytes.fromhex(merkle.root({'003': 'c'}))
        self.assertEqual(digest(b'\2' + left + right).hex(),
                         merkle.root(three))

    def test_any_number_of_leaves_is_hashed_as_documented(self):
        for count in list(range(70)) + [4095, 4096]:
            hashes = {'%03x' % i: md5(b'%d' % i).hexdigest()
                      for i in range(count)}
            self.assertEqual(naive_root(hashes), merkle.root(hashes), count)

    @given(PARTITIONS)
    def test_the_root_is_the_one_of_the_document(self, hashes):
        self.assertEqual(naive_root(hashes), merkle.root(hashes))

    @given(PARTITIONS, PARTITIONS)
    def test_two_partitions_have_one_root_only_if_equal(self, one, other):
        self.assertEqual(one == other,
                         merkle.root(one) == merkle.root(other))

    @given(PARTITIONS)
    def test_the_argument_is_left_as_it_was(self, hashes):
        before = dict(hashes)
        merkle.root(hashes)
        self.assertEqual(before, hashes)

    def test_what_is_no_string_has_no_root(self):
        for hashes in ({'abc': None}, {'abc': 1}, {'abc': b'x'},
                       {'abc': '\xe9'}, {7: 'x'}):
            with self.assertRaises((AttributeError, UnicodeError)):
                merkle.root(hashes)
