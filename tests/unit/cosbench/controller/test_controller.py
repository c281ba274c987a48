# SPDX-License-Identifier: Apache-2.0
"""A controller and its drivers as real processes, and their deaths."""

import json
import os
import signal

from tests.unit.cosbench.adaptors import certificates
from tests.unit.cosbench.directory_case import DirectoryCase
from tests.unit.cosbench.documents import operation, reads, work
from tests.unit.cosbench.processes import (
    DEADLINE,
    Client,
    Listener,
    ObjectServer,
    cosbench,
)
from tests.waiting import wait_for

READ = operation('containers=c(1);objects=u(1,9)', 'read')
MOCK = '<storage type="mock" config="delay=%d"/>'
SHORT = reads('workers="4" totalOps="40"', MOCK % 1)
#: Seconds after which a driver is lost, and after which it stops without a
#: controller; where neither should happen.
PATIENT = ('--driver-timeout', str(DEADLINE), '--lease', str(2 * DEADLINE))
#: Where it should.
IMPATIENT = ('--driver-timeout', '2', '--lease', '4')


def timed(seconds, storage=MOCK % 5, attributes=''):
    return reads('workers="4" runtime="%d" interval="1" %s'
                 % (seconds, attributes), storage, 'u(1,9)')


def swift(server):
    return '<storage type="swift" config="storage_url=%s;timeout=5000"/>' \
        % server.url


class ControllerCase(DirectoryCase):

    options = PATIENT
    number = 2

    def setUp(self):
        super().setUp()
        self.archive = self.path('archive')
        self.drivers = [Listener(self, 'driver')
                        for _ in range(self.number)]
        arguments = ['controller', '--archive', self.archive, *self.options]
        for number, driver in enumerate(self.drivers, 1):
            arguments += ['--driver', 'd%d=%s' % (number, driver.url)]
        self.controller = Listener(self, *arguments)
        self.client = Client(self.controller)

    def running(self, document):
        """Submit it, and wait until both drivers have reported."""
        run_id = self.client.submit(document)
        self.client.wait(
            run_id, lambda found: any(
                operation['metrics']['op_count']
                for stage in found['stages'] for work in stage['works']
                for operation in work['operations']), 'a report')
        return run_id

    def result(self, run_id):
        return self.client.ask(
            'GET', '/v1/workloads/%s/result' % run_id)[1]


class TestRest(ControllerCase):

    def test_a_workload_runs_and_its_reports_are_there(self):
        run_id = self.client.submit(SHORT)
        found = self.client.wait_until(run_id, 'finished')
        metrics = found['stages'][0]['works'][0]['operations'][0]['metrics']
        self.assertEqual(40, metrics['op_count'])
        self.assertEqual(['d1', 'd2'], [
            each['name'] for each in found['stages'][0]['works'][0][
                'drivers']])
        names = [each['name'] for each in self.client.ask(
            'GET', '/v1/workloads/%s/files' % run_id)[1]['files']]
        self.assertIn('report.html', names)
        self.assertIn('result.json', names)
        with open(os.path.join(self.archive, 'w1-n',
                               'workload.log')) as stream:
            self.assertRegex(stream.read(), '(?s)w1, n: processing.*stage 1,'
                             ' s: running.*completed.*w1, n: finished')
        self.assertEqual(
            (200, self.result(run_id)),
            self.client.ask('GET', '/v1/workloads/%s/files/result.json'
                            % run_id))

    def test_runs_come_one_after_the_other_and_are_cancelled(self):
        server = ObjectServer(self, 0.01)
        run_id = self.running(timed(600, swift(server)))
        waiting, last = [self.client.submit(SHORT) for _ in range(2)]
        self.assertEqual('queuing', self.client.info(waiting)['state'])
        for each in (waiting, run_id):
            self.assertEqual(202, self.client.ask(
                'POST', '/v1/workloads/%s/cancel' % each)[0])
        found = self.client.wait_until(run_id, 'cancelled')
        server.wait_for_its_end()
        self.assertEqual('cancelled', found['stages'][0]['state'])
        self.assertGreater(self.client.operations(run_id), 0)
        self.assertEqual('cancelled', self.client.info(waiting)['state'])
        self.assertEqual(409, self.client.ask(
            'POST', '/v1/workloads/%s/cancel' % run_id)[0])
        self.assertGreaterEqual(
            self.client.wait_until(last, 'finished')['started'],
            found['stopped'])

    def test_a_pinned_work_runs_on_its_driver(self):
        good, bad = [self.client.submit(SHORT.replace(
            'totalOps', 'driver="%s" totalOps' % name))
            for name in ('d2', 'd3')]
        found = self.client.wait_until(good, 'finished')
        self.assertEqual([('d2', 4)], [
            (each['name'], each['workers']) for each in
            found['stages'][0]['works'][0]['drivers']])
        found = self.client.wait_until(bad, 'failed')
        self.assertIn('pinned to d3', found['stages'][0]['reason'])

    def test_the_commands_speak_to_it(self):
        path = self.put('workload.xml', SHORT)
        where = ('--controller', self.controller.url)
        done = cosbench('submit', path, '--seed', 9, *where)
        self.assertEqual((0, 'Accepted with ID: w1\n'),
                         (done.returncode, done.stdout), done.stderr)
        self.client.wait_until('w1', 'finished')
        self.assertIn('w1\tfinished\tn\n', cosbench('info', *where).stdout)
        result = json.loads(cosbench('result', 'w1', *where).stdout)
        self.assertEqual((9, 'finished'), (result['seed'], result['state']))
        done = cosbench('cancel', 'w1', *where)
        self.assertEqual(1, done.returncode)
        self.assertIn('has ended already', done.stderr)
        self.put('workload.xml', '<workload/>')
        done = cosbench('submit', path, *where)
        self.assertEqual(1, done.returncode)
        self.assertIn(path + ':1: ', done.stderr)


