# SPDX-License-Identifier: Apache-2.0

import contextlib
import io
import unittest
from argparse import Namespace

from swift_lightsync.versioning.proxy.filter_options import FilterOptions
from tools.benchmarks import cli
from tools.benchmarks.errors import BenchError
from tools.benchmarks.sizes import KIB, MIB
from tools.benchmarks.versioning.settings import (
    LEAST_REQUESTS,
    MODES,
    REFERENCES,
    STOCK,
    Settings,
    from_arguments,
    parse_batches,
)


class TestSettings(unittest.TestCase):

    def test_batches_are_numbers_or_none(self):
        self.assertEqual((1000, 20), parse_batches('1000, 20,1000'))
        self.assertEqual((), parse_batches(''))
        for bad in ('0', 'x', '1,', '10000000', '-1'):
            with self.subTest(bad), self.assertRaises(BenchError):
                parse_batches(bad)

    def test_large_objects_are_as_few_as_the_budget_allows(self):
        settings = Settings(requests=1000, budget=1024 * MIB)
        self.assertEqual([1000, 1000, 64, LEAST_REQUESTS], [
            settings.requests_of(size)
            for size in (4 * KIB, MIB, 16 * MIB, 1024 * MIB)])

    def test_the_clients_grow_with_the_batch_up_to_a_bound(self):
        settings = Settings(clients=32)
        self.assertEqual([2, 10, 32, 32], [
            settings.clients_of(batch) for batch in (10, 1000, 3200, 10000)])

    def test_batches_are_of_the_least_size(self):
        self.assertEqual(KIB, Settings(sizes=(MIB, KIB)).batch_size)

    def test_the_arguments_become_settings(self):
        self.assertEqual(
            Settings(sizes=(4096, MIB), modes=('read-repair', 'none'),
                     requests=5, budget=7 * MIB, batches=(9,), clients=2,
                     rounds=0, delay_ms=20.0, latest_hint_time=9,
                     latest_cache_time=10, runs=1, seed=3),
            from_arguments(Namespace(
                sizes='4K,1M', modes='none,read-repair', requests=5,
                budget=7, batches='9', clients=2, rounds=0,
                delay=20.0, latest_hint_time=9, latest_cache_time=10,
                runs=1, seed=3)))

    def test_only_our_filter_keeps_the_latest_in_memcache(self):
        settings = Settings(latest_hint_time=9, latest_cache_time=10)
        options = {'latest_hint_time': 9, 'latest_cache_time': 10}
        for site in settings.sites():
            expected = {} if site == STOCK else options
            self.assertEqual(expected, settings.memcache_of(site))
            conf = settings.cluster_spec('/x', site).versioning
            self.assertEqual(expected, {
                name: conf[name] for name in options if name in conf})

    def test_only_the_clusters_of_the_modes_are_needed(self):
        self.assertEqual([STOCK], Settings(modes=REFERENCES).sites())
        self.assertEqual(['write-repair', 'read-repair', STOCK],
                         Settings().sites())

    def test_clusters_differ_in_their_versioning_only(self):
        specs = {site: Settings().cluster_spec('/x', site)
                 for site in Settings().sites()}
        stock = specs.pop(STOCK)
        self.assertEqual({}, stock.versioning)
        for site, spec in specs.items():
            self.assertLessEqual(
                set(stock.differences(spec)),
                {'root', 'base_port', 'versioning', 'options'})
            self.assertEqual(site, FilterOptions.from_conf(
                spec.versioning).mode.value)
            options, theirs = (
                each.options['container-server'] for each in (spec, stock))
            self.assertNotEqual(options['filter:delay'].pop('delay_file'),
                                theirs['filter:delay']['delay_file'])
            self.assertEqual(options['pipeline:main'],
                             theirs['pipeline:main'])

    def test_references_are_modes_of_stock_swift(self):
        self.assertEqual({STOCK}, {MODES[name].site for name in REFERENCES})


class TestBadArguments(unittest.TestCase):

    def test_each_is_named_with_what_is_allowed(self):
        for argv, texts in (
                (['--sizes', '4K,x'], ("'x'", '4K')),
                (['--sizes', '2000M'], ('--sizes is 2097152000',)),
                (['--requests', '0'], ('--requests is 0', 'at least 1')),
                (['--budget', '0'], ('--budget is 0', '1 to 2048 MiB')),
                (['--batches', '10x'], ("'10x'", '--batches')),
                (['--batches', '5000', '--sizes', '1M'],
                 ('5000 objects of 1048576 bytes', '4096 MiB')),
                (['--clients', '1'], ('--clients is 1', '2 to 256')),
                (['--rounds', '-1'], ('--rounds is -1', '0 to 1000')),
                (['--delay', '1001'], ('--delay is 1001', '0 to 1000')),
                (['--delay', 'nan'], ('--delay is nan', '0 to 1000')),
                (['--latest-hint-time', '86401'],
                 ('--latest-hint-time is 86401', '0 to 86400')),
                (['--runs', '0'], ('--runs is 0', 'at least 1')),
                (['--modes', 'slow'], ("--modes is 'slow'", 'read-repair')),
                (['--json', '/no/such/directory/x'],
                 ('/no/such/directory/x', 'directory that exists'))):
            with self.subTest(argv):
                stderr = io.StringIO()
                with contextlib.redirect_stderr(stderr):
                    self.assertEqual(2, cli.main(['versioning', *argv]))
                for text in texts:
                    self.assertIn(text, stderr.getvalue())


if __name__ == '__main__':
    unittest.main()
