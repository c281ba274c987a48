# SPDX-License-Identifier: Apache-2.0
"""What a node says of its software, and how that is judged."""

import json
import os
import tempfile
import unittest
from unittest import mock

from swift_lightsync import software
from swift_lightsync.common.health import Scope, Severity
from swift_lightsync.common.nodes import Outcome, Reply
from swift_lightsync.patch_series import FileState, PatchingError

SCOPE = Scope('/etc/swift', 1000.0, 600)
VERSIONS = {'python': '3.11.2', 'swift': '2.38.3', 'swift-lightsync': '1'}
WELL = software.NodeSoftware(1000.0, VERSIONS, (), ())


def reply(number, answer=WELL, outcome=Outcome.ANSWERED, problem=''):
    return Reply(('10.0.0.%d' % number, 6200), outcome, problem, answer)


def judge(*replies):
    verdict = software.WATCHED.judge({software.PATH: replies}, SCOPE)
    return [(each.severity, each.text) for each in verdict.findings]


class TestNode(unittest.TestCase):

    def setUp(self):
        self.run_dir = self.enterContext(tempfile.TemporaryDirectory())

    def write_pid(self, name, pid):
        path = os.path.join(self.run_dir, name + '.pid')
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as text:
            text.write(str(pid))

    def test_its_answer_can_be_read(self):
        answer, = software.routes({'run_dir': self.run_dir}).values()
        found = software.WATCHED.questions[0].decode(answer())
        self.assertEqual({'python', 'swift', 'swift-lightsync'},
                         set(found.versions))
        self.assertEqual(json.loads(answer())['ended'], list(found.ended))

    def test_a_pid_file_without_its_process_is_a_daemon_that_ended(self):
        self.write_pid('object-replicator', 2 ** 22 + 7)
        self.write_pid('object-server/2', 2 ** 22 + 8)
        self.write_pid('object-updater', '')
        self.write_pid('memcached', 2 ** 22 + 9)
        self.assertEqual(('object-replicator', 'object-server/2'),
                         software.read(self.run_dir).ended)

    def test_a_pid_that_another_program_has_got_is_no_daemon(self):
        self.write_pid('object-auditor', os.getppid())
        real = open

        def fake(path, *args, **kwargs):
            if str(path).startswith('/proc/'):
                path = os.path.join(self.run_dir, 'cmdline')
            return real(path, *args, **kwargs)
        for command, ended in ((b'vi\0', ('object-auditor',)),
                               (b'python3\0swift-object-auditor\0', ())):
            with open(os.path.join(self.run_dir, 'cmdline'), 'wb') as text:
                text.write(command)
            with mock.patch('builtins.open', fake):
                self.assertEqual(ended, software.read(self.run_dir).ended)

    def test_files_without_all_patches_are_named(self):
        states = [FileState('swift/a.py', ('0', '1'), 1),
                  FileState('swift/b.py', ('0', '1', '2'), 1)]
        with mock.patch.object(software.patcher, 'inspect',
                               return_value=states):
            self.assertEqual(('swift/b.py',),
                             software.read(self.run_dir).unpatched)

    def test_if_patches_cannot_be_told_the_reason_stands_there(self):
        with mock.patch.object(software.patcher, 'open_tree',
                               side_effect=PatchingError('no Swift')):
            self.assertEqual(('no Swift',),
                             software.read(self.run_dir).unpatched)


class TestJudge(unittest.TestCase):

    def test_servers_that_are_alike_are_well(self):
        self.assertEqual([], judge(reply(1), reply(2)))

    def test_a_server_without_the_filter_is_no_finding(self):
        self.assertEqual([], judge(reply(1), reply(
            2, None, Outcome.WITHOUT, 'status 404')))

    def test_an_unreachable_server_is_critical(self):
        self.assertEqual([(Severity.CRITICAL, '10.0.0.2:6200: unreachable: '
                           'Connection refused')],
                         judge(reply(1), reply(2, None, Outcome.UNREACHABLE,
                                               'Connection refused')))

    def test_an_answer_that_cannot_be_used_is_unknown(self):
        self.assertEqual([(Severity.UNKNOWN, '10.0.0.2:6200: no HTTP')],
                         judge(reply(1), reply(2, None, Outcome.INVALID,
                                               'no HTTP')))

    def test_if_none_answers_that_is_unknown(self):
        self.assertEqual([(Severity.UNKNOWN,
                           'no server answers /recon/swift-lightsync')],
                         judge(reply(1, None, Outcome.WITHOUT, '404')))

    def test_daemons_that_ended_and_missing_patches_are_critical(self):
        node = software.NodeSoftware(1.0, VERSIONS, ('swift/a.py',),
                                     ('object-losf',))
        self.assertEqual([
            (Severity.CRITICAL, '10.0.0.1:6200: object-losf has ended'),
            (Severity.CRITICAL, '10.0.0.1:6200: not all patches are applied: '
             'swift/a.py: swift-lightsync-patch apply')], judge(
                 reply(1, node)))

    def test_several_versions_are_a_warning(self):
        other = software.NodeSoftware(1.0, {**VERSIONS, 'swift': ''}, (), ())
        self.assertEqual([(Severity.WARNING, 'nodes have several versions of '
                           'swift: none (1), 2.38.3 (2)')], judge(
                               reply(1), reply(2, other), reply(3)))
