# SPDX-License-Identifier: Apache-2.0
"""``cosbench experiment``: real runs, and what it refuses before them."""

import json
import os
import signal
import subprocess
import sys
import unittest
from unittest import mock

from cosbench.commands import remote_runs
from tests.unit.cosbench.directory_case import DirectoryCase
from tests.unit.cosbench.documents import reads
from tests.unit.cosbench.driver.scripts import wait_for_end
from tests.unit.cosbench.processes import (
    DEADLINE,
    Client,
    Listener,
    children_of,
    cosbench,
    environment,
)
from tests.waiting import wait_for

MOCK = '<storage type="mock" config="delay=%d"/>'


class ExperimentCase(DirectoryCase):
    """Experiments with two configurations, of two rounds."""

    def arguments(self, *more, ops=40):
        for name, delay in (('a.xml', 1), ('b.xml', 3)):
            self.put(name, reads('workers="2" totalOps="%d"' % ops,
                                 MOCK % delay))
        return ['experiment', self.path('a.xml'),
                'slow=' + self.path('b.xml'), '--directory', self.path('x'),
                '--drivers', '1', '--repeats', '2', '--most-repeats', '2',
                '--warm-up', '0', '--quiet', *more]

    def result(self):
        with open(self.path('x/result.json')) as stream:
            return json.load(stream)

    def begun(self):
        try:
            with open(self.path('x/experiment.json')) as stream:
                return json.load(stream)['runs']
        except FileNotFoundError:
            return []

    def started(self, **options):
        process = subprocess.Popen(
            [sys.executable, '-m', 'cosbench', *self.arguments(**options)],
            env=environment(), stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process


class TestExperiments(ExperimentCase):

    def test_conditions_are_its_exit_status(self):
        done = cosbench(*self.arguments('--fail-if', 'failures(read) > 0'))
        self.assertEqual(0, done.returncode, done.stderr)
        found = self.result()
        self.assertEqual(2, found['rounds'])
        self.assertIn('storage: delay', done.stdout)
        # The runs are kept: other conditions need no others.
        done = cosbench(*self.arguments('--fail-if', 'failures(read) < 1'))
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn('FAILED: slow: failures(read) < 1', done.stdout)
        self.assertEqual(found['configurations'],
                         self.result()['configurations'])
        done = cosbench(*self.arguments('--fail-if', 'p99(wriet) > 1'))
        self.assertEqual(2, done.returncode)
        self.assertIn('operation wriet: must be one of', done.stderr)

    def test_what_is_wrong_is_refused_before_anything_runs(self):
        self.arguments()
        for more, words in (
                (('--fail-if', 'p99(read > 1'), 'at character 1'),
                (('a=' + self.path('a.xml'),), 'another name'),
                (('--precision', '0'), 'more than 0'),
                (('--repeats', '1'), 'must be 2 to'),
                (('--most-repeats', '1'), 'must be 2 to'),
                ((self.put('c.xml', '<workload/>'),), 'line 1'),
                ((self.path('absent'),), 'No such file')):
            first, *rest = self.arguments()
            done = cosbench(first, *(more if more[0][0] != '-' else ()),
                            *rest, *(more if more[0][0] == '-' else ()))
            self.assertEqual(2, done.returncode, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertFalse(os.path.exists(self.path('x')), more)

    def test_it_goes_on_after_it_was_killed(self):
        process = self.started(ops=4000)
        wait_for(lambda: len(self.begun()) >= 2 and children_of(process.pid),
                 'its second run begins', DEADLINE)
        before, children = self.begun(), children_of(process.pid)
        process.kill()
        process.wait()
        wait_for_end(*children)
        done = cosbench(*self.arguments(ops=4000))
        self.assertEqual(0, done.returncode, done.stderr)
        runs = [each for one in self.result()['configurations'].values()
                for each in one]
        self.assertEqual(4, len(set(runs)))
        self.assertIn(before[0]['id'], runs)
        self.assertLessEqual(len(self.begun()), 5)


class TestThroughAController(ExperimentCase):

    def setUp(self):
        super().setUp()
        driver = Listener(self, 'driver')
        self.controller = Listener(
            self, 'controller', '--driver', 'd=' + driver.url, '--archive',
            self.path('theirs'), '--experiments', self.directory)
        self.client = Client(self.controller)

    def arguments(self, *more, **options):
        return super().arguments(*more, '--controller', self.controller.url,
                                 **options)

    def test_its_runs_are_the_controllers_and_it_goes_on(self):
        process = self.started(ops=4000)
        wait_for(lambda: len(self.begun()) >= 2, 'its second run begins',
                 DEADLINE)
        process.kill()
        process.wait()
        done = cosbench(*self.arguments(ops=4000))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(2, self.result()['rounds'])
        _, found = self.client.ask('GET', '/v1/workloads')
        theirs = [self.client.info(each['id'])
                  for each in found['workloads']]
        self.assertEqual({'finished'}, {each['state'] for each in theirs})
        # One at least was done before; that which went on was done again.
        self.assertIn(len(theirs), (4, 5))
        self.assertEqual(2, len({each['seed'] for each in theirs}))

    def test_one_that_is_ended_cancels_its_run(self):
        process = self.started(ops=10 ** 7)
        wait_for(lambda: self.client.ask('GET', '/v1/workloads')[1][
            'workloads'], 'its first run begins', DEADLINE)
        self.client.wait_until('w1', 'processing')
        process.terminate()
        said = process.communicate(timeout=DEADLINE)[1]
        self.assertEqual(1, process.returncode, said)
        self.assertIn('is cancelled', said)
        self.client.wait_until('w1', 'cancelled')

    def test_what_is_the_controllers_is_refused(self):
        done = cosbench(*self.arguments('--end-run', '5'))
        self.assertEqual(2, done.returncode)
        self.assertIn('--end-run is an option of the controller', done.stderr)
        self.controller.kill()
        self.assertEqual(1, cosbench(*self.arguments()).returncode)


class TestSignals(unittest.TestCase):

    def test_a_run_that_is_being_submitted_is_cancelled_too(self):
        asked = []

        def call(args, method, path, body=None):
            asked.append('%s %s' % (method, path))
            if body:
                os.kill(os.getpid(), number)
            return {'id': 'w1', 'state': 'cancelled'}
        for number in signal.SIGTERM, signal.SIGINT:
            before = signal.signal(number, lambda *_: None)
            self.addCleanup(signal.signal, number, before)
            with mock.patch.object(remote_runs, 'call', call):
                remote_runs._fetch(None, b'x', 1)
        self.assertEqual(2 * [
            'POST /v1/workloads?seed=1', 'POST /v1/workloads/w1/cancel',
            'GET /v1/workloads/w1', 'GET /v1/workloads/w1/result'], asked)
