# SPDX-License-Identifier: Apache-2.0
import unittest

from tools.benchmarks.sync.dataset import Changes, DataSet, Version

NOW = 1700000000.0
DEVICES = ('a', 'b', 'c', 'd', 'e')


def data_set(seed=1, count=200):
    return DataSet(seed, count, (6144, 10240), NOW)


def devices_of(name):
    first = int(name[-1])
    return tuple(DEVICES[(first + i) % 5] for i in range(3))


def changes(live=DEVICES, seed='s/1', data=None):
    return Changes(data or data_set(), devices_of, live, seed)


class TestDataSet(unittest.TestCase):

    def test_one_seed_gives_the_same_objects_and_bytes(self):
        self.assertEqual(data_set().objects, data_set().objects)
        one = data_set().objects[3]
        self.assertEqual(one.body(1), one.body(1))

    def test_another_seed_gives_other_objects_and_bytes(self):
        self.assertNotEqual(data_set(1).objects, data_set(2).objects)
        one = data_set().objects[3]
        self.assertNotEqual(one.body(1), one.body(2))

    def test_names_and_timestamps_are_unique(self):
        objects = data_set().objects
        self.assertEqual(200, len({each.name for each in objects}))
        self.assertEqual(200, len({each.file_name for each in objects}))

    def test_sizes_span_the_range_and_stay_in_it(self):
        sizes = [each.size for each in data_set(count=5000).objects]
        self.assertLess(min(sizes), 6200)
        self.assertGreater(max(sizes), 10200)
        self.assertGreaterEqual(min(sizes), 6144)
        self.assertLessEqual(max(sizes), 10240)

    def test_a_body_has_the_size_of_its_version(self):
        one = data_set().objects[0]
        self.assertEqual(one.size, len(one.body(1)))

    def test_files_are_named_as_swift_names_them(self):
        self.assertEqual('1700000000.00100.data',
                         Version('o', NOW + 0.001, 1).file_name)
        self.assertEqual('1700000000.00000.ts',
                         Version('o', NOW, 0, True).file_name)


class TestChanges(unittest.TestCase):

    def test_one_seed_gives_the_same_changes(self):
        for method in (Changes.creations, Changes.deletions,
                       Changes.rewrites):
            self.assertEqual(method(changes()), method(changes()))
            self.assertNotEqual(method(changes()),
                                method(changes(seed='s/2')))

    def test_a_tenth_of_the_objects_is_changed(self):
        self.assertEqual(20, len(changes().creations()))
        self.assertEqual(20, len({write.version.name for write
                                  in changes().deletions()}))
        self.assertEqual(20, len({write.version.name for write
                                  in changes().rewrites()}))

    def test_creations_are_new_objects_at_a_quorum_of_their_devices(self):
        old = {each.name for each in data_set().objects}
        for write in changes().creations():
            self.assertNotIn(write.version.name, old)
            self.assertFalse(write.version.deleted)
            self.assertEqual(2, len(set(write.devices)))
            self.assertLess(set(write.devices),
                            set(devices_of(write.version.name)))

    def test_the_quorum_is_not_always_the_same_devices(self):
        data = data_set(count=1000)
        left_out = {(set(devices_of(write.version.name))
                     - set(write.devices)).pop()
                    for write in changes(data=data).deletions()}
        self.assertEqual(set(DEVICES), left_out)

    def test_deletions_are_newer_tombstones_at_a_quorum(self):
        old = {each.name: each for each in data_set().objects}
        for write in changes().deletions():
            self.assertTrue(write.version.deleted)
            self.assertGreater(write.version.timestamp,
                               old[write.version.name].timestamp)
            self.assertEqual(2, len(set(write.devices)))

    def test_rewrites_delete_and_then_create_on_all_live_devices(self):
        live = set(DEVICES) - {'e'}
        writes = changes(live=live).rewrites()
        deletes = {write.version.name: (i, write)
                   for i, write in enumerate(writes)
                   if write.version.deleted}
        creates = [(i, write) for i, write in enumerate(writes)
                   if not write.version.deleted]
        self.assertEqual(20, len(creates))
        for i, write in creates:
            before, delete = deletes[write.version.name]
            self.assertLess(before, i)
            self.assertLess(delete.version.timestamp,
                            write.version.timestamp)
            self.assertEqual(set(devices_of(write.version.name)) & live,
                             set(write.devices))
            self.assertEqual(write.devices, delete.devices)


if __name__ == '__main__':
    unittest.main()
