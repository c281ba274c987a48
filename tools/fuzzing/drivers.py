# SPDX-License-Identifier: Apache-2.0
"""
What COSBench's controller and drivers tell each other.

A driver reads what a controller posts as its port does, and runs nothing;
a controller reads answers as it does while a work runs. All of it is signed
as it should be, but where the signature is what is fuzzed.
"""

import asyncio
import json
import time
from contextlib import asynccontextmanager
from unittest import mock

from cosbench import adaptors
from cosbench.controller.core.plan import Address
from cosbench.controller.driver_client import (
    Driver,
    DriverLost,
    NoAnswer,
    RequestDenied,
)
from cosbench.controller.driver_share import DriverShare
from cosbench.controller.measured import Measured
from cosbench.driver.mission_service import Service
from cosbench.driver.signature import (
    NONCE,
    REQUEST_FIELDS,
    SIGNATURE,
    Gate,
    Head,
    answer_signature,
    request_fields,
)
from cosbench.driver.signed_server import MAX_BODY, guarded
from cosbench.engine.core.mission import Mission
from cosbench.engine.core.mission_states import MissionState
from cosbench.workload.inheritance import Adaptors
from swift_lightsync.common.signing import SignatureError
from tools.fuzzing.mutate import JSON, edit_text
from tools.fuzzing.results import make_tally, make_timeline
from tools.fuzzing.target import Target
from tools.fuzzing.workloads import make_workload_text

SECRET = b's' * 32
NOW, METHOD, TARGET = 1800000000, 'POST', '/v1/missions?a=b'
MISSIONS = '/v1/missions'
LONGEST = 1 << 16


class Refusal(Exception):
    """An answer that says what is wrong."""


class _Loop:
    """An event loop, made when it is needed."""

    def __init__(self):
        self._loop = None

    def run(self, coroutine):
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(coroutine)


LOOP = _Loop()


# Signatures

def make_request(rng):
    body = rng.randbytes(rng.randrange(20))
    fields = request_fields(SECRET, METHOD, TARGET, body,
                            NOW + rng.randint(-300, 300),
                            '%032x' % rng.getrandbits(128))
    return '\n'.join(fields[key] for key in REQUEST_FIELDS).encode() \
        + b'\n' + body


def decode_request(data):
    """Accept it only if who knows the secret has made it."""
    lines, body = data.split(b'\n', 4), b''
    if len(lines) > 4:
        body = lines.pop()
    fields = {key: line.decode('utf8', 'surrogateescape')
              for key, line in zip(REQUEST_FIELDS, lines)}
    gate, head = Gate(SECRET), Head(METHOD, TARGET, fields)
    gate.check_head(head, NOW)
    gate.check_body(head, body)
    made = request_fields(SECRET, METHOD, TARGET, body,
                          int(fields[REQUEST_FIELDS[0]]),
                          fields[REQUEST_FIELDS[1]])
    if {**made, REQUEST_FIELDS[0]: ''} != {**fields, REQUEST_FIELDS[0]: ''}:
        raise AssertionError('was not signed so: %r' % (made,))
    try:
        gate.check_head(head, NOW)
    except SignatureError:
        return fields
    raise AssertionError('is accepted twice')


# What a driver is asked

class _Request:
    """What the handlers of a driver ask a request for."""

    method, path, raw_path, remote = 'POST', MISSIONS, MISSIONS, '::1'

    def __init__(self, body):
        self._body = body
        self.content_length = len(body)
        self.headers = request_fields(SECRET, self.method, self.raw_path,
                                      body, time.time(), '0' * 32)

    async def read(self):
        return self._body


def make_mission(rng):
    return json.dumps(Mission(
        'w1-s1-%d' % rng.randrange(9),
        make_workload_text(rng).replace('filewrite', 'read'), 0, 0, 0, 1,
        rng.getrandbits(60), rng.choice(('', 'driver1')),
        rng.randrange(2), elapsed=rng.choice((0, 2.5)),
        operations=rng.choice((None, 5)),
        volume=rng.choice((None, 0))).to_json()).encode()


class _Run:
    """A mission that has ended when it is accepted."""

    state = MissionState.COMPLETED
    reason = ''

    def __init__(self, mission):
        self.mission = mission

    async def prepare(self):
        """Opens nothing: a document may name any server."""


