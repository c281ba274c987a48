# SPDX-License-Identifier: Apache-2.0
"""swift-lightsync-health: what it asks, says and ends with."""

import contextlib
import io
import json
import unittest
from unittest import mock

from swift_lightsync.common.health import (
    Finding,
    Scope,
    Severity,
    Verdict,
    Watched,
    worst,
)
from swift_lightsync.common.nodes import Outcome, Question, Reply
from swift_lightsync.common.openmetrics import Family, parse
from swift_lightsync.health import cli
from swift_lightsync.health.systems import MODULES, systems

SCOPE = Scope('/etc/swift', 1000.0, 600)
NODES = [('10.0.0.%d' % number, 6200) for number in (1, 2, 3)]
CONTAINER = ('10.0.0.1', 6201)
HOSTS = {'object': set(NODES), 'container': {CONTAINER}}


def system(name, judge, path, server='object'):
    return Watched(name, lambda conf: {}, (Question(path, bytes),), judge,
                   server)


class TestLook(unittest.TestCase):

    def look(self, *watched, outcomes=None):
        self.asked = []

        def ask_all(hosts, timeout, question):
            self.asked.append((question.path, set(hosts)))
            return [Reply(host, (outcomes or {}).get(
                (host, question.path), Outcome.ANSWERED), answer=b'x')
                for host in sorted(hosts)]
        with mock.patch.object(cli, 'ask_all', ask_all):
            return cli.look(watched, HOSTS, SCOPE, 5)

    def test_each_system_asks_servers_of_its_kind(self):
        def judge(replies, scope):
            return Verdict(True)
        self.look(system('a', judge, '/a'), system('b', judge, '/b'),
                  system('c', judge, '/c', 'container'))
        self.assertEqual([('/a', {*NODES, CONTAINER}), ('/b', {*NODES}),
                          ('/c', {CONTAINER})], self.asked)

    def test_a_server_that_is_unreachable_is_asked_once(self):
        def judge(replies, scope):
            return Verdict(True)
        self.look(system('a', judge, '/a'), system('b', judge, '/b'),
                  outcomes={(NODES[1], '/a'): Outcome.UNREACHABLE})
        self.assertEqual({NODES[0], NODES[2]}, self.asked[1][1])

    def test_a_judge_sees_who_has_the_system_only(self):
        seen = []

        def judge(replies, scope):
            seen.append((replies, scope))
            return Verdict(True)
        self.look(system('a', judge, '/a'), system('b', judge, '/b'),
                  outcomes={(NODES[1], '/b'): Outcome.WITHOUT})
        self.assertEqual([NODES[0], NODES[2]], [
            reply.host for reply in seen[1][0]['/b']])
        self.assertEqual(SCOPE, seen[1][1])


