# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import unittest
from argparse import Namespace

from tools.benchmarks import cli
from tools.benchmarks.losf.settings import (
    BACKENDS,
    Settings,
    default_part_power,
    from_arguments,
)


class TestSettings(unittest.TestCase):

    def test_by_default_a_partition_has_about_200_objects(self):
        for objects in (1500, 20000, 200000, 3000000):
            of_one = objects / 2 ** default_part_power(objects)
            self.assertTrue(140 < of_one < 285, of_one)

    def test_the_clusters_differ_in_what_holds_the_objects_only(self):
        fs, kv = (Settings().cluster_spec('/x', each, {})
                  for each in BACKENDS)
        self.assertEqual({'root', 'base_port', 'policies'},
                         set(fs.differences(kv)) | {'base_port'})
        self.assertEqual([False, True], [fs.policies[0].kv,
                                         kv.policies[0].kv])
        self.assertEqual(fs.policies[0].part_power,
                         kv.policies[0].part_power)

    def test_all_samples_of_all_runs_fit_in_the_data_set(self):
        self.assertEqual(2000, Settings().operations)
        few = Settings(objects=3000, runs=3)
        self.assertEqual(200, few.operations)

    def test_all_objects_are_walked_only_if_that_is_asked_for(self):
        self.assertNotIn('walk', Settings().ops)
        self.assertEqual(('list', 'walk'), from_arguments(
            Namespace(**{**vars(Settings()), 'ops': 'walk,list'})).ops)


class TestBadArguments(unittest.TestCase):

    def test_each_is_named_with_what_is_allowed(self):
        for argv, texts in (
                (['--objects', '1499'], ('--objects is 1499', '1500')),
                (['--runs', '0'], ('--runs is 0', 'at least 1')),
                (['--iops', '0'], ('--iops is 0', 'at least 10')),
                (['--operations', '0'],
                 ('--operations is 0', '1 to 13333', '3 runs')),
                (['--operations', '20000'], ('--operations is 20000',)),
                (['--seconds', 'nan'], ('--seconds is nan', 'more than 0')),
                (['--clients', '65'], ('--clients is 65', '1 to 64')),
                (['--ops', 'get,post'], ("--ops is 'post'", 'put_over')),
                (['--json', '/no/such/directory/x'],
                 ('/no/such/directory/x', 'directory that exists'))):
            with self.subTest(argv):
                stderr = io.StringIO()
                with contextlib.redirect_stderr(stderr):
                    self.assertEqual(2, cli.main(['losf', *argv]))
                for text in texts:
                    self.assertIn(text, stderr.getvalue())


if __name__ == '__main__':
    unittest.main()
