# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""The result document: what is in it, and that readers take it."""

import unittest
from types import SimpleNamespace

from tests.unit.tools.cosbench.documents import READ, work, wrapped
from tools.cosbench.controller.document import empty, filled, terminated
from tools.cosbench.controller.live import live
from tools.cosbench.controller.plan import Address, Progress
from tools.cosbench.controller.states import StageState, WorkloadState
from tools.cosbench.controller.workload import Context, WorkloadRun
from tools.cosbench.engine.states import MissionState
from tools.cosbench.measure.result import Result
from tools.cosbench.measure.sample import Sample
from tools.cosbench.measure.tally import Tally
from tools.cosbench.measure.timeline import Timeline
from tools.cosbench.reader import read


def driver(name, cpu_seconds=None):
    return SimpleNamespace(address=Address(name, name, 'http://h:1'),
                           cpu_seconds=cpu_seconds, offset=None)


def share(of, count, cpu=10.0, lag=1.0, lost=False):
    """What a driver reported: so many operations, one every 10 ms."""
    found = SimpleNamespace(
        driver=of, mission=SimpleNamespace(first=0, count=1),
        state=MissionState.RUNNING, reason='', lost=lost,
        tallies={'op1': Tally()}, timeline=Timeline(5),
        progress=Progress(count, 0), aborted=0, counted=3.0,
        health={'cpu_percent_p95': cpu, 'loop_lag_ms_p99': lag})
    for number in range(count):
        begin = number / 100
        sample = Sample('op1', begin, begin, begin, begin + 0.01, 7, None)
        found.tallies['op1'].add(sample)
        found.timeline.add(sample)
    return found


class DocumentCase(unittest.TestCase):

    def setUp(self):
        self.drivers = [driver('a', 3.0), driver('b')]

    def run_of(self, config=''):
        text = wrapped(work(READ, 'workers="2" runtime="3" config="%s"'
                            % config),
                       '<work type="init" workers="1" config="%s;containers'
                       '=c(1)"/>' % config)
        found = WorkloadRun(read(text.encode()).workload, Context(
            'w1', text, 1, list(self.drivers)))
        found.cpu_before = {'a': 1.0}
        found.state = WorkloadState.PROCESSING
        found.started = 10.0
        return found

    def document(self, run):
        return filled(empty('w1', run.workload, run.context.xml, 1, 9.0,
                            ['first']), run)


class TestFilled(DocumentCase):

    def test_the_tallies_of_all_drivers_are_one(self):
        run = self.run_of()
        run.stages[0].works[0].shares = [share(self.drivers[0], 30),
                                         share(self.drivers[1], 12)]
        found = Result.from_json(self.document(run))
        operation = found.stages[0].works[0].operations[0]
        self.assertEqual((42, 42 * 7),
                         (operation.tally.count, operation.tally.bytes))
        self.assertEqual(42, sum(
            point.count for point in
            found.stages[0].works[0].timeline.points('op1')))

    def test_before_anything_happened_it_is_whole(self):
        run = self.run_of()
        run.started = None
        found = Result.from_json(self.document(run))
        self.assertEqual('waiting', found.stages[0].state)
        self.assertEqual(2, len(live(self.document(run))['stages'][0][
            'works']))

    def test_drivers_are_charged_for_what_they_used(self):
        run = self.run_of()
        run.stages[0].works[0].shares = [share(self.drivers[0], 30, 80, 2),
                                         share(self.drivers[0], 12, 95, 1)]
        one, other = self.document(run)['drivers']
        self.assertEqual((95, 2, 21.0), tuple(one[key] for key in (
            'cpu_percent_p95', 'loop_lag_ms_p99',
            'operations_per_cpu_second')))
        self.assertEqual((None, None), tuple(other[key] for key in (
            'cpu_percent_p95', 'operations_per_cpu_second')))

    def test_a_strained_driver_is_warned_of_at_the_end(self):
        for cpu, lag, expected in ((89, 19, 0), (91, 1, 1), (1, 21, 1),
                                   (99, 50, 2)):
            run = self.run_of()
            run.stages[0].works[0].shares = [share(self.drivers[0], 1, cpu,
                                                   lag)]
            self.assertEqual(['first'], self.document(run)['warnings'])
            run.state = WorkloadState.FINISHED
            self.assertEqual(1 + expected,
                             len(self.document(run)['warnings']))

    def test_the_rate_is_of_the_works_that_have_one(self):
        document = self.document(self.run_of('rate=50;histogram=false'))
        normal, special = document['stages'][0]['works']
        self.assertEqual((50, None), (normal['rate'], special['rate']))
        self.assertFalse(normal['histogram'])

    def test_the_histogram_is_reported_unless_it_is_switched_off(self):
        for config, expected in (('', True), ('histogram=yes', True),
                                 ('histogram=1|100', True),
                                 ('histogram=No', False)):
            document = self.document(self.run_of(config))
            self.assertIs(expected, document['stages'][0]['works'][0][
                'histogram'])

    def test_a_lost_driver_and_its_reason_are_shown(self):
        run = self.run_of()
        run.context.lose(self.drivers[1], 'it is gone')
        found = self.document(run)
        self.assertEqual([('alive', ''), ('lost', 'it is gone')], [
            (each['state'], each['reason']) for each in found['drivers']])
        self.assertIn('it is gone', found['warnings'])


class TestTerminated(DocumentCase):

    def test_what_had_not_ended_is_cut_off_and_what_had_stays(self):
        run = self.run_of()
        stage = run.stages[0]
        stage.started = 10.0
        stage.enter(StageState.BOOTING)
        stage.works[0].shares = [share(self.drivers[0], 30)]
        document = terminated(self.document(run), 20.0)
        found = Result.from_json(document)
        self.assertEqual(('terminated', 20.0),
                         (found.state, found.stopped))
        self.assertEqual('terminated', found.stages[0].works[0].state)
        self.assertEqual(30, found.stages[0].works[0].operations[
            0].tally.count)


if __name__ == '__main__':
    unittest.main()
