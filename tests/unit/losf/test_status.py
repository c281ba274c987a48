# SPDX-License-Identifier: Apache-2.0
"""swift-losf-status: what it finds, what it makes of it, and how it ends."""

import contextlib
import io
import json
import os
import signal
import unittest
from dataclasses import replace
from unittest import mock

from swift.common import storage_policy

from swift_lightsync.common.health import Severity
from swift_losf.daemon import status
from swift_losf.daemon.status import Limits, Seen, State, judge
from swift_losf.format.layout import Layout
from swift_losf.format.values import Statistics
from tests.unit.losf.kv_world import serve_index
from tests.unit.losf.manager_world import InProcessTestCase
from tests.unit.sync.fixtures import node
from tests.waiting import stop

WELL = Seen('sda', 2, State.SERVING, '',
            Statistics(100, 200, 300, 0, 4, 5, 6, 7, 8, 9, 10, 11), 50.0)
OK, WARNING, CRITICAL, _ = Severity


def with_quarantined(count):
    return replace(WELL, statistics=replace(WELL.statistics,
                                            quarantined=count))


class TestJudge(unittest.TestCase):

    def test_each_state_and_number_has_its_severity(self):
        for seen, severity, reason in (
                (WELL, OK, None),
                (replace(WELL, free=9.94), WARNING, '9.9 % free'),
                (replace(WELL, free=10.0), OK, None),
                (replace(WELL, free=4.94), CRITICAL, '4.9 % free'),
                (replace(WELL, full=True), CRITICAL,
                 'full: only deletes are accepted'),
                (with_quarantined(3), WARNING, '3 in quarantine'),
                (Seen('sda', 2, State.UNMOUNTED), WARNING, 'unmounted'),
                (Seen('sda', 2, State.RECOVERING, 'volume 7'), WARNING,
                 'recovering: volume 7'),
                (Seen('sda', 2, State.DOWN, 'refused'), CRITICAL,
                 'down: refused')):
            worst, document, lines = judge([seen], Limits())
            row, = document['index_servers']
            self.assertEqual(
                (severity, [reason] if reason else []),
                (worst, row['problems']))
            self.assertEqual('LOSF %s: %s' % (
                severity.name, 'sda, policy 2: ' + reason if reason
                else 'index servers: 1'), lines[0])

    def test_the_limits_are_those_that_were_given(self):
        for limits, seen, severity in (
                (Limits(warning_free=60), WELL, WARNING),
                (Limits(60, 55), WELL, CRITICAL),
                (Limits(0, 0), replace(WELL, free=0.0), OK),
                (Limits(critical_free=60), WELL, CRITICAL),
                (Limits(quarantined=3), with_quarantined(3), OK),
                (Limits(quarantined=2), with_quarantined(3), WARNING)):
            self.assertEqual(severity, judge([seen], limits)[0], limits)

    def test_the_worst_counts_and_all_problems_are_in_the_first_line(self):
        worst, document, lines = judge(
            [WELL, replace(with_quarantined(1), device='sdb', free=3.0),
             Seen('sdc', 2, State.RECOVERING, 'x')], Limits())
        self.assertEqual(CRITICAL, worst)
        self.assertEqual(
            'LOSF CRITICAL: sdb, policy 2: 3.0 % free, 1 in quarantine; '
            'sdc, policy 2: recovering: x', lines[0])
        self.assertEqual(
            'sda, policy 2: OK: serving, 50.0 % free, 4 volumes, 100 files, '
            '0 in quarantine, 300 bytes to be given back', lines[1])
        self.assertEqual(['OK', 'CRITICAL', 'WARNING'], [
            each['severity'] for each in document['index_servers']])
        self.assertEqual(100, document['index_servers'][0]['files'])

    def test_nothing_to_look_at_is_a_warning(self):
        worst, document, _ = judge([], Limits())
        self.assertEqual(WARNING, worst)
        self.assertIn('no device of this node', document['summary'])


