# SPDX-License-Identifier: Apache-2.0
"""The controller against what claims to be a driver."""

import asyncio
import itertools
import json
import time
import unittest
from types import SimpleNamespace
from unittest import mock

from cosbench.controller import driver_client
from cosbench.controller.core.plan import Address
from cosbench.controller.driver_client import (
    Driver,
    DriverLost,
    NoAnswer,
    RequestDenied,
)
from cosbench.controller.driver_share import DriverShare
from cosbench.controller.local import session
from cosbench.controller.measured import Measured
from cosbench.driver.signature import NONCE, SIGNATURE, answer_signature
from cosbench.engine.core.mission import Mission
from tests.unit.cosbench.adaptors.servers import listening, read_head
from tests.unit.cosbench.processes import DEADLINE, KEY

GOOD = {'instance': 'i', 'time': 0.0, 'cpu_seconds': 1.0}


def response(body, nonce, status=200, key=KEY, more=''):
    signature = answer_signature(key, status, nonce, body)
    return ('HTTP/1.1 %d X\r\n%s: %s\r\n%sContent-Length: %d\r\n\r\n' % (
        status, SIGNATURE, signature, more, len(body))).encode() + body


def good(nonce):
    return response(json.dumps(GOOD).encode(), nonce)


def asked(answer, act, timeout=DEADLINE):
    """Have a driver's controller speak to a server that is none.

    :param answer: a function of a request's nonce that returns bytes, after
        which the connection is closed, or None to say nothing
    :param act: a coroutine function of the ``Driver``
    :param timeout: seconds after which the driver is lost
    :returns: (what it returned, how often the server was asked)
    """
    nonces = []

    async def serve(reader, writer):
        head = await read_head(reader)
        if head is None:
            return
        nonces.append(head[2][NONCE.lower()])
        found = answer(nonces[-1])
        if found is None:
            await reader.read()
        else:
            writer.write(found)
            await writer.drain()

    async def run():
        async with listening(serve) as port, session() as http:
            driver = Driver(Address('d', 'd', 'http://127.0.0.1:%d' % port),
                            KEY, http, timeout)
            return await act(driver), len(nonces)
    return asyncio.run(run())


async def status(driver):
    return await driver.ask('GET', '/v1/status')


class TestAsk(unittest.TestCase):

    def test_a_signed_answer_is_taken(self):
        self.assertEqual((GOOD, 1), asked(good, status))

    def test_what_is_not_the_answer_of_the_driver_is_none(self):
        body = json.dumps(GOOD).encode()
        for answer in (
                lambda nonce: response(body, nonce, key=b'another secret..'),
                lambda nonce: response(body, 'f' * 32),
                lambda nonce: good(nonce).replace(b'1.0', b'2.0'),
                lambda nonce: good(nonce).replace(b' 200 ', b' 201 '),
                lambda nonce: response(b'no json', nonce),
                lambda nonce: response(b'[]', nonce),
                lambda nonce: response(b'[' * 10 ** 5, nonce),
                lambda nonce: b'HTTP/1.1 200 X\r\nContent-Length: 2\r\n'
                b'\r\n{}',
                lambda nonce: b'not HTTP at all\r\n\r\n',
                lambda nonce: good(nonce)[:-1],
                lambda nonce: b''):
            with self.assertRaises(NoAnswer) as caught:
                asked(answer, status)
            self.assertNotEqual('no answer', str(caught.exception))

    def test_silence_ends_after_the_time_out(self):
        with self.assertRaisesRegex(NoAnswer, '^no answer$'):
            asked(lambda nonce: None, status, 0.5)

    def test_one_that_is_cancelled_never_answers(self):
        """Not even if its answer comes just then: who cancels it waits for
        its end, and what goes on has none.
        """
        async def until_it_is_too_late(driver):
            for turns in itertools.count():
                task = asyncio.ensure_future(status(driver))
                for _ in range(turns):
                    await asyncio.sleep(0)
                if not task.cancel():
                    return task.exception()
                await asyncio.wait([task])
                self.assertTrue(task.cancelled(), turns)
        for answer, kind in (good, type(None)), (lambda _: b'', NoAnswer):
            with self.subTest(kind):
                last, _ = asked(answer, until_it_is_too_late)
                self.assertIsInstance(last, kind)

    def test_a_refusal_is_not_the_end_of_a_driver(self):
        def refuse(nonce):
            return response(b'{"error": "no"}', nonce, 409)
        with self.assertRaisesRegex(RequestDenied, 'no') as caught:
            asked(refuse, status)
        self.assertEqual(409, caught.exception.status)

    def test_no_redirect_is_followed(self):
        def redirect(nonce):
            return response(b'{"error": "there"}', nonce, 307,
                            more='Location: /v1/other\r\n')
        with self.assertRaises(RequestDenied):
            asked(redirect, status)

    def test_an_answer_without_end_is_not_read_to_its_end(self):
        with mock.patch.object(driver_client, 'MAX_ANSWER', 1000), \
                self.assertRaisesRegex(NoAnswer, 'more than 1000 bytes'):
            asked(lambda nonce: response(b' ' * 1001, nonce), status)

    def test_a_driver_is_lost_after_its_timeout_not_before(self):
        now = 0.0

        def answer(nonce):
            nonlocal now
            now += DEADLINE * 0.4
            return b'not HTTP at all\r\n\r\n'

        async def insist(driver):
            with self.assertRaisesRegex(
                    DriverLost, 'driver d did not answer for %g s' % DEADLINE):
                await driver.insist('GET', '/v1/status')
        with mock.patch.object(driver_client, 'time', SimpleNamespace(
                monotonic=lambda: now, time=time.time)):
            _, tries = asked(answer, insist)
        self.assertEqual(3, tries)

    def test_one_whose_fate_is_known_is_not_waited_for(self):
        async def insist(driver):
            # It ends while it is asked.
            with mock.patch.object(driver_client, 'PAUSE', 0.01):
                asked = asyncio.ensure_future(
                    driver.insist('GET', '/v1/status'))
                while not tries:
                    await asyncio.sleep(0.01)
                driver.end_reason = 'its process 7 ended, killed by signal 9'
                with self.assertRaises(DriverLost) as caught:
                    await asked
            return str(caught.exception)
        tries = []
        reason, _ = asked(lambda nonce: tries.append(1) or b'', insist, 3600)
        self.assertEqual('driver d: its process 7 ended, killed by signal 9',
                         reason)

    def test_one_good_answer_is_enough(self):
        answers = [b'', b'junk', None]

        def answer(nonce):
            return answers.pop(0) if len(answers) > 1 else good(nonce)

        async def insist(driver):
            return await driver.insist('GET', '/v1/status')
        self.assertEqual((GOOD, 3), asked(answer, insist))


