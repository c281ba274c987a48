# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import unittest

from tools.benchmarks import cli
from tools.benchmarks.errors import BenchError
from tools.benchmarks.proar.settings import (
    LEAST_REQUESTS,
    MODES,
    SITES,
    Settings,
)
from tools.benchmarks.sizes import KIB, MIB, parse_size


class TestSettings(unittest.TestCase):

    def test_sizes_have_units(self):
        self.assertEqual([100, 4 * KIB, 64 * MIB],
                         [parse_size(each) for each in ('100', ' 4K', '64M')])
        for bad in ('', '0', '4k', '4G', '-1', '1.5M'):
            with self.subTest(bad), self.assertRaises(BenchError) as caught:
                parse_size(bad)
            self.assertIn(repr(bad), str(caught.exception))

    def test_large_objects_are_as_few_as_the_budget_allows(self):
        settings = Settings(requests=1800, budget=256 * MIB)
        self.assertEqual(
            [1800, 64, LEAST_REQUESTS],
            [settings.requests_of(size) for size in (
                4 * KIB, 4 * MIB, 256 * MIB)])

    def test_a_mode_is_compared_with_one_whose_disks_are_as_fast(self):
        for mode in MODES.values():
            if mode.reference:
                self.assertEqual(mode.is_slow, MODES[mode.reference].is_slow)
                self.assertEqual('stock', MODES[mode.reference].site)

    def test_a_mode_has_a_policy_of_its_site(self):
        for mode in MODES.values():
            self.assertIn(mode.policy,
                          [policy.name for policy in SITES[mode.site]])

    def test_only_the_sites_of_the_modes_are_needed(self):
        self.assertEqual(['stock'], Settings(
            modes=('stock', 'stock-slow')).sites())
        self.assertEqual(['stock', 'proar'], Settings().sites())

    def test_what_clients_wait_for_differs_in_its_policies_only(self):
        stock, proar = (Settings().cluster_spec('/x', site)
                        for site in SITES)
        self.assertEqual({'root', 'base_port', 'policies', 'options'},
                         set(stock.differences(proar)) | {'base_port'})
        self.assertEqual(
            {('proxy-server', 'proxy-server:policy:1', 'min_sync_copies')},
            {(conf, section, option)
             for conf, sections in proar.options.items()
             for section, values in sections.items() for option in values
             if conf not in (*stock.options, 'replication-server')
             and section != 'object-converger'})
        self.assertFalse(stock.has_proar())
        self.assertEqual([True, True],
                         [policy.proar for policy in proar.policies])

    def test_databases_are_not_on_the_disks_of_the_objects(self):
        for site in SITES:
            spec = Settings().cluster_spec('/x', site)
            for conf in ('account-server', 'container-server'):
                self.assertEqual(
                    '/x/%s/databases' % site,
                    spec.options[conf]['DEFAULT']['devices'])


class TestBadArguments(unittest.TestCase):

    def test_each_is_named_with_what_is_allowed(self):
        for argv, texts in (
                (['--sizes', '4K,x'], ("'x'", '4K')),
                (['--sizes', '2000M'], ('--sizes is 2097152000',)),
                (['--requests', '0'], ('--requests is 0', 'at least 1')),
                (['--budget', '0'], ('--budget is 0', '1 to 1024 MiB')),
                (['--runs', '0'], ('--runs is 0', 'at least 1')),
                (['--clients', '65'], ('--clients is 65', '1 to 64')),
                (['--seconds', 'nan'], ('--seconds is nan', 'more than 0')),
                (['--patience', '0'], ('--patience is 0', 'more than 0')),
                (['--slow-iops', '9'], ('--slow-iops is 9', 'at least 10')),
                (['--modes', 'slow'], ("--modes is 'slow'", 'proar-sync2')),
                (['--json', '/no/such/directory/x'],
                 ('/no/such/directory/x', 'directory that exists'))):
            with self.subTest(argv):
                stderr = io.StringIO()
                with contextlib.redirect_stderr(stderr):
                    self.assertEqual(2, cli.main(['proar', *argv]))
                for text in texts:
                    self.assertIn(text, stderr.getvalue())


if __name__ == '__main__':
    unittest.main()
