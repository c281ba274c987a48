# SPDX-License-Identifier: Apache-2.0
"""lookahead: how often the index is asked, and that nothing is missed."""

import random
import unittest

from swift_losf.diskfile import lookahead
from swift_losf.diskfile.lookahead import Lookahead


class FakeStore:
    """:param files: a dict of suffixes to dicts of hashes to file names"""

    def __init__(self, files):
        self.contents = files
        self.calls = []

    def list_suffix(self, partition, suffix):
        self.calls.append((partition, suffix, 0))
        return list(self.contents.get(suffix, {}).items())

    def list_onward(self, partition, suffix, limit):
        self.calls.append((partition, suffix, limit))
        hashes = [(each, *item)
                  for each, files in sorted(self.contents.items())
                  if each >= suffix for item in files.items()]
        end = int(hashes[limit - 1][0], 16) if len(hashes) > limit else 4096
        found = {}
        for each, hash_, names in hashes[:limit]:
            if int(each, 16) < end:
                found.setdefault(each, {})[hash_] = names
        return found, end


def contents(seed, suffixes, most):
    chance = random.Random(seed)
    return {'%03x' % number: {'%x' % each: ['a'] for each in range(
        chance.randint(1, most))} for number in chance.sample(
            range(4096), suffixes)}


class TestLookahead(unittest.TestCase):

    def test_one_suffix_is_listed_alone(self):
        store = FakeStore(contents(1, 50, 3))
        suffix = min(store.contents)
        self.assertEqual(store.contents[suffix],
                         Lookahead(store, 7).files(suffix))
        self.assertEqual([(7, suffix, 0)], store.calls)

    def test_all_suffixes_take_few_calls(self):
        store = FakeStore(contents(2, 1500, 2))
        ahead = Lookahead(store, 7)
        for suffix, files in sorted(store.contents.items()):
            self.assertEqual(files, ahead.files(suffix))
        self.assertEqual(
            [0, lookahead.FIRST_LIMIT, 8 * lookahead.FIRST_LIMIT,
             lookahead.MAX_LIMIT], [limit for *_, limit in store.calls])

    def test_nothing_is_missed_in_whatever_order_it_is_asked_for(self):
        for seed in range(200):
            store = FakeStore(contents(seed, 60, 9))
            chance = random.Random(seed)
            asked = sorted(chance.choices(
                list(store.contents) + ['%03x' % chance.randrange(4096)],
                k=80), key=lambda _: chance.random() < 0.1)
            ahead = Lookahead(store, 7)
            for suffix in asked:
                self.assertEqual(store.contents.get(suffix, {}),
                                 ahead.files(suffix), seed)

    def test_a_suffix_that_fills_more_than_a_page_is_listed_alone(self):
        store = FakeStore({'00%d' % number: {
            '%x' % each: ['a'] for each in range(100)}
            for number in range(4)})
        ahead = Lookahead(store, 7)
        for suffix, files in store.contents.items():
            self.assertEqual(files, ahead.files(suffix))

    def test_what_was_asked_for_is_listed_anew(self):
        store = FakeStore({'001': {'a': ['x']}, '002': {'b': ['x']}})
        ahead = Lookahead(store, 7)
        for suffix in ('001', '002'):
            ahead.files(suffix)
        store.contents['001'] = {'c': ['y']}
        store.contents['002'] = {'d': ['y']}
        self.assertEqual({'d': ['y']}, ahead.files('002'))
        self.assertEqual({'c': ['y']}, ahead.files('001'))