class TestOffset(unittest.TestCase):

    def test_another_clock_is_measured_and_left_as_it_is(self):
        def ahead(nonce):
            return response(json.dumps({
                **GOOD, 'time': time.time() + 1000}).encode(), nonce)

        async def measure(driver):
            return (await driver.measure())[0]
        offset, tries = asked(ahead, measure)
        self.assertAlmostEqual(1000, offset.seconds,
                               delta=offset.round_trip / 2 + 0.01)
        self.assertGreater(offset.round_trip, 0)
        self.assertEqual(driver_client.TRIPS, tries)

    def test_a_driver_that_shows_no_time_is_lost(self):
        async def measure(driver):
            with self.assertRaisesRegex(DriverLost, 'driver d: status.time'):
                await driver.measure()
        for time_shown in ({}, {'time': 'x'}, {'time': -1},
                           {'time': int('9' * 400)}):
            body = json.dumps(time_shown).encode()
            asked(lambda nonce: response(body, nonce), measure)


def driver_share(driver):
    mission = Mission('m', '', 0, 0, 0, 1, 1)
    return DriverShare(driver, mission, Measured(5))


class TestReports(unittest.TestCase):

    def test_a_state_that_is_none_loses_the_driver(self):
        for wrong in {}, {'state': 'x', 'reason': ''}, {'state': []}:
            driver = mock.Mock(insist=mock.AsyncMock(return_value=wrong),
                               offset=None)
            share = driver_share(driver)
            for act in (share.submit, lambda: share.start(0.0), share.news):
                with self.assertRaisesRegex(DriverLost, 'no answer'):
                    asyncio.run(act())

    def test_what_is_no_report_loses_the_driver(self):
        report = {'sequence': 1, 'elapsed': 1.0, 'counted': 1.0,
                  'operations': {}, 'timeline': {'interval': 5,
                                                 'operations': {}},
                  'used': {'operations': 1, 'volume': 1}, 'aborted': 0,
                  'late': {'operations': 0, 'failed': 0, 'seconds': 0.0},
                  'health': {'cpu_percent_p95': 1.0,
                             'loop_lag_ms_p99': None}}

        def news(found, state='running'):
            share = driver_share(mock.Mock())
            share._understand({'state': state, 'reason': '',
                               'report': found}, share._take)
            return share.sequence
        self.assertEqual(1, news(report))
        self.assertEqual(0, news(None))
        for change in ({'sequence': 'x'}, {'operations': []},
                       {'operations': {'op1': {}}}, {'timeline': None},
                       {'timeline': {'interval': 7, 'operations': {}}},
                       {'used': {}}, {'aborted': 'x'}, {'late': {}},
                       {'health': None},
                       {'health': {'cpu_percent_p95': 'x'}},
                       {'counted': -1}, {'resent': -1}, {'resent': None}):
            with self.subTest(change), self.assertRaises(DriverLost):
                news({**report, **change})
        for key in report:
            if key != 'elapsed':
                less = {each: report[each] for each in report if each != key}
                with self.subTest(key), self.assertRaises(DriverLost):
                    news(less)
        for found in ('x', [], 7):
            with self.subTest(found), self.assertRaises(DriverLost):
                news(found)
        with self.assertRaises(DriverLost):
            news(None, 'no such state')
