# SPDX-License-Identifier: Apache-2.0
"""A driver process: whom it obeys, what it refuses, when it stops."""

import gzip
import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import unittest
import urllib.request

from cosbench.driver.signature import SIGNATURE, check_answer
from cosbench.driver.signed_server import MAX_BODY
from cosbench.engine.core.mission import Mission
from tests.unit.cosbench.documents import operation, work, wrapped
from tests.unit.cosbench.driver.scripts import wait_for_end
from tests.unit.cosbench.processes import (
    DEADLINE,
    KEY,
    Listener,
    ask,
    ask_driver,
    cosbench,
    signed,
)
from tests.waiting import wait_for

READ = operation('containers=c(1);objects=u(1,9)', 'read')
#: A run that ends only when it is cancelled.
LONG = wrapped(work(READ, 'workers="2" runtime="3600" interval="1"'),
               above='<storage type="mock" config="delay=5"/>')


def mission(document=LONG, **fields):
    return Mission(**{'id': 'm1', 'document': document, 'stage': 0,
                      'work': 0, 'first': 0, 'count': 2, 'seed': 1,
                      **fields}).to_json()


class DriverCase(unittest.TestCase):

    def setUp(self):
        self.driver = Listener(self, 'driver')

    def ask(self, method, target, found=None, **signing):
        return ask_driver(self.driver.url, method, target, found, **signing)

    def state(self, key='m1'):
        return self.ask('GET', '/v1/status')[1]['missions'].get(key)

    def wait_for_state(self, *states):
        wait_for(lambda: self.state() in states, 'the mission is %s'
                 % (states,), DEADLINE)

    def running(self, **fields):
        """Have a mission run."""
        status, found = self.ask('POST', '/v1/missions', mission(**fields))
        self.assertEqual(201, status, found)
        self.wait_for_state('ready')
        self.assertEqual(202, self.ask('POST', '/v1/missions/m1/start',
                                       {'delay': 0})[0])
        self.wait_for_state('running')


class TestSignatures(DriverCase):

    def refused(self, status, method, target, body=b'', fields=None):
        got, answer = ask(self.driver.url, method, target, body, fields)
        self.assertEqual(status, got, answer)
        return answer['error']

    def test_every_request_must_be_signed(self):
        body = json.dumps(mission()).encode()
        for method, target in (
                ('GET', '/v1/status'), ('POST', '/v1/missions'),
                ('POST', '/v1/missions/m1/start'),
                ('GET', '/v1/missions/m1/news'),
                ('POST', '/v1/missions/m1/cancel'),
                ('DELETE', '/v1/missions/m1'), ('POST', '/v1/triggers'),
                ('GET', '/v1/triggers/t1'), ('DELETE', '/v1/triggers/t1'),
                ('GET', '/'),
                ('GET', '/favicon.ico'), ('PUT', '/v1/status')):
            self.refused(401, method, target, body)
            self.refused(401, method, target, body, signed(
                method, target, body, key=b'not the secret here'))
        self.assertIsNone(self.state())

    def test_a_request_is_obeyed_once_and_unaltered(self):
        body = json.dumps(mission()).encode()
        fields = signed('POST', '/v1/missions', body)
        self.refused(401, 'POST', '/v1/missions', body.replace(b'3600', b'1'),
                     signed('POST', '/v1/missions', body))
        self.refused(401, 'GET', '/v1/missions/m1/news?after=1', b'',
                     signed('GET', '/v1/missions/m1/news?after=0'))
        self.assertIsNone(self.state())
        self.assertEqual(201, ask(self.driver.url, 'POST', '/v1/missions',
                                  body, fields)[0])
        self.assertIn('before', self.refused(
            401, 'POST', '/v1/missions', body, fields))

    def connection(self):
        made = http.client.HTTPConnection('127.0.0.1', self.driver.port,
                                          timeout=DEADLINE)
        self.addCleanup(made.close)
        return made

    def test_too_large_a_body_is_refused_with_a_length_and_without(self):
        body = b' ' * (MAX_BODY + 2 ** 16)
        self.refused(413, 'POST', '/v1/missions', body[:MAX_BODY + 1],
                     signed('POST', '/v1/missions', body[:MAX_BODY + 1]))
        connection = self.connection()
        try:
            connection.request(
                'POST', '/v1/missions',
                (body[place:place + 2 ** 16]
                 for place in range(0, len(body), 2 ** 16)),
                signed('POST', '/v1/missions', body), encode_chunked=True)
            self.assertEqual(413, connection.getresponse().status)
        except (BrokenPipeError, ConnectionResetError):
            # It hung up in the middle, which is as good.
            pass
        self.assertEqual(200, self.ask('GET', '/v1/status')[0])

    def test_an_encoding_is_refused_whether_it_is_one_or_not(self):
        plain = json.dumps(mission()).encode()
        for body in (plain, gzip.compress(plain)):
            fields = {**signed('POST', '/v1/missions', body),
                      'Content-Encoding': 'gzip'}
            self.assertIn('Content-Encoding', self.refused(
                400, 'POST', '/v1/missions', body, fields))
            # Its signature has been used.
            self.refused(401, 'POST', '/v1/missions', body, fields)

    def test_nothing_of_a_body_is_waited_for_from_a_stranger(self):
        with socket.create_connection(
                ('127.0.0.1', self.driver.port), DEADLINE) as connection:
            connection.sendall(b'POST /v1/missions HTTP/1.1\r\nHost: x\r\n'
                               b'Content-Length: 1000000\r\n\r\n')
            self.assertIn(b' 401 ', connection.recv(4096))

    def test_answers_are_signed_refusals_too(self):
        for target, status in (('/v1/status', 200), ('/v1/other', 404)):
            nonce = os.urandom(16).hex()
            connection = self.connection()
            connection.request('GET', target, headers=signed(
                'GET', target, nonce=nonce))
            answer = connection.getresponse()
            self.assertEqual(status, answer.status)
            check_answer(KEY, status, nonce, answer.read(),
                         answer.headers[SIGNATURE])