class TestTls(DirectoryCase):

    def setUp(self):
        super().setUp()
        self.certificate, _ = certificates.make(self.directory)
        self.tls = ('--tls-cert', self.certificate, '--tls-key',
                    self.path('key.pem'))
        self.driver = Listener(self, 'driver', *self.tls)

    def controller(self, *options):
        address = self.driver.url.replace('http:', 'https:')
        return Listener(
            self, 'controller', '--driver', address, '--archive',
            self.path('archive'), *self.tls, *options)

    def state(self, controller):
        path = self.put('workload.xml', SHORT)
        where = ('--controller', controller.url.replace('http:', 'https:'),
                 '--tls-ca', self.certificate)
        done = cosbench('submit', path, *where)
        self.assertEqual(0, done.returncode, done.stderr)

        def ended():
            found = json.loads(cosbench('result', 'w1', *where).stdout)
            return found['state'] in ('finished', 'failed') and found
        return wait_for(ended, 'it ends', DEADLINE)

    def test_a_certificate_of_its_own_can_be_trusted(self):
        found = self.state(self.controller(
            '--driver-ca', self.certificate, *PATIENT))
        self.assertEqual('finished', found['state'])

    def test_one_that_nobody_vouches_for_is_not(self):
        controller = self.controller(*IMPATIENT)
        found = self.state(controller)
        self.assertEqual('failed', found['state'])
        self.assertIn('certificate', found['drivers'][0]['reason'])
        done = cosbench('info', '--controller',
                        controller.url.replace('http:', 'https:'))
        self.assertEqual(1, done.returncode)
        self.assertIn('certificate', done.stderr)