class _Service(Service):

    def _run(self, mission):
        # To look for what is installed takes longer than all else.
        with mock.patch.object(adaptors, 'installed', Adaptors):
            super()._run(mission)
        return _Run(mission)


async def _post(body):
    gate = Gate(SECRET)
    request = _Request(body)
    answer = await guarded(gate, _Service(gate)._accept)(request)
    if answer.headers[SIGNATURE] != answer_signature(
            SECRET, answer.status, request.headers[NONCE], answer.body):
        raise AssertionError('the answer is not signed')
    return answer.status, json.loads(answer.body)


def decode_mission(data):
    """
    Post it to a driver.

    :raises Refusal: if the driver refuses it, and says why
    """
    status, found = LOOP.run(_post(data))
    if status >= 400:
        raise Refusal('%d %s' % (status, found['error']))
    mission = Mission.from_json(json.loads(data))
    if Mission.from_json(mission.to_json()) != mission:
        raise AssertionError('is not read as it was written')
    return found


# What a driver answers

class _Session:
    """An ``aiohttp.ClientSession``: every answer is this one, signed."""

    def __init__(self, body):
        self._body = body

    @asynccontextmanager
    async def request(self, method, url, data, headers, **more):
        yield _Answer(self._body, headers[NONCE])


class _Answer:

    status = 200

    def __init__(self, body, nonce):
        self._body = body
        self.headers = {SIGNATURE: answer_signature(
            SECRET, self.status, nonce, body)}
        self.content = self

    async def read(self, size):
        body, self._body = self._body[:size], self._body[size:]
        return body


class _Once(Driver):
    """A driver that is asked once."""

    async def insist(self, method, target, body=None, wait=0.0):
        try:
            return await self.ask(method, target, body)
        except NoAnswer as err:
            raise DriverLost(str(err)) from err


def make_status(rng):
    return {'instance': 'ab', 'time': rng.uniform(0, 2e9),
            'cpu_seconds': rng.uniform(0, 9), 'pid': 5, 'missions': {}}


def make_state(rng):
    return {**make_status(rng), 'reason': rng.choice(('', 'why')),
            'state': rng.choice(('authing', 'ready', 'running', 'failed'))}


def make_news(rng):
    number = rng.choice((None, 99.5, 3))
    report = {
        'sequence': rng.randrange(4), 'elapsed': number, 'counted': number,
        'operations': {'op1': make_tally(rng).to_json()},
        'timeline': make_timeline(rng, (5,)).to_json(),
        'used': {'operations': 5, 'volume': 9}, 'aborted': rng.randrange(2),
        'late': {'operations': rng.randrange(3), 'failed': 0,
                 'seconds': rng.random()},
        'health': {'cpu_percent_p95': number, 'loop_lag_ms_p99': number}}
    return {**make_state(rng), 'report': rng.choice((report, report, None))}


def _asked(ask):
    """:returns: a function of an answer: what a controller makes of it"""
    def decode(data):
        driver = _Once(Address('d', 'd', 'http://d'), SECRET, _Session(data),
                       5)
        measured = Measured(5)
        share = DriverShare(
            driver, Mission('w1', '<workload/>', 0, 0, 0, 1, 7), measured)
        try:
            LOOP.run(ask(driver, share))
        except DriverLost:
            if not share.sequence and (
                    measured.count or measured.timeline.operations):
                raise AssertionError('some of a report was taken') from None
            raise
        measured.shown([{'id': 'op1'}], 1, 5)
        return share
    return decode


def _answer(name, make, ask, **more):
    return Target(
        name, lambda rng: json.dumps(make(rng)).encode(), _asked(ask),
        (DriverLost, RequestDenied), LONGEST, 512, mutations=JSON,
        buffer=1 << 21, **more)


TARGETS = (
    Target('driver-request', make_request, decode_request, (SignatureError,),
           LONGEST, 64, mutations=(edit_text,)),
    Target('mission', make_mission, decode_mission, (Refusal,), MAX_BODY, 512,
           mutations=JSON, buffer=1 << 21),
    _answer('driver-status', make_status,
            lambda driver, share: driver.measure()),
    _answer('driver-state', make_state,
            lambda driver, share: share.submit()),
    _answer('driver-news', make_news, lambda driver, share: share.news()),
)
