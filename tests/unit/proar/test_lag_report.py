# SPDX-License-Identifier: Apache-2.0
"""lag_report and watched: what is told of the answers of nodes."""

import contextlib
import io
import json
import os
import time
from dataclasses import replace
from unittest import mock

from swift.common import utils

from swift_lightsync.common.health import Scope
from swift_lightsync.common.nodes import Outcome, Reply
from swift_lightsync.common.openmetrics import exposition
from swift_lightsync.proar import lag_report
from swift_lightsync.proar.lag import PATH, DeviceLag, DeviceStanding, NodeLag
from swift_lightsync.proar.troubles import COUNTS, Troubles
from swift_lightsync.proar.vouching.watched import WATCHED
from tests.unit.sync.fixtures import SwiftTestCase, node, ring_of, served

LAG = DeviceLag('sda', 0, 3, 1, 2.5, {1: 3}, 0, 0)
ROLE = DeviceStanding('sda', 0, 7, (), None, (), 0, {})
SWIFT_CONF = '''\
[swift-hash]
swift_hash_path_suffix = x
[storage-policy:0]
name = gold
default = yes
'''


class TestCommand(SwiftTestCase):

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(
            utils, 'SWIFT_CONF_FILE', '/nowhere/swift.conf'))
        with open(os.path.join(self.root, 'swift.conf'), 'w') as conf:
            conf.write(SWIFT_CONF)
        now = time.time()
        self.answers = [NodeLag(now, '/cache/%d' % number, now, ())
                        for number in range(2)]
        self.nodes = [
            node(number, self.enterContext(served(self.app(number))))
            for number in range(2)]
        ring_of(self.root, self.nodes)

    def app(self, number):
        def answer(env, start_response):
            known = env['PATH_INFO'] == '/recon/proar'
            start_response('200 OK' if known else '404 Not Found', [])
            return [self.answers[number].encode() if known else b'']
        return answer

    def tell(self, number, **fields):
        self.answers[number] = replace(self.answers[number], **fields)

    def name(self, number):
        return '127.0.0.1:%d' % self.nodes[number]['port']

    def run_command(self, *args):
        """Return the exit status and what it printed"""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(err):
            status = lag_report.main([
                '--swift-dir', self.root, '--timeout', '60', *args])
        return status, out.getvalue() + err.getvalue()

    def test_a_cluster_without_lag_is_well(self):
        self.assertEqual(
            (0, 'policy gold (0): all devices hold all\n'),
            self.run_command())

    def test_who_lacks_how_much_of_whom_is_told(self):
        self.tell(0, devices=(LAG,))
        status, text = self.run_command()
        self.assertEqual(0, status)
        total = '3 entries that a device lacks, 1 that all lack, oldest 2.5 s'
        self.assertEqual([
            'policy gold (0): ' + total,
            '  %s/sda: %s' % (self.name(0), total),
            '    %s/sda lacks 3' % self.name(1)], text.splitlines())

    def test_what_is_older_than_allowed_is_complained_of(self):
        self.tell(0, devices=(LAG,))
        status, text = self.run_command('--max-seconds', '2')
        self.assertEqual(1, status)
        self.assertIn('! %s/sda: a device has lacked an entry of policy 0 '
                      'for 2.5 s\n' % self.name(0), text)

    def test_damage_and_what_can_be_pushed_to_nobody_is_complained_of(self):
        self.tell(0, devices=(replace(LAG, damaged=2, aside=4),))
        status, text = self.run_command()
        self.assertEqual(1, status)
        for said in ('2 segments of the log are damaged or gone',
                     '4 entries of policy 0 can be pushed to nobody'):
            self.assertIn('! %s/sda: %s' % (self.name(0), said), text)

    def test_what_clients_met_of_late_is_complained_of(self):
        now = self.answers[0].time
        for count in COUNTS:
            for age, wanted in ((100, 1), (10000, 0)):
                self.tell(0, troubles={'sda': Troubles(now - age, **{
                    count: 5})})
                status, text = self.run_command()
                self.assertEqual(wanted, status, text)
                self.assertEqual(wanted, text.count('! %s/sda: 5 ' %
                                                    self.name(0)))

    def test_how_long_it_is_complained_of_can_be_told(self):
        self.tell(0, troubles={'sda': Troubles(
            self.answers[0].time - 100, failed_intents=1)})
        self.assertEqual(0, self.run_command('--remember', '50')[0])

    def test_a_device_that_is_behind_for_long_is_complained_of(self):
        for seconds, wanted in ((100, 1), (50, 0)):
            self.tell(0, roles=(replace(
                ROLE, silent=(1,),
                silent_since=self.answers[0].time - seconds),))
            status, text = self.run_command()
            self.assertEqual((wanted, wanted), (status, text.count(
                '! %s/sda: 1 devices have not vouched for it in policy 0 for '
                '100 s: reads ask all\n' % self.name(0))))

    def test_a_log_that_went_back_is_complained_of(self):
        self.tell(0, roles=(replace(ROLE, older=(1, 2)),))
        status, text = self.run_command()
        self.assertEqual(1, status)
        self.assertIn('! %s/sda: its log is older than 2 devices know it in '
                      'policy 0' % self.name(0), text)

    def test_devices_that_may_have_lost_objects_are_told(self):
        self.tell(0, roles=(replace(ROLE, unsure_seconds=50.0,
                                    awaited=(1, 2)),))
        self.tell(1, roles=(ROLE,))
        self.assertEqual((
            0, 'policy gold (0): all devices hold all\n'
            '  %s/sda may have lost objects, 50 s in service since; awaits '
            'passes of 2 devices\n' % self.name(0)), self.run_command())
        told = json.loads(self.run_command('--json')[1])['roles']
        self.assertEqual(
            {self.name(0) + '/sda': (50, [1, 2]),
             self.name(1) + '/sda': (None, [])},
            {each['name']: (each['unsure_seconds'], each['awaited'])
             for each in told})

    def test_one_that_may_have_for_long_is_complained_of(self):
        for seconds, wanted in ((2 * 86400.0, 1), (86400.0, 0)):
            self.tell(0, roles=(replace(ROLE, unsure_seconds=seconds,
                                        awaited=(1, 2)),))
            status, text = self.run_command()
            self.assertEqual((wanted, wanted), (status, text.count(
                '! %s/sda: it may have lost objects of policy 0, and was '
                '172800 s in service since: the object-replicators of 2 '
                'devices have not ended a pass' % self.name(0))))
        self.assertEqual(1, self.run_command('--max-unsure', '80000')[0])

    def test_the_health_check_counts_them_and_warns_of_them(self):
        role = replace(ROLE, unsure_seconds=90000.0, awaited=(1,))
        self.tell(0, roles=(role, replace(role, device='sdb',
                                          unsure_seconds=60.0)))
        found = WATCHED.judge({PATH: [Reply(
            ('127.0.0.1', 1), Outcome.ANSWERED, '', self.answers[0])]},
            Scope(self.root, self.answers[0].time, 600))
        self.assertIn('may have lost objects', found.findings[0].text)
        metrics = exposition(found.families)
        for said in ('unsure_devices{policy="0"} 2.0',
                     'unsure_seconds{policy="0"} 90000.0'):
            self.assertIn('swift_proar_%s\n' % said, metrics)

    def test_rings_and_regions_that_differ_are_complained_of(self):
        self.tell(0, roles=(replace(ROLE, others={1: 7 + (2 << 20), 2: 8}),))
        status, text = self.run_command()
        self.assertEqual(1, status)
        self.assertIn(
            '! %s/sda: it has ring 7 of policy 0, 2 devices have another: '
            'ring 7, primary roles in regions 1; ring 8\n' % self.name(0),
            text)

    def test_a_converger_that_does_not_run_is_complained_of(self):
        self.tell(0, updated=self.answers[0].time - 100)
        self.tell(1, updated=0)
        status, text = self.run_command()
        self.assertEqual(1, status)
        self.assertIn('%s: its converger has not reported for 100 s'
                      % self.name(0), text)
        self.assertIn('%s: its converger has never reported' % self.name(1),
                      text)

    def test_a_node_that_does_not_answer_is_complained_of(self):
        status, text = self.run_command('127.0.0.1:1')
        self.assertEqual(1, status)
        self.assertIn('! 127.0.0.1:1: unreachable: Connection refused\n', text)

    def test_what_a_node_says_cannot_steer_a_terminal(self):
        said = Reply(('127.0.0.1', 1), Outcome.INVALID, 'status 500: \x1b[2J')
        with mock.patch.object(lag_report, 'ask_all', return_value=[said]):
            status, text = self.run_command()
        self.assertEqual(1, status)
        self.assertIn('status 500: ?[2J', text)

    def test_servers_of_one_host_count_once(self):
        self.tell(0, devices=(LAG,))
        self.tell(1, devices=(LAG,), source='/cache/0')
        status, text = self.run_command('--json')
        self.assertEqual(0, status)
        report = json.loads(text)
        device, = report['devices']
        self.assertEqual({'1': 3}, device['peers'])
        self.assertEqual((True, []), (report['well'], report['complaints']))

    def test_a_policy_that_is_not_there_is_a_wrong_call(self):
        status, text = self.run_command('--policy', 'iron')
        self.assertEqual(2, status)
        self.assertIn('--policy iron', text)
