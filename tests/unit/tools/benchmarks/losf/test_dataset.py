# SPDX-License-Identifier: Apache-2.0
import itertools
import unittest
from statistics import median

from tools.benchmarks.losf.dataset import SIZES, DataSet
from tools.benchmarks.losf.settings import CACHES, Settings
from tools.benchmarks.losf.trial import objects, partitions


class TestDataSet(unittest.TestCase):

    def test_one_seed_gives_the_same_objects_and_bytes(self):
        one, other = DataSet(1, 100), DataSet(1, 100)
        self.assertEqual(one.objects, other.objects)
        self.assertEqual(one.sample(3, 10), other.sample(3, 10))
        self.assertEqual(one.new('x', 10), other.new('x', 10))
        self.assertEqual(one.objects[0].body(1), other.objects[0].body(1))

    def test_another_seed_gives_other_ones(self):
        one, other = DataSet(1, 100), DataSet(2, 100)
        self.assertNotEqual(one.objects, other.objects)
        self.assertNotEqual([each.name for each in one.sample(3, 10)],
                            [each.name for each in other.sample(3, 10)])
        self.assertNotEqual(one.objects[0].body(1), one.objects[0].body(2))

    def test_sizes_span_the_range_and_half_are_below_their_middle(self):
        sizes = [each.size for each in DataSet(1, 5000).objects]
        self.assertTrue(SIZES[0] <= min(sizes) < 110, min(sizes))
        self.assertTrue(60000 < max(sizes) <= SIZES[1], max(sizes))
        # the root of 100 x 65536
        self.assertTrue(2300 < median(sizes) < 2850, median(sizes))

    def test_a_body_has_the_size_of_its_object(self):
        for each in DataSet(1, 20).objects:
            self.assertEqual(each.size, len(each.body(1)))

    def test_a_body_is_another_one_if_the_object_is_overwritten(self):
        data_set = DataSet(1, 20)
        for old, new in zip(data_set.objects, data_set.resized(
                data_set.objects, 'x')):
            self.assertEqual(old.name, new.name)
            self.assertNotEqual(old.body(1), new.body(1))


class TestSamples(unittest.TestCase):

    def setUp(self):
        self.settings = Settings(objects=3000, runs=3)
        self.data_set = DataSet(1, self.settings.objects)

    def names(self, op, cache, run):
        return {each.name for each in objects(
            self.data_set, self.settings.operations, run, op, cache)}

    def test_what_is_changed_is_touched_by_no_other_measurement(self):
        samples = [self.names(op, cache, run) for run in (1, 2, 3)
                   for op in ('put_over', 'delete') for cache in CACHES]
        samples += [self.names('get', 'cold', run) for run in (1, 2, 3)]
        for one, other in itertools.combinations(samples, 2):
            self.assertFalse(one & other)
        for each in samples:
            self.assertEqual(self.settings.operations, len(each))

    def test_get_and_head_read_the_same_objects(self):
        wanted = self.names('get', 'cold', 1)
        for op, cache in (('get', 'warm'), ('head', 'cold'),
                          ('head', 'warm')):
            self.assertEqual(wanted, self.names(op, cache, 1))

    def test_what_is_put_is_always_new(self):
        known = {each.name for each in self.data_set.objects}
        for run in (1, 2, 3):
            for cache in CACHES:
                new = self.names('put', cache, run)
                self.assertEqual(self.settings.operations, len(new))
                self.assertFalse(new & known)
                known |= new

    def test_each_run_lists_other_partitions_while_there_are_some(self):
        existing = [7, 8, 9, 11, 13]
        self.assertEqual([7, 8], partitions(existing, 2, 1))
        self.assertEqual([9, 11], partitions(existing, 2, 2))
        self.assertEqual([13, 7], partitions(existing, 2, 3))


if __name__ == '__main__':
    unittest.main()
