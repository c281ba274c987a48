# SPDX-License-Identifier: Apache-2.0
import os
import tempfile
import time
import unittest

from tools.benchmarks.proar.replicas import arrival, completed, wait


class TestReplicas(unittest.TestCase):

    def setUp(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.places = {name: [os.path.join(root.name, name, str(i))
                              for i in range(3)] for name in 'ab'}

    def put(self, name, *replicas):
        for i in replicas:
            os.makedirs(self.places[name][i])
            with open(os.path.join(self.places[name][i], '1.data'), 'w'):
                pass

    def test_it_is_there_from_when_its_file_got_its_name(self):
        os.makedirs(self.places['a'][0])
        draft = os.path.join(self.places['a'][0], 'draft')
        with open(draft, 'w'):
            pass
        self.assertIsNone(arrival(self.places['a'][0]))
        drafted = os.stat(draft).st_ctime
        while os.stat(draft).st_ctime == drafted:
            os.utime(draft, (1, 1))
        final = os.path.join(self.places['a'][0], '1.data')
        os.rename(draft, final)
        found = arrival(self.places['a'][0])
        self.assertEqual(os.stat(final).st_ctime, found)
        self.assertGreater(found, drafted)

    def test_an_object_is_complete_with_its_last_replica(self):
        self.put('a', 0, 2)
        self.assertIsNone(completed(self.places['a']))
        self.put('a', 1)
        self.assertEqual(max(map(arrival, self.places['a'])),
                         completed(self.places['a']))

    def test_a_tombstone_is_no_replica(self):
        os.makedirs(self.places['a'][0])
        with open(os.path.join(self.places['a'][0], '1.ts'), 'w'):
            pass
        self.assertIsNone(arrival(self.places['a'][0]))

    def test_those_that_never_have_all_are_left_out(self):
        self.put('a', 0, 1, 2)
        self.put('b', 0, 1)
        begin = time.monotonic()
        self.assertEqual(['a'], list(wait(self.places, 0.05, 0.01)))
        self.assertGreaterEqual(time.monotonic() - begin, 0.05)

    def test_it_ends_when_all_have_all(self):
        for name in 'ab':
            self.put(name, 0, 1, 2)
        self.assertEqual({'a', 'b'}, set(wait(self.places, 3600)))


if __name__ == '__main__':
    unittest.main()
