# SPDX-License-Identifier: Apache-2.0
"""Triggers of runs: when they run, on which drivers, and what is told."""

import signal

from cosbench.controller.trigger_calls import OFF
from tests.unit.cosbench.controller import test_controller
from tests.unit.cosbench.documents import operation, work
from tests.unit.cosbench.driver.scripts import HOLD, Scripts, wait_for_end
from tests.unit.cosbench.processes import (
    DEADLINE,
    Listener,
    ObjectServer,
    cosbench,
)
from tests.unit.cosbench.test_run_command import RunCase
from tests.waiting import is_running, wait_for

READ = operation('containers=c(1);objects=c(1)', 'read')
SHORT = work(READ, 'workers="2" totalOps="4"')
LONG = work(READ, 'workers="2" runtime="3600"')
#: Write down the beginning, and that it was told to end.
MARK = "trap 'echo -$1 >> marks; exit' TERM; echo +$1 >> marks; " \
    'sleep 1000 & wait'


def document(*stages, trigger=''):
    """:param stages: (trigger, works); no trigger: empty"""
    return '<workload name="n" %s><storage type="mock"/><workflow>%s' \
        '</workflow></workload>' % (_attribute(trigger), ''.join(
            '<workstage name="s" %s>%s</workstage>' % (_attribute(each), text)
            for each, text in stages))


def _attribute(trigger):
    return trigger and 'trigger="%s"' % trigger


def of_triggers(found):
    """:returns: those of its warnings that are of triggers"""
    return [each for each in found['warnings'] if 'trigger' in each]


def on(server, text):
    """:returns: a work on the storage of an ``ObjectServer``"""
    return text.replace('<op', '<storage type="swift" config="storage_url='
                        '%s;timeout=60000"/><op' % server.url)


class TestRuns(RunCase):

    def setUp(self):
        super().setUp()
        self.scripts = Scripts(self)

    def until(self, condition):
        """:returns: a work that ends when a condition holds"""
        server = ObjectServer(self)
        server.may_answer = lambda container: condition()
        return on(server, SHORT)

    def until_marked(self, *marks):
        return self.until(
            lambda: set(marks) <= set(self.scripts.lines('marks')))

    def run_it(self, text, **kwargs):
        """:returns: the warnings of triggers in the result"""
        super().run_it(text, '--triggers', self.scripts.root, **kwargs)
        return of_triggers(self.document)

    def test_one_runs_once_a_host_and_as_long_as_its_stage_or_workload(self):
        self.scripts.write('mark', MARK)
        self.assertEqual([], self.run_it(document(
            ('mark(1)', self.until_marked('+1', '+all')), ('', SHORT),
            ('mark(3)', SHORT + self.until_marked('+3')),
            trigger='mark(all)'), drivers=3))
        marks = self.scripts.lines('marks')
        self.assertEqual(['+1', '-1', '+3', '-3'],
                         [mark for mark in marks if 'all' not in mark])
        self.assertEqual('-all', marks[-1])
        self.assertLess(marks.index('+all'), marks.index('-1'))
        self.assertEqual(6, len(marks))

    def test_one_that_fails_or_is_not_there_is_a_warning(self):
        self.scripts.write('fail', 'echo $$ > pid; echo no disk; exit 3')

        def has_ended():
            return any(not is_running(int(each))
                       for each in self.scripts.lines('pid'))
        warnings = self.run_it(document(
            ('fail(x, y)', self.until(has_ended)), ('other', SHORT)))
        self.assertEqual(2, len(warnings), warnings)
        self.assertEqual('driver driver1: trigger fail(x,y): exit status 3: '
                         'no disk', warnings[0])
        self.assertRegex(warnings[1], r"driver driver1: trigger other\(\): "
                         "trigger='other': must be an executable file")

    def test_a_directory_that_is_not_there_is_refused(self):
        done = cosbench(*self.arguments(document(('', SHORT)), '--triggers',
                                        self.scripts.path('other')))
        self.assertEqual(2, done.returncode)
        self.assertIn('--triggers=', done.stderr)


class TestControllers(test_controller.ControllerCase):

    number = 1

    def setUp(self):
        super().setUp()
        self.scripts = Scripts(self)
        self.scripts.write('hold', HOLD)

    def start(self):
        """Have another driver, which runs triggers."""
        self.drivers.append(Listener(self, 'driver', '--triggers',
                                     self.scripts.root))
        self.controller.kill()
        self.controller.arguments += (
            '--driver', 'd2=' + self.drivers[1].url)
        self.controller.start()

    def submit(self, *stages):
        return self.client.submit(document(*stages))

    def test_where_none_run_that_is_said_if_it_has_any(self):
        for trigger, warnings in (('hold', [OFF]), ('', [])):
            run_id = self.submit((trigger, SHORT))
            found = self.client.wait_until(run_id, 'finished')
            self.assertEqual(warnings, of_triggers(found))

    def test_where_some_run_them_the_others_are_named(self):
        self.start()
        run_id = self.submit(('hold', LONG))
        pids = self.scripts.pids()
        self.client.ask('POST', '/v1/workloads/%s/cancel' % run_id)
        found = self.client.wait_until(run_id, 'cancelled')
        self.assertEqual([OFF + ' on d1'], of_triggers(found))
        wait_for_end(*pids)

    def test_neither_load_nor_trigger_outlives_its_controller(self):
        self.controller.arguments += ('--lease', '4')
        self.start()
        server = ObjectServer(self, 0.01)
        self.submit(('hold', on(server, LONG)))
        pids = self.scripts.pids()
        wait_for(lambda: server.connections, 'there is load', DEADLINE)
        self.controller.kill(signal.SIGKILL)
        wait_for_end(*pids)
        server.wait_for_its_end()

    def test_the_next_run_ends_what_an_earlier_one_has_left(self):
        self.controller.arguments += ('--lease', '3600')
        self.start()
        self.submit(('hold', LONG))
        pids = self.scripts.pids()
        self.controller.kill(signal.SIGKILL)
        self.controller.start()
        run_id = self.submit(('', SHORT))
        self.client.wait_until(run_id, 'finished')
        wait_for_end(*pids)
