# SPDX-License-Identifier: Apache-2.0
"""The log of requests: a line for each, and no harm to the load."""

import json
import os
import stat
from types import SimpleNamespace

from cosbench.engine.request_log import RequestLog
from cosbench.errors import ConfigError
from cosbench.measure.sample import Sample
from tests.unit.cosbench.directory_case import DirectoryCase
from tests.unit.cosbench.documents import operation, work, wrapped
from tests.unit.cosbench.engine.runs import Recorder, ran, tally
from tests.unit.cosbench.engine.virtual_time import VirtualTime

MISSION = SimpleNamespace(id='m1', driver='d"1', stage=0, work=2)


class TestRequestLog(DirectoryCase):

    FILE = 'm1-i.jsonl'

    def log(self, share=1.0):
        return RequestLog(self.directory, share, MISSION, 'i')

    def lines(self):
        with open(self.path(self.FILE), encoding='utf8') as stream:
            return [json.loads(line) for line in stream]

    def test_a_line_has_what_a_sample_has(self):
        log = self.log()
        log.begin(1000.0)
        log.add(Sample('op"1', 1000.5, 1001, 1001.25, 1003, 77))
        log.add(Sample('op2', 1001, 1001, 1001, 1002, 0, 'http 503',
                       ('op2/1',)))
        log.close()
        log.close()
        log.add(Sample('op2', 1, 1, 1, 1, 1))
        head, first, second = self.lines()
        self.assertEqual(('m1', 'd"1', 0, 2, 1.0), tuple(head[key] for key in (
            'mission', 'driver', 'stage', 'work', 'share')))
        self.assertEqual({'op': 'op"1', 'at': 1.0, 'late': 0.5, 'first': 0.25,
                          'took': 2.0, 'bytes': 77, 'error': None}, first)
        self.assertEqual(('http 503', 'op2/1', 0.0), (
            second['error'], second['row'], second['late']))
        self.assertEqual(0o600, stat.S_IMODE(
            os.stat(self.path(self.FILE)).st_mode))

    def test_a_share_of_the_requests_is_kept(self):
        log = self.log(0.1)
        log.begin(0)
        for _ in range(10000):
            log.add(Sample('op1', 0, 0, 0, 1, 1))
        log.close()
        self.assertAlmostEqual(1000, len(self.lines()) - 1, delta=120)

    def test_no_other_file_is_written_to(self):
        path = self.put(self.FILE, 'mine')
        with self.assertRaisesRegex(ConfigError, 'm1-i.jsonl: File exists'):
            self.log()
        os.remove(path)
        os.symlink('/dev/null', path)
        with self.assertRaisesRegex(ConfigError, 'request-log'):
            self.log()
        with self.assertRaisesRegex(ConfigError, 'keeps no log'):
            RequestLog(None, 1.0, MISSION, 'i')
        with self.assertRaisesRegex(ConfigError, 'No such file'):
            RequestLog(self.path('x'), 1.0, MISSION, 'i')

    def test_a_full_disk_ends_the_log_and_not_the_load(self):
        log = self.log()
        log._file.close()
        log._file = open('/dev/full', 'w', buffering=1, encoding='utf8')
        with self.assertLogs('cosbench.mission', 'ERROR') as logged:
            log.begin(0)
            log.add(Sample('op1', 0, 0, 0, 1, 1))
            log.close()
        self.assertEqual(1, len(logged.output))
        self.assertIn('No space left', logged.output[0])

    def test_a_mission_logs_what_it_counts(self):
        clock = VirtualTime()
        run = ran(wrapped(work(
            operation('containers=c(1);objects=u(1,9)', 'read'),
            'workers="4" runtime="5" config="rate=20"')),
            Recorder(delay=0.3), clock=clock, request_log=self.log())
        head, *lines = self.lines()
        found = tally(run)
        counted = [line for line in lines if line['at'] + line['took'] <= 5]
        self.assertEqual(found.count, len(counted))
        self.assertAlmostEqual(found.intended.total / 10 ** 6, sum(
            line['late'] + line['took'] for line in counted), places=2)
        self.assertEqual(run.report(0)['used']['operations'], len(lines))
