# SPDX-License-Identifier: Apache-2.0
"""``cosbench run``, held against what the storage itself counted."""

import glob
import json
import os
import re
import signal
import subprocess
import sys

from cosbench.measure.result import Result
from tests.unit.cosbench.directory_case import DirectoryCase
from tests.unit.cosbench.documents import (
    PUBLISHED,
    operation,
    reads,
    work,
    wrapped,
)
from tests.unit.cosbench.driver.scripts import wait_for_end
from tests.unit.cosbench.processes import (
    DEADLINE,
    ROOT,
    ObjectServer,
    children_of,
    cosbench,
    environment,
)
from tests.waiting import wait_for

SAMPLES = os.path.join(ROOT, 'etc', 'cosbench')


def swift(server):
    return '<storage type="swift" config="storage_url=%s"/>' % server.url


class RunCase(DirectoryCase):

    def arguments(self, text, *more):
        return ['run', self.put('workload.xml', text), '--archive',
                self.path('archive'), '--json', self.path('out.json'),
                *more]

    def run_it(self, text, *more, status=0, drivers=2):
        """:returns: the ``Result``"""
        done = cosbench(*self.arguments(text, '--drivers', drivers, *more))
        self.assertEqual(status, done.returncode, done.stderr)
        with open(self.path('out.json')) as stream:
            self.document = json.load(stream)
        self.errors = done.stderr
        return Result.from_json(self.document)


class TestRequestLog(RunCase):

    def test_each_request_has_a_line_where_the_operator_allows_it(self):
        text = reads('workers="4" totalOps="100" config="log=1"')
        result = self.run_it(text, status=1)
        self.assertIn("log='1.0': must be 0: this driver keeps no log",
                      result.stages[0].reason)
        os.mkdir(self.path('log'))
        self.run_it(text, '--request-log', self.path('log'))
        # One of each driver, whose first line says what it is of.
        lines, found = [], glob.glob(self.path('log/*.jsonl'))
        for path in found:
            with open(path, encoding='utf8') as stream:
                lines += map(json.loads, stream)
        self.assertEqual((2, 102), (len(found), len(lines)))
        self.assertEqual({'driver1', 'driver2'}, {
            each['driver'] for each in lines if 'driver' in each})


