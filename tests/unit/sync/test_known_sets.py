# SPDX-License-Identifier: Apache-2.0
"""known_sets: which sets a receiver remembers."""

import re
import sys
import threading
import tracemalloc
import unittest

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.sync.core.shared_set import PartitionSetError, SharedSet
from swift_lightsync.sync.wire import known_sets
from swift_lightsync.sync.wire.known_sets import KnownSets
from swift_lightsync.sync.wire.sync_message import Roots
from tests.unit.sync import documented


def listed(partitions):
    return Roots((), len(partitions), partitions=partitions)


def named(partitions, count=None):
    return Roots((), len(partitions) if count is None else count,
                 digest=partitions.digest)


def some(number, size=30):
    """The number-th of sets that have nothing in common; a byte each."""
    return of_device(range(number * size, (number + 1) * size - 1)
                     if number else range(size - 1))


def of_device(partitions):
    return SharedSet((0, 'sda', partition) for partition in partitions)


#: What one of them takes of the capacity.
SIZE = len(some(1).encoded) + known_sets.ENTRY


class TestKnownSets(unittest.TestCase):

    def test_a_digest_is_unknown_until_its_list_was_sent(self):
        known = KnownSets()
        self.assertIsNone(known.find(named(some(1))))
        self.assertEqual(some(1), known.find(listed(some(1))))
        self.assertEqual(some(1), known.find(named(some(1))))
        self.assertIsNone(known.find(named(some(2))))

    def test_a_digest_with_another_count_is_refused(self):
        known = KnownSets()
        known.find(listed(some(1)))
        for count in (0, 28, 30, 2 ** 32 - 1):
            with self.assertRaises(PartitionSetError):
                known.find(named(some(1), count))
        self.assertEqual(some(1), known.find(named(some(1))))

    def test_one_that_is_no_longer_than_its_digest_is_not_kept(self):
        known = KnownSets()
        for partitions in (SharedSet(()), some(1, size=2)):
            known.find(listed(partitions))
            self.assertIsNone(known.find(named(partitions)))

    def test_one_large_set_displaces_many_small_ones(self):
        known = KnownSets(capacity=8 * SIZE)
        for number in range(8):
            known.find(listed(some(number)))
        large = of_device(range(8 * SIZE - known_sets.ENTRY - 15))
        known.find(listed(large))
        self.assertEqual(large, known.find(named(large)))
        self.assertFalse(any(known.find(named(some(number)))
                             for number in range(8)))

    def test_one_that_is_too_large_is_used_and_not_kept(self):
        known = KnownSets(capacity=SIZE)
        large = of_device(range(SIZE))
        self.assertEqual(large, known.find(listed(large)))
        self.assertIsNone(known.find(named(large)))
        # What it displaced makes room, as if it had never been there.
        known.find(listed(some(1)))
        self.assertEqual(some(1), known.find(named(some(1))))

    @given(st.lists(st.integers(0, 9), max_size=60), st.integers(0, 6))
    def test_it_is_a_list_of_the_last_used(self, numbers, room):
        known = KnownSets(capacity=room * SIZE)
        model = []
        for number in numbers:
            if len(some(number).encoded) + known_sets.ENTRY != SIZE:
                continue
            expected = number in model
            found = known.find(named(some(number)))
            self.assertEqual(some(number) if expected else None, found)
            known.find(listed(some(number)))
            model = ([number] + [other for other in model
                                 if other != number])[:room]

    def test_its_memory_is_bounded_whatever_the_size_of_the_sets(self):
        for size, count in ((1, 20000), (17, 20000), (1024, 2000)):
            known = KnownSets(capacity=1 << 18)
            tracemalloc.start()
            try:
                for number in range(count):
                    known.find(listed(of_device(
                        range(number, number + size))))
                held = tracemalloc.get_traced_memory()[0]
            finally:
                tracemalloc.stop()
            self.assertLess(held, 3 << 18)

    def test_threads_that_use_it_at_once_leave_it_whole(self):
        known = KnownSets(capacity=3 * SIZE, lock=threading.Lock())
        errors = []
        sets = [some(number) for number in range(1, 9)
                if len(some(number).encoded) + known_sets.ENTRY == SIZE]
        self.assertGreater(len(sets), 3)

        def use(shift):
            try:
                for number in range(3000):
                    each = sets[(number + shift) % len(sets)]
                    known.find(listed(each))
                    if known.find(named(each)) not in (None, each):
                        raise AssertionError('another set')
            except (AssertionError, LookupError) as err:
                errors.append(err)

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            threads = [threading.Thread(target=use, args=(shift,))
                       for shift in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
        finally:
            sys.setswitchinterval(interval)
        self.assertEqual([], errors)
        self.assertEqual(3 * SIZE, known._bytes)
        self.assertEqual(3, len(known._encoded))

    def test_its_capacity_is_the_documented_one(self):
        self.assertEqual('%d MiB' % (known_sets.CAPACITY >> 20), re.search(
            r'by their digests \((\d+ MiB) a process\)',
            documented.protocol())[1])
