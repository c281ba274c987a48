# SPDX-License-Identifier: Apache-2.0
import unittest

from tools.benchmarks.errors import BenchError
from tools.benchmarks.sync.dataset import DataSet
from tools.benchmarks.sync.measure import Pass
from tools.benchmarks.sync.record import Shape
from tools.benchmarks.sync.scenarios import SCENARIOS
from tools.benchmarks.sync.trial import MAX_ROUNDS, Trial

SHAPE = Shape(3, 2, 10.0, 1.0, 8.0)


class Recorder:
    """Writes down which of its methods are called."""

    def __init__(self, calls, name=''):
        self.calls = calls
        self.name = name

    def __getattr__(self, name):
        def call(*args, **kwargs):
            self.calls.append((self.name + name, *map(str, args)))
        return call


class Cluster(Recorder):

    def devices(self, node):
        return ['n%dd1' % node]

    def partition(self, node, refuse):
        self.calls.append(('partition', str(node), str(refuse)))


class Site:
    """A site of three nodes whose passes can be made to fail."""

    replicator = 'stock'

    def __init__(self, calls, fail_at=None):
        self.calls = calls
        self.cluster = Cluster(calls)
        self.probes = Recorder(calls, 'probes.')
        self.fail_at = fail_at
        self.passes = 0

    def nodes(self):
        return [1, 2, 3]

    def restore(self, master):
        self.calls.append(('restore', master))

    def device_path(self, device):
        return '/' + device

    def devices_dir_of(self, device):
        return '/'

    def run_pass(self, nodes):
        self.passes += 1
        if self.passes == self.fail_at:
            raise BenchError('too long')
        self.calls.append(('pass', str(nodes)))
        return Pass(float(self.passes), {}, 1.0, 1.0, 1.0)


class Storage:
    """A storage that says what it was told to say."""

    def __init__(self, calls, stale):
        self.calls = calls
        self.counts = list(stale)

    def devices_of(self, name):
        return 'n1d1', 'n2d1', 'n3d1'

    def write(self, writes, devices_dir_of):
        self.calls.append(('write', str(len(writes))))

    def stale(self, versions, path_of):
        return self.counts.pop(0) if self.counts else 0


class TestTrial(unittest.TestCase):

    def play(self, scenario, stale=(), fail_at=None):
        self.calls = []
        site = Site(self.calls, fail_at)
        data = DataSet(1, 20, (1, 2), 1700000000.0)
        return Trial(site, Storage(self.calls, stale), data, '/master',
                     scenario, 1).play(SHAPE)

    def names(self):
        return [call[0] for call in self.calls]

    def test_every_scenario_is_played_and_leaves_all_nodes_there(self):
        undone = {'kill': 'start', 'partition': 'heal'}
        for scenario in SCENARIOS:
            with self.subTest(scenario):
                found = self.play(scenario)
                self.assertEqual(scenario, found.scenario)
                self.assertEqual(('restore', '/master'), self.calls[0])
                names = self.names()
                for done, undo in undone.items():
                    self.assertEqual(names.count(done), names.count(undo))

    def test_the_first_pass_comes_before_the_change_and_is_not_counted(self):
        found = self.play('create')
        names = self.names()
        self.assertEqual(['pass', 'write', 'pass'], [
            name for name in names if name in ('pass', 'write')])
        self.assertEqual((1, 2.0), (found.rounds, found.pass_seconds))

    def test_passes_go_on_until_no_replica_is_stale(self):
        found = self.play('create', stale=[0, 5, 2, 0])
        self.assertEqual((3, True), (found.rounds, found.converged))

    def test_a_cluster_that_stays_stale_is_not_called_converged(self):
        found = self.play('create', stale=[0] + [7] * MAX_ROUNDS)
        self.assertEqual((MAX_ROUNDS, False, 7),
                         (found.rounds, found.converged,
                          found.stale_replicas))

    def test_a_cluster_that_starts_stale_is_not_measured(self):
        with self.assertRaisesRegex(BenchError, '3 replicas are not'):
            self.play('stable', stale=[3])

    def test_a_dead_node_takes_no_part_in_the_pass(self):
        for scenario, loss in (('dead-refused', ('kill', '3')),
                               ('dead-silent', ('partition', '3', 'False'))):
            found = self.play(scenario)
            after = self.calls[self.calls.index(loss):]
            self.assertIn(('pass', '[1, 2]'), after)
            self.assertNotIn(('pass', '[1, 2, 3]'), after)
            self.assertEqual(2, found.live_nodes)

    def test_a_node_that_rejoins_missed_the_change_and_one_pass(self):
        found = self.play('rejoin')
        steps = [call[0] if call[0] != 'pass' else call for call in
                 self.calls if call[0] in ('kill', 'write', 'pass', 'start')]
        self.assertEqual([('pass', '[1, 2, 3]'), 'kill', 'write',
                          ('pass', '[1, 2]'), 'start',
                          ('pass', '[1, 2, 3]')], steps)
        self.assertEqual(3, found.live_nodes)

    def test_after_a_failure_the_lost_node_is_there_again(self):
        for scenario, undo in (('dead-refused', 'start'),
                               ('dead-silent', 'heal')):
            with self.assertRaisesRegex(BenchError, 'too long'):
                self.play(scenario, fail_at=2)
            self.assertEqual(undo, self.names()[-1])
            self.assertIn('probes.stop', self.names())


if __name__ == '__main__':
    unittest.main()
