# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import unittest

from tools.benchmarks import cli
from tools.benchmarks.errors import BenchError
from tools.benchmarks.sync.settings import (
    Settings,
    default_part_power,
    parse_sizes,
)


class TestSettings(unittest.TestCase):

    def test_by_default_a_partition_has_about_eight_objects(self):
        for objects in (100, 1000, 1667, 10000, 1000000):
            of_one = objects / 2 ** default_part_power(objects)
            self.assertTrue(5.6 < of_one < 11.4, of_one)

    def test_objects_are_counted_per_node(self):
        settings = Settings(nodes=5, replicas=3, objects=3000)
        self.assertEqual(5000, settings.unique_objects)

    def test_a_part_power_that_is_given_is_kept(self):
        self.assertEqual(4, Settings(part_power=4).part_power)

    def test_the_clusters_differ_in_the_replicator_only(self):
        settings = Settings(replicas=5, sync_method='ssync')
        stock, lightsync = (settings.cluster_spec('/x', name, {})
                            for name in ('stock', 'lightsync'))
        self.assertEqual(['replicator'], stock.differences(lightsync))
        self.assertEqual('ssync', stock.sync_method)
        self.assertEqual(5, stock.policies[0].replicas)

    def test_sizes_are_given_in_kib(self):
        self.assertEqual((6144, 10240), parse_sizes('6-10'))
        self.assertEqual((8192, 8192), parse_sizes('8'))


class TestBadArguments(unittest.TestCase):

    def assertRefused(self, argv, *texts):
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr):
            self.assertEqual(2, cli.main(['sync', *argv]))
        for text in texts:
            self.assertIn(text, stderr.getvalue())

    def test_each_is_named_with_what_is_allowed(self):
        for argv, texts in (
                (['--nodes', '1'], ('--nodes is 1', '2 to 99')),
                (['--replicas', '6'], ('--replicas is 6', '2 to 5')),
                (['--objects', '0'], ('--objects is 0', 'at least 10')),
                (['--part-power', '33'], ('--part-power is 33', '1 to 32')),
                (['--runs', '0'], ('--runs is 0', 'at least 1')),
                (['--timeout', '0'], ('--timeout is 0', 'more than 0')),
                (['--timeout', 'nan'], ('--timeout is nan', 'more than 0')),
                (['--size', '10-6'], ("--size is '10-6'", 'LOW-HIGH')),
                (['--size', '-5'], ("--size is '-5'", 'LOW-HIGH')),
                (['--sync-method', 'ftp'],
                 ("--sync-method is 'ftp'", 'rsync or ssync')),
                (['--scenarios', 'stable,dead'],
                 ("--scenarios is 'dead'", 'dead-silent')),
                (['--scenarios', ''], ("--scenarios is ''", 'stable')),
                (['--replicators', 'swift'],
                 ("--replicators is 'swift'", 'stock, lightsync')),
                (['--json', '/no/such/directory/x'],
                 ('/no/such/directory/x', 'directory that exists'))):
            with self.subTest(argv):
                self.assertRefused(
                    ['='.join(argv)] if argv[1].startswith('-') else argv,
                    *texts)

    def test_settings_can_be_made_by_no_other_way_either(self):
        with self.assertRaises(BenchError):
            Settings(replicas=1)


if __name__ == '__main__':
    unittest.main()
