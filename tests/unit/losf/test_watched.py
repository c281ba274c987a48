# SPDX-License-Identifier: Apache-2.0
"""LOSF's part of the health check."""

import json
import os
import tempfile
import unittest
from dataclasses import replace

from swift_lightsync.common.health import Scope, Severity
from swift_lightsync.common.nodes import Outcome, Reply
from swift_lightsync.common.records import RecordError
from swift_losf.daemon import watched
from swift_losf.daemon.watched import IndexServer, NodeIndexes

SCOPE = Scope('/etc/swift', 1000.0, 600)
SERVER = IndexServer('sda', 1, 'running', 0, files=5, free_percent=50.0)


def judge(*servers, late=-5.0, source='/cache', hosts=1):
    node = NodeIndexes(1000.0, source, 1000.0 - late, servers)
    return watched.WATCHED.judge({watched.PATH: [
        Reply(('10.0.0.1', 6200 + number), Outcome.ANSWERED, answer=node)
        for number in range(hosts)]}, SCOPE)


def findings(*servers, **fields):
    return [(each.severity, each.text)
            for each in judge(*servers, **fields).findings]


class TestJudge(unittest.TestCase):

    def test_servers_that_run_are_well(self):
        verdict = judge(SERVER, SERVER)
        self.assertEqual((True, [], '2 index servers, 10 files'), (
            verdict.is_used, verdict.findings, verdict.summary))

    def test_servers_of_one_host_with_one_recon_file_count_once(self):
        self.assertEqual('1 index servers, 5 files',
                         judge(SERVER, hosts=3).summary)

    def test_a_node_that_never_reported_does_not_use_it(self):
        self.assertFalse(judge(late=1000.0).is_used)

    def test_a_report_past_its_time_is_critical(self):
        self.assertEqual([(Severity.CRITICAL, '10.0.0.1:6200: the manager of '
                           'its index servers has not reported for 12 s')],
                         findings(late=12.0))

    def test_what_is_wrong_with_a_server_is_told(self):
        for expected, fields in (
                ((Severity.CRITICAL, 'its index server is down'),
                 {'state': 'down'}),
                ((Severity.CRITICAL,
                  'its index server is running, but: hangs'),
                 {'error': 'hangs'}),
                ((Severity.WARNING, 'it is not mounted'),
                 {'state': 'unmounted'}),
                ((Severity.CRITICAL,
                  'it is full, only deletes are accepted'),
                 {'is_full': True, 'free_percent': 0.0}),
                ((Severity.CRITICAL, '0.0 % free'), {'free_percent': 0.0}),
                ((Severity.WARNING, '7.0 % free'), {'free_percent': 7.0}),
                ((Severity.WARNING, '2 in quarantine'), {'quarantined': 2})):
            self.assertEqual(
                [(expected[0], '10.0.0.1:6200/sda, policy 1: '
                  + expected[1])], findings(replace(SERVER, **fields)))

    def test_an_answer_that_cannot_be_used_is_unknown(self):
        verdict = watched.WATCHED.judge({watched.PATH: [Reply(
            ('10.0.0.1', 6200), Outcome.INVALID, 'status 500')]}, SCOPE)
        self.assertEqual((True, Severity.UNKNOWN), (
            verdict.is_used, verdict.severity))


class TestNode(unittest.TestCase):

    def answer(self, text=None):
        root = self.enterContext(tempfile.TemporaryDirectory())
        if text is not None:
            with open(os.path.join(root, 'object.recon'), 'w') as recon:
                recon.write(text)
        read, = watched.routes({'recon_cache_path': root}).values()
        return watched.WATCHED.questions[0].decode(read())

    def test_what_the_manager_reported_is_answered(self):
        found = self.answer(json.dumps({'object_losf': {
            'updated': 1.0, 'valid_until': 9.0, 'index_servers': [{
                'device': 'sda', 'policy': 1, 'state': 'running', 'pid': 7,
                'restarts': 2, 'files': 3}]}, 'other': 1}))
        self.assertEqual((9.0, (IndexServer('sda', 1, 'running', 2,
                                            files=3),)),
                         (found.valid_until, found.index_servers))

    def test_without_a_report_there_is_nothing(self):
        for text in (None, '', '{}', '{"object_losf": null}'):
            self.assertEqual((0, ()), (self.answer(text).valid_until,
                                       self.answer(text).index_servers))

    def test_a_damaged_report_is_refused(self):
        for text in ('[', '[]', '7', '{"object_losf": {"valid_until": "x"}}'):
            with self.assertRaises(RecordError):
                self.answer(text)
