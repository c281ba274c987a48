# SPDX-License-Identifier: Apache-2.0
"""cli, scenarios, figures: what people type and get."""

import contextlib
import io
import json
import os
import tempfile
import unittest

from tools.simulation import figures, paper
from tools.simulation.cli import main
from tools.simulation.scenarios import SCENARIOS, Writes, play
from tools.simulation.world import PROTOCOLS, Settings


def run(*argv):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(list(argv))
        except SystemExit as end:
            status = end.code
    return status, out.getvalue(), err.getvalue()


SMALL = ('--partitions', '40', '--seed', '3')


class TestCommand(unittest.TestCase):

    def test_the_seed_is_printed_and_repeats_the_run(self):
        status, first, _ = run('--partitions', '40', '--scenario', 'create')
        seed = first.split()[1]
        again = run('--partitions', '40', '--scenario', 'create', '--seed',
                    seed)
        self.assertEqual((status, first), again[:2])

    def test_each_scenario_converges_with_each_protocol(self):
        # A star has no other primary for one without a disk.
        for protocols, scenarios in (
                (PROTOCOLS, set(SCENARIOS) - {'unmounted'}),
                (set(PROTOCOLS) - {'star'}, {'unmounted'})):
            status, out, _ = run(
                '--scenario', ','.join(sorted(scenarios)), '--protocol',
                ','.join(protocols), '--replicas', '5', *SMALL)
            self.assertEqual(0, status, out)
            self.assertEqual(3 + len(scenarios) * len(protocols),
                             len(out.splitlines()))

    def test_a_scenario_that_does_not_converge_is_a_failure(self):
        status, out, _ = run('--scenario', 'create', '--copies', 'one',
                             '--replicas', '5', '--protocol', 'star',
                             '--most-rounds', '1', *SMALL)
        self.assertEqual(1, status)
        self.assertIn('never', out)

    def test_json_has_the_settings_and_each_round(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, 'out.json')
            run('--json', path, '--scenario', 'rejoin', *SMALL)
            with open(path, encoding='utf8') as written:
                found = json.load(written)
        self.assertEqual(3, found['settings']['seed'])
        self.assertEqual(['stock', 'lightsync'], [
            outcome['protocol'] for outcome in found['outcomes']])
        self.assertEqual(0, found['outcomes'][0]['results'][-1]['differing'])

    def test_what_is_not_allowed_is_named(self):
        for argv, message in (
                (('--scenario', 'fire'), "'fire'; allowed: .*list of stable,"),
                (('--protocol', 'x'), "'x'; allowed: .*list of stock,"),
                (('--fraction', '2'), "'2'; allowed: 0 to 1"),
                (('--nodes', '20000'), 'nodes is 20000; allowed: 2 to 10000'),
                (('--replicas', '10'), 'replicas is 10; allowed: 2 to 9')):
            status, _, err = run(*argv)
            self.assertEqual(2, status)
            self.assertRegex(err, message)

    def test_what_is_aggregated_is_said(self):
        _, out, _ = run('--sample', '10', *SMALL)
        self.assertIn('10 partitions are simulated, each stands for 4.0', out)


class TestPaper(unittest.TestCase):

    def test_fig_7_partitions_approach_2_to_the_18(self):
        self.assertEqual(998, paper.shape(5, 5, 1000).partitions)
        self.assertEqual(1 << 18, paper.shape(64, 5, 4000000).partitions)
        self.assertEqual(195, paper.shape(64, 5, 4000000).objects)

    def test_stable_delays_and_bytes_are_near_the_papers(self):
        for nodes, protocol, tolerance in (
                (5, 'stock', 0.1), (64, 'stock', 0.1),
                (5, 'lightsync-unbatched', 0.5),
                (64, 'lightsync-unbatched', 0.5)):
            case = figures.Case(nodes, 5, 4000000, 'stable', protocol, 64, 1)
            for found, said in zip(
                    figures.point(case.run()),
                    paper.NUMBERS[nodes, 'stable', protocol]):
                self.assertAlmostEqual(1, found / said, delta=tolerance)

    def test_in_the_first_round_after_a_minority_rejoins_most_is_repaired(
            self):
        outcome = play(Settings(replicas=5, protocol='lightsync-unbatched',
                                partitions=200, full_exchange=None),
                       'rejoin-minority', Writes(0.1, 'all'))
        self.assertLessEqual(outcome.rounds, 2)
        self.assertGreater(outcome.first.accuracy, 0.95)