class TestCounts(RunCase):

    def test_counts_and_bytes_are_those_of_the_storage(self):
        server = ObjectServer(self, size=777)
        stages = ['<workstage name="%s">%s</workstage>' % each for each in (
            ('init', '<work type="init" workers="3" config="containers='
             'r(1,5)"/>'),
            ('prepare', '<work type="prepare" workers="4" config="containers'
             '=r(1,5);objects=r(1,20);sizes=c(300)B;createContainer=true"/>'),
            ('main', work(
                operation('containers=u(1,5);objects=u(1,20)', 'read',
                          'ratio="70"')
                + operation('containers=u(1,5);objects=u(1,20);sizes=c(50)B',
                            'write', 'ratio="30"'),
                'workers="5" totalOps="1000"')),
            ('cleanup', '<work type="cleanup" workers="4" config="containers'
             '=r(1,5);objects=r(1,20);deleteContainer=true"/>'))]
        result = self.run_it(
            '<workload name="n">%s<workflow>%s</workflow></workload>'
            % (swift(server), ''.join(stages)), '--seed', 4)
        found = {(stage.name, each.type): each.tally
                 for stage in result.stages for work in stage.works
                 for each in work.operations}
        counted = {key: tally.count for key, tally in found.items()}
        reads, writes = counted.pop(('main', 'read')), counted.pop(
            ('main', 'write'))
        self.assertEqual({
            ('init', 'init'): 5, ('prepare', 'init'): 5,
            ('prepare', 'prepare'): 100, ('cleanup', 'cleanup'): 100,
            ('cleanup', 'dispose'): 5}, counted)
        self.assertEqual(1000, reads + writes)
        self.assertEqual(reads, server.count('GET object'))
        self.assertEqual(777 * reads, found['main', 'read'].bytes)
        self.assertEqual(server.sent['GET object'],
                         found['main', 'read'].bytes)
        self.assertEqual(100 + writes, server.count('PUT object'))
        self.assertEqual(server.received['PUT object'],
                         found['prepare', 'prepare'].bytes
                         + found['main', 'write'].bytes)
        self.assertEqual(10, server.count('PUT container'))
        self.assertEqual(5, server.count('DELETE container'))
        # Each object was deleted once.
        self.assertEqual([1] * 100, [
            number for (kind, _), number in server.requests.items()
            if kind == 'DELETE object'])

    def test_times_are_those_of_the_storage_and_a_little_more(self):
        server = ObjectServer(self, delay=0.05)
        result = self.run_it(reads('workers="4" totalOps="200"',
                                   swift(server)))
        tally = result.stages[0].works[0].operations[0].tally
        own = sorted(server.seconds['GET'])
        self.assertEqual(len(own), tally.count)
        percents = (50, 90, 95)
        for percent, value in zip(percents,
                                  tally.response.percentiles(percents)):
            expected = own[len(own) * percent // 100 - 1]
            self.assertGreaterEqual(value / 1e6, expected * 0.99)
            self.assertLess(value / 1e6, expected + 0.05)

    def test_failures_fail_the_stage_by_afr(self):
        server = ObjectServer(self)
        server.statuses['GET'] = 404
        result = self.run_it(reads('workers="2" totalOps="40" afr="1000"',
                                   swift(server)), status=1)
        failed = result.stages[0].works[0].operations[0].tally.failures
        self.assertEqual({'http 404': server.count('GET object')}, failed)
        self.assertEqual('failed', result.state)
        self.assertIn('afr', result.stages[0].reason)

    def test_a_seed_makes_the_same_requests_again(self):
        seen = []
        for drivers in (1, 3):
            server = ObjectServer(self)
            self.run_it(wrapped(work(
                operation('containers=u(1,9);objects=u(1,99)', 'read',
                          'ratio="60"')
                + operation('containers=u(1,9);objects=u(1,99);sizes='
                            'u(1,9)B', 'write', 'ratio="40"'),
                'workers="6" totalOps="300"'), above=swift(server)),
                '--seed', 77, drivers=drivers)
            seen.append((server.requests, server.received))
        self.assertEqual(*seen)


class TestRuns(RunCase):

    def test_the_samples_of_the_project_run(self):
        ran = 0
        for path in sorted(glob.glob(os.path.join(SAMPLES, '*.xml'))):
            with open(path, encoding='utf8') as stream:
                text = stream.read()
            if not re.search('<storage type="(mock|none)"', text):
                continue
            ran += 1
            text = re.sub(r'(runtime|closuredelay)="\d+"', r'\1="1"', text)
            text = re.sub(r'(rampup|rampdown)="\d+"', r'\1="0"', text)
            result = self.run_it(text)
            self.assertEqual(['completed'] * len(result.stages),
                             [stage.state for stage in result.stages])
        self.assertGreater(ran, 0)

    def test_every_construct_of_published_files_runs_on_no_storage(self):
        text = re.sub('(?s)<!--.*?-->|<(storage|auth).*?/>|hashcheck=true;',
                      '', PUBLISHED)
        text = re.sub('closuredelay="60"', 'closuredelay="1"', text)
        text = re.sub('runtime="300"', 'runtime="1" rampup="1"', text)
        result = self.run_it(text)
        self.assertEqual('finished', result.state)
        counts = [[each.tally.count for work in stage.works
                   for each in work.operations] for stage in result.stages]
        self.assertEqual([[32], [1600], [0]], counts[:3])
        self.assertEqual([[3200], [32]], counts[4:])
        read, written, listed = counts[3]
        self.assertEqual(10, listed)
        # The ratio, to six standard deviations.
        total = read + written
        self.assertLess(abs(read - 0.8 * total), 6 * (total * .16) ** .5)

    def test_a_run_ends_when_it_is_known_well_enough(self):
        result = self.run_it(reads(
            'workers="2" runtime="3600" interval="1"',
            '<storage type="mock" config="delay=5"/>'), '--end-run', '90')
        work = result.stages[0].works[0]
        self.assertEqual(('finished', 'completed'),
                         (result.state, work.state))
        self.assertTrue(20 <= work.counted < 3600)
        self.assertIn('ended early', ' '.join(result.warnings))

    def test_a_document_that_is_refused_leaves_no_run(self):
        for text in ('<workload/>', wrapped(work(attributes='workers="1" '
                                                 'runtime="x"'))):
            done = cosbench(*self.arguments(text))
            self.assertEqual(2, done.returncode)
            self.assertIn('line ', done.stderr)
            self.assertNotIn('Traceback', done.stderr)
        self.assertEqual(['.lock'], os.listdir(self.path('archive')))

    def test_reports_that_cannot_be_written_cost_no_result(self):
        # Where a file of all runs should be there is a directory.
        os.makedirs(self.path('archive/run-history.csv'))
        result = self.run_it(reads(
            'workers="1" totalOps="9"',
            workload='name="n" trigger="t.sh(1)"'), status=1)
        self.assertIn('triggers are not run',
                      ' '.join(self.document['warnings']))
        self.assertEqual('finished', result.state)
        self.assertEqual(9, result.stages[0].works[0].operations[
            0].tally.count)
        self.assertRegex(self.errors, '(?m)^w1 n: finished$')
        self.assertRegex(
            self.errors, '(?m)^cosbench: w1: the reports are not all written'
            ': .*run-history.csv cannot be written: Is a directory$')
        self.assertNotIn('reports in', self.errors)

    def test_an_archive_in_use_is_refused(self):
        process = self.start(60)
        done = cosbench(*self.arguments(reads('workers="1" runtime="1"')))
        self.assertEqual(2, done.returncode)
        self.assertIn('another controller has the archive', done.stderr)
        process.kill()

    def start(self, seconds, *more):
        process = subprocess.Popen(
            [sys.executable, '-m', 'cosbench', *map(str, self.arguments(
                reads('workers="2" runtime="%d" interval="1"' % seconds),
                '--drivers', 2, *more))],
            env=environment(), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_for(lambda: self.saved().get('started'),
                 'it runs', DEADLINE)
        return process

    def saved(self):
        try:
            with open(self.path('archive/w1-n/run.json')) as stream:
                return json.loads(stream.read()[65:])
        except FileNotFoundError:
            return {}

    def test_an_interrupt_cancels_it_and_its_reports_are_written(self):
        process = self.start(600)
        process.send_signal(signal.SIGINT)
        self.assertEqual(1, process.wait(DEADLINE))
        self.assertEqual('cancelled', self.saved()['state'])
        self.assertIn('report.html',
                      os.listdir(self.path('archive/w1-n')))

    def test_its_drivers_end_with_it_however_it_ends(self):
        process = self.start(600)
        children = children_of(process.pid)
        self.assertGreaterEqual(len(children), 2)
        process.kill()
        wait_for_end(*children)

    def test_a_driver_that_dies_is_not_waited_for(self):
        # Far longer than the test may take.
        process = self.start(3600, '--driver-timeout', 3600)
        wait_for(self.reported, 'a report is saved', DEADLINE)
        pid = children_of(process.pid)[0]
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(1, process.wait(DEADLINE))
        document = self.saved()
        stage, = document['stages']
        self.assertEqual(('failed', 'failed'),
                         (document['state'], stage['state']))
        self.assertIn('its process %d ended, killed by signal 9; it had 1 '
                      'of 2 workers' % pid, stage['reason'])
        self.assertEqual(['alive', 'lost'], sorted(
            each['state'] for each in document['drivers']))
        # What both had reported is there.
        self.assertTrue(self.reported())
        self.assertIn('report.html', os.listdir(self.path('archive/w1-n')))

    def reported(self):
        return any(operation['tally']['bytes'] or operation['tally'][
            'response']['count'] for stage in self.saved()['stages']
            for each in stage['works'] for operation in each['operations'])


class TestRamp(RunCase):

    def test_the_main_stage_is_repeated_until_more_is_of_no_use(self):
        # One operation is due in each step, at its begin: the machine's
        # speed makes none of them better.
        path = self.put('w.xml', reads(
            'workers="1" runtime="1" config="rate=1"'))
        done = cosbench('ramp', path, '--workers',
                        '1,2,3,4,5,6', '--archive', self.path('archive'),
                        '--drivers', 1, '--json', '--quiet')
        self.assertEqual(0, done.returncode, done.stderr)
        with open(self.path('archive/w1-n/result.json')) as stream:
            found = Result.from_json(json.load(stream))
        # The rate is the same for all: two steps bring nothing.
        self.assertEqual(
            ['completed'] * 3 + ['skipped'] * 3,
            [stage.state for stage in found.stages])
        self.assertEqual([1, 2, 3, 4, 5, 6], [
            stage.works[0].workers for stage in found.stages])
        self.assertIn('read', done.stdout)

    def test_two_runs_are_compared(self):
        for _ in range(2):
            self.run_it(reads('workers="1" totalOps="9"'))
        done = cosbench('compare', self.path('archive/w1-n'),
                        self.path('archive/w2-n'))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn('w2 n compared with w1 n', done.stdout)
        done = cosbench('compare', self.path('archive/w1-n'),
                        self.path('absent'))
        self.assertEqual(2, done.returncode)
        self.assertIn('absent', done.stderr)