class TestLoss(ControllerCase):

    options = IMPATIENT

    def test_a_driver_that_is_killed_fails_its_stage_and_no_other(self):
        # The stage would take far longer than what is waited for.
        run_id = self.running(timed(3600).replace(
            '</workflow>', '<workstage name="after">%s</workstage>'
            '</workflow>' % work(READ, 'workers="4" totalOps="20"')))
        self.drivers[1].kill()
        found = self.client.wait_until(run_id, 'failed', 'finished')
        first, after = found['stages']
        self.assertEqual('failed', found['state'])
        self.assertEqual(('failed', 'completed'),
                         (first['state'], after['state']))
        self.assertIn('driver d2 did not answer for 2 s', first['reason'])
        self.assertIn('2 of 4 workers', first['reason'])
        states = {each['name']: each['state'] for each in found['drivers']}
        self.assertEqual({'d1': 'alive', 'd2': 'lost'}, states)
        self.assertEqual(20, after['works'][0]['operations'][0]['metrics'][
            'op_count'])

    def test_a_driver_that_hangs_is_lost_and_stops_by_itself(self):
        server = ObjectServer(self, 0.01)
        run_id = self.running(timed(3600, swift(server)))
        self.drivers[0].process.send_signal(signal.SIGSTOP)
        found = self.client.wait_until(run_id, 'failed')
        self.assertIn('driver d1 did not answer', found['stages'][0][
            'reason'])
        # It wakes, and its lease is over.
        self.drivers[0].process.send_signal(signal.SIGCONT)
        server.wait_for_its_end()

    def test_a_driver_that_was_started_again_is_lost_once(self):
        run_id = self.running(timed(3600))
        port = self.drivers[1].port
        self.drivers[1].kill()
        self.drivers[1].start(port)
        found = self.client.wait_until(run_id, 'failed')
        self.assertIn('d2', found['stages'][0]['reason'])
        run_id = self.client.submit(SHORT)
        found = self.client.wait_until(run_id, 'finished')
        self.assertEqual({'alive'}, {each['state']
                                     for each in found['drivers']})

    def test_without_any_driver_a_workload_fails(self):
        for driver in self.drivers:
            driver.kill()
        found = self.client.wait_until(self.client.submit(SHORT), 'failed')
        self.assertIn('no driver is left', found['stages'][0]['reason'])


class TestRedistribution(ControllerCase):

    options = (*IMPATIENT, '--on-driver-loss', 'redistribute')

    def test_others_take_over_for_the_rest_of_the_time(self):
        run_id = self.running(timed(8))
        self.drivers[1].kill()
        found = self.client.wait_until(run_id, 'failed', 'finished')
        self.assertEqual('finished', found['state'])
        work = found['stages'][0]['works'][0]
        self.assertEqual([('d1', 'completed'), ('d2', 'lost'),
                          ('d1', 'completed')], [
            (each['name'], each['state']) for each in work['drivers']])
        self.assertIn('begin again elsewhere', ' '.join(found['warnings']))

    def test_total_ops_are_at_least_done(self):
        server = ObjectServer(self, 0.01)
        run_id = self.running(reads(
            'workers="4" totalOps="1600" interval="1"', swift(server)))
        self.drivers[1].kill()
        found = self.client.wait_until(run_id, 'failed', 'finished')
        self.assertEqual('finished', found['state'])
        done = self.client.operations(run_id)
        self.assertEqual(1600, done)
        # What was done after the last report was done, and not counted.
        self.assertGreaterEqual(server.count('GET object'), 1600)


class TestDeathOfTheController(ControllerCase):

    # The load ends with the lease.
    options = IMPATIENT

    def test_what_was_reported_is_shown_and_the_load_ends(self):
        server = ObjectServer(self, 0.01)
        run_id = self.running(timed(600, swift(server)))
        waiting = self.client.submit(SHORT)
        path = os.path.join(self.archive, run_id + '-n', 'run.json')

        def saved():
            with open(path, encoding='utf8') as stream:
                stages = json.loads(stream.read()[65:])['stages']
            return stages and stages[0]['works'][0]['operations'][0][
                'tally']['bytes']
        wait_for(saved, 'it is saved', DEADLINE)
        self.controller.kill()
        reported = saved()
        self.controller.start()
        found = self.client.info(run_id)
        self.assertEqual('terminated', found['state'])
        self.assertEqual('terminated', found['stages'][0]['state'])
        operations = found['stages'][0]['works'][0]['operations']
        self.assertEqual(reported, operations[0]['metrics']['byte_count'])
        self.assertIn('the controller died', found['warnings'][-1])
        # The one that waited runs, when the load of the first has ended.
        self.client.wait_until(waiting, 'finished')
        before = server.count('GET object')
        run_id = self.client.submit(SHORT)
        self.client.wait_until(run_id, 'finished')
        self.assertEqual(before, server.count('GET object'))