class TestOutput(unittest.TestCase):

    VERDICTS = {
        'Servers': Verdict(True, (), '4 of 4 servers answered'),
        'LOSF': Verdict(True, [
            Finding(Severity.WARNING, 'sda: 3 in quarantine'),
            Finding(Severity.CRITICAL, 'sdb: full')], '', [
                Family('swift_losf_files', 'gauge', 'Files.').add(7)]),
        'PROAR': Verdict(False)}

    def run_cli(self, *args, verdicts=None):
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.object(cli, 'servers', lambda _: HOSTS), \
                mock.patch.object(cli, 'look', lambda *_: self.VERDICTS
                                  if verdicts is None else verdicts), \
                contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(err):
            try:
                status = cli.main(args)
            except SystemExit as end:
                status = end.code
        return status, out.getvalue(), err.getvalue()

    def test_the_first_line_sums_up_and_findings_stand_worst_first(self):
        status, out, _ = self.run_cli()
        self.assertEqual((2, [
            'SWIFT-LIGHTSYNC CRITICAL: LOSF: 2',
            'Servers    OK        4 of 4 servers answered',
            'LOSF       CRITICAL  ', '  ! sdb: full',
            '  ! sda: 3 in quarantine', 'PROAR      not used ']),
            (status, out.splitlines()))

    def test_if_nothing_is_wrong_all_is_well(self):
        status, out, _ = self.run_cli(verdicts={
            'Servers': Verdict(True), 'PROAR': Verdict(False)})
        self.assertEqual((0, 'SWIFT-LIGHTSYNC OK: all is well'),
                         (status, out.splitlines()[0]))

    def test_a_system_that_is_expected_and_not_used_is_critical(self):
        verdicts = {'Servers': Verdict(True), 'PROAR': Verdict(False)}
        status, out, _ = self.run_cli('--expect', 'proar', verdicts=verdicts)
        self.assertEqual(2, status)
        self.assertIn('PROAR: not in use', out)
        status, out, _ = self.run_cli('--expect', 'nothing',
                                      verdicts=verdicts)
        self.assertEqual((3, 'SWIFT-LIGHTSYNC UNKNOWN: --expect nothing: '
                          'there are servers, proar\n'), (status, out))

    def test_json_has_all_that_the_text_has(self):
        status, out, _ = self.run_cli('--json', '--expect', 'LOSF')
        found = json.loads(out)
        self.assertEqual((2, 'CRITICAL', []), (
            status, found['severity'], found['missing']))
        self.assertEqual({'in_use': True, 'severity': 'CRITICAL',
                          'summary': '', 'findings': [
                              {'severity': 'WARNING',
                               'text': 'sda: 3 in quarantine'},
                              {'severity': 'CRITICAL',
                               'text': 'sdb: full'}]},
                         found['systems']['LOSF'])

    def test_figures_are_openmetrics(self):
        _, out, _ = self.run_cli('--openmetrics')
        self.assertEqual([
            ('swift_lightsync_severity', {'system': 'Servers'}, 0.0),
            ('swift_lightsync_severity', {'system': 'LOSF'}, 2.0),
            ('swift_lightsync_findings', {'system': 'Servers'}, 0.0),
            ('swift_lightsync_findings', {'system': 'LOSF'}, 2.0),
            ('swift_losf_files', {}, 7.0)], list(parse(out)))
        self.assertTrue(out.endswith('# EOF\n'))

    def test_what_a_node_says_steers_no_terminal(self):
        _, out, _ = self.run_cli(verdicts={'Servers': Verdict(True, [
            Finding(Severity.WARNING, 'sda\x1b[2J')])})
        self.assertNotIn('\x1b', out)

    def test_a_wrong_call_is_unknown_to_nagios(self):
        status, out, err = self.run_cli('--patience', 'long')
        self.assertEqual((3, ''), (status, out))
        self.assertIn("'long' must be", err)

    def test_a_ring_that_cannot_be_read_is_unknown(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = cli.main(['--swift-dir', '/nowhere'])
        self.assertEqual(3, status)
        self.assertIn('SWIFT-LIGHTSYNC UNKNOWN: ', out.getvalue())


class TestSeverity(unittest.TestCase):

    def test_critical_outweighs_unknown_and_unknown_a_warning(self):
        ok, warning, critical, unknown = Severity
        for expected, found in (
                (ok, []), (warning, [ok, warning]),
                (unknown, [warning, unknown]),
                (critical, [unknown, critical, ok])):
            self.assertEqual(expected, worst(found))


class TestSystems(unittest.TestCase):

    def test_each_module_of_the_table_is_a_system(self):
        self.assertEqual(len(MODULES), len(list(systems())))
        paths = [path for each in systems() for path in each.routes({})]
        self.assertEqual(len(set(paths)), len(paths))
        for each in systems():
            self.assertEqual(set(each.routes({})), {
                question.path for question in each.questions})

    def test_a_system_whose_libraries_are_missing_is_passed_over(self):
        real = __import__('importlib').import_module

        def fake(name):
            if name.startswith('swift_losf'):
                raise ModuleNotFoundError(name='grpc')
            return real(name)
        with mock.patch('importlib.import_module', fake):
            self.assertEqual(['Servers', 'LightSync', 'PROAR', 'Versions'],
                             [each.name for each in systems()])