class TestMissions(DriverCase):

    def test_a_mission_starts_once_reports_and_is_forgotten(self):
        self.running()
        self.assertEqual(202, self.ask('POST', '/v1/missions/m1/start',
                                       {'delay': 0})[0])
        self.assertEqual('running', self.state())

        def reported():
            return self.ask('GET', '/v1/missions/m1/news?after=0&state='
                            'running&wait=5')[1]['report']
        report = wait_for(reported, 'a report', DEADLINE)
        self.assertGreater(report['used']['operations'], 0)
        self.assertEqual(409, self.ask('DELETE', '/v1/missions/m1')[0])
        self.ask('POST', '/v1/missions/m1/cancel')
        self.wait_for_state('cancelled')
        self.assertEqual(200, self.ask('DELETE', '/v1/missions/m1')[0])
        self.assertIsNone(self.state())

    def test_the_same_mission_twice_is_one_another_is_refused(self):
        self.assertEqual([201, 200, 409], [
            self.ask('POST', '/v1/missions', mission(seed=seed))[0]
            for seed in (1, 1, 2)])

    def test_what_is_no_mission_is_refused(self):
        for found in ({}, mission(stage=7), mission(document='<x/>'),
                      {**mission(), 'id': '..'}):
            status, answer = self.ask('POST', '/v1/missions', found)
            self.assertEqual(400, status, answer)
        for delay in (-1, 61, 'x', None, True):
            self.ask('POST', '/v1/missions', mission())
            self.assertEqual(400, self.ask(
                'POST', '/v1/missions/m1/start', {'delay': delay})[0])
        self.assertEqual(404, self.ask('GET', '/v1/missions/other/news')[0])
        for body in (b'{', b'\xff', b'[' * 100000):
            self.assertEqual(400, ask(
                self.driver.url, 'POST', '/v1/missions', body,
                signed('POST', '/v1/missions', body))[0])

    def test_files_are_not_read_without_leave(self):
        text = wrapped(work(operation(
            'containers=c(1);files=/etc;fileselection=s', 'filewrite'),
            'workers="2" runtime="1"'))
        status, answer = self.ask('POST', '/v1/missions', mission(text))
        self.assertEqual(400, status)
        self.assertIn('--files', answer['error'])

    def test_a_driver_that_is_told_to_end_ends_its_missions(self):
        self.running()
        self.driver.kill(signal.SIGTERM)
        self.assertEqual(0, self.driver.process.returncode)


class TestProcesses(unittest.TestCase):

    def test_a_secret_that_is_short_or_absent_is_refused(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b'fifteen chars..')
            file.flush()
            for path in (file.name, file.name + 'x'):
                done = cosbench('driver', '--port', 0, '--secret-file', path)
                self.assertEqual(2, done.returncode)
                self.assertIn(path, done.stderr)

    def test_processes_that_die_are_started_again_and_end_with_theirs(self):
        pool = Listener(self, 'driver', '--processes', '2',
                        log=subprocess.DEVNULL)
        found = pool.said()
        self.assertNotEqual(pool.port, found['port'])
        os.kill(found['pid'], signal.SIGKILL)
        wait_for(lambda: len(pool.children) == 2
                 and found['pid'] not in pool.children, 'a new process',
                 DEADLINE)
        left = pool.children
        # However it dies, its processes do not outlive it.
        pool.kill()
        wait_for_end(*left)


class TestMetrics(unittest.TestCase):

    def test_they_are_there_for_anyone_if_that_is_asked_for(self):
        driver = Listener(self, 'driver', '--metrics')
        with urllib.request.urlopen(driver.url + '/metrics',
                                    timeout=DEADLINE) as answer:
            body = answer.read()
        self.assertIn(b'cosbench_driver_missions{state="running"} 0.0\n',
                      body)
        self.assertTrue(body.endswith(b'# EOF\n'))
        driver = Listener(self, 'driver')
        self.assertEqual(401, ask(driver.url, 'GET', '/metrics')[0])