class TestStatus(InProcessTestCase):
    """The whole of it, on a node of real index servers."""

    #: options that the disk these tests run on cannot fail by
    FREE = '--warning-free', '0', '--critical-free', '0'

    def setUp(self):
        super().setUp()
        self.conf['losf_index_timeout'] = '3'
        self.enterContext(mock.patch.object(
            storage_policy, '_POLICIES', self.policies))

    def run_status(self, *args):
        """:returns: (the exit status, what was printed)"""
        with contextlib.redirect_stdout(io.StringIO()) as out:
            found = status.main([self.conf_file(), *args])
        return found, out.getvalue()

    def rows(self, *args):
        """:returns: (the exit status, a dict of devices to what is said)"""
        found, text = self.run_status('--json', *args)
        return found, {row['device']: row for row
                       in json.loads(text)['index_servers']}

    def test_all_is_well(self):
        self.serve('sda', 'sdb')
        found, rows = self.rows(*self.FREE)
        self.assertEqual((0, ['sda', 'sdb']), (found, sorted(rows)))
        self.assertEqual(
            (1, 'serving', 'OK', 0, 0, False), tuple(rows['sda'][each] for
                                                     each in (
                'policy', 'state', 'severity', 'files', 'quarantined',
                'full')))
        stat = os.statvfs(self.devices)
        self.assertAlmostEqual(100 * stat.f_bavail / stat.f_blocks,
                               rows['sda']['free_percent'], delta=5)
        found, text = self.run_status(*self.FREE)
        self.assertEqual('LOSF OK: index servers: 2', text.splitlines()[0])
        self.assertEqual(2, self.run_status('--critical-free', '100',
                                            '--warning-free', '100')[0])

    def test_servers_that_are_gone_or_silent_are_down(self):
        made = self.serve('sda', 'sdb')
        made.report()
        sda, _ = self.recon()['index_servers']
        stop(sda['pid'])
        try:
            found, rows = self.rows(*self.FREE)
            _, text = self.run_status(*self.FREE)
        finally:
            os.kill(sda['pid'], signal.SIGCONT)
        self.assertEqual(sda['pid'], rows['sda']['pid'])
        self.assertIn('CRITICAL: down, pid %d' % sda['pid'], text)
        self.assertEqual((2, 'down', 'serving'), (
            found, rows['sda']['state'], rows['sdb']['state']))
        self.assertIn('has not answered within 3 s',
                      rows['sda']['problems'][0])
        made.stop()
        found, rows = self.rows(*self.FREE)
        self.assertEqual((2, [('down', None)] * 2), (found, [
            (rows[each]['state'], rows[each]['pid'])
            for each in ('sda', 'sdb')]))

    def test_a_device_that_is_not_there_is_unmounted(self):
        self.save_ring(node(0, 6200, 'sda'))
        found, rows = self.rows()
        self.assertEqual((1, 'unmounted'), (found, rows['sda']['state']))

    def test_a_server_that_recovers_is_no_dead_one(self):
        self.save_ring(node(0, 6200, 'sda'))
        layout = Layout(self.make('d', 'sda'), 1)
        os.mkdir(layout.root)
        serve_index(self, layout.socket, state='recovering: volume 7')
        found, rows = self.rows()
        self.assertEqual((1, 'recovering'), (found, rows['sda']['state']))
        self.assertIn('volume 7', rows['sda']['problems'][0])

    def test_a_disk_that_is_given_its_ballast_is_full(self):
        self.serve('sda')
        ballast, = Layout(os.path.join(self.devices, 'sda'), 1).ballasts
        with mock.patch.object(status, 'is_given_up', {ballast}.__contains__):
            found, rows = self.rows(*self.FREE)
        self.assertEqual((2, True), (found, rows['sda']['full']))

    def test_a_node_without_such_devices_is_a_warning(self):
        self.save_ring(node(0, 6200, 'sda', ip='127.0.0.2'))
        self.assertEqual((1, {}), self.rows())

    def assert_cannot_tell(self, reason):
        found, text = self.run_status()
        self.assertEqual(2, found)
        self.assertRegex(text, 'LOSF CRITICAL: cannot tell: .*' + reason)
        found, text = self.run_status('--json')
        self.assertEqual((2, 'CRITICAL'), (
            found, json.loads(text)['severity']))

    def test_what_cannot_be_told_is_critical(self):
        self.assert_cannot_tell('object-1')
        self.conf['losf_index_timeout'] = 'x'
        self.assert_cannot_tell('losf_index_timeout = x')
        self.conf['losf_index_timeout'] = '1'
        self.save_ring(node(0, 6200, 'x' * 99))
        self.assert_cannot_tell('takes 107')
        with mock.patch.object(self, 'conf_file', lambda: '/nowhere/x'):
            self.assert_cannot_tell('/nowhere/x')

    def test_wrong_limits_are_refused(self):
        for option, value, why in (
                ('--warning-free', '101', "'101' must be 0 to 100"),
                ('--critical-free', 'nan', "'nan' must be 0 to 100"),
                ('--quarantined', 'x', 'invalid')):
            with contextlib.redirect_stderr(io.StringIO()) as text, \
                    self.assertRaises(SystemExit):
                status.main([option, value])
            self.assertRegex(text.getvalue(), '%s: %s' % (option, why))
