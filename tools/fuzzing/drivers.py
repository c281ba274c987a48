# SPDX-License-Identifier: Apache-2.0
"""The requests and answers between COSBench's controller and drivers.

A driver reads what a controller posts as its port does, but runs nothing; a
controller reads answers as it does while a work runs. All of them are signed
properly, except where the signature is what is fuzzed.
"""

import asyncio
import io
import json
import time
from contextlib import asynccontextmanager
from types import SimpleNamespace
from unittest import mock

from cosbench import adaptors
from cosbench.controller import driver_client
from cosbench.controller.core.plan import Address
from cosbench.controller.driver_share import DriverShare
from cosbench.controller.measured import Measured
from cosbench.driver import mission_service, signature, signed_server
from cosbench.driver.signature import REQUEST_FIELDS, request_fields
from cosbench.engine.core.mission import Mission, MissionState
from cosbench.workload.inheritance import Adaptors
from swift_lightsync.common.signing import SignatureError
from tools.fuzzing.mutate import JSON, edit_text
from tools.fuzzing.results import TALLIES, TIMELINES
from tools.fuzzing.target import Target, as_json
from tools.fuzzing.workloads import WORKLOADS

SECRET = b's' * 32
NOW, METHOD, TARGET = 1800000000, 'POST', '/v1/missions?a=b'
LONGEST = 1 << 16


class Refusal(Exception):
    """An answer that says what is wrong."""


# Signatures

def signed_requests():
    """Yield the fields of requests, a line each, and their bodies."""
    for body in (b'', b'{"a": 1}\n'):
        for moment in (NOW - 300, NOW, NOW + 300):
            fields = request_fields(SECRET, METHOD, TARGET, body, moment,
                                    '%032x' % moment)
            yield b''.join(fields[key].encode() + b'\n'
                           for key in REQUEST_FIELDS) + body


def decode_request(data):
    """Accept it, and see that only who knows the secret can have made it."""
    lines, body = data.split(b'\n', 4), b''
    if len(lines) > 4:
        body = lines.pop()
    fields = {key: line.decode('utf8', 'surrogateescape')
              for key, line in zip(REQUEST_FIELDS, lines)}
    gate = signature.Gate(SECRET)
    gate.check_head(METHOD, TARGET, fields, NOW)
    gate.check_body(fields, body)
    made = request_fields(SECRET, METHOD, TARGET, body,
                          int(fields[REQUEST_FIELDS[0]]),
                          fields[REQUEST_FIELDS[1]])
    assert {**made, REQUEST_FIELDS[0]: ''} == {
        **fields, REQUEST_FIELDS[0]: ''}, 'was not signed so: %r' % (made,)
    try:
        gate.check_head(METHOD, TARGET, fields, NOW)
    except SignatureError:
        return fields
    raise AssertionError('is accepted twice')


# What a driver is asked

class _Request:
    """What the handlers of a driver ask a request for."""

    method, remote = 'POST', '::1'
    path = raw_path = '/v1/missions'

    def __init__(self, body):
        self._body = body
        self.content_length = len(body)
        self.headers = request_fields(SECRET, self.method, self.raw_path,
                                      body, time.time(), '0' * 32)

    async def read(self):
        return self._body


class _Run:
    """A mission that has ended when it is accepted."""

    state, reason = MissionState.COMPLETED, ''

    def __init__(self, mission):
        self.mission = mission

    async def prepare(self):
        """Opens nothing: a document may name any server."""


class _Service(mission_service.Service):

    def _run(self, mission):
        # To look for what is installed takes longer than all else.
        with mock.patch.object(adaptors, 'installed',
                               lambda makes: Adaptors()):
            super()._run(mission)
        return _Run(mission)


def _signed(status, headers, body):
    """Return the header that signs an answer to a request with headers."""
    return {signature.SIGNATURE: signature.answer_signature(
        SECRET, status, headers[signature.NONCE], body)}


async def _post(body):
    gate, request = signature.Gate(SECRET), _Request(body)
    answer = await signed_server.guarded(gate, _Service(gate)._accept)(
        request)
    assert answer.headers == {**answer.headers, **_signed(
        answer.status, request.headers, answer.body)}, 'is not signed'
    return answer.status, json.loads(answer.body)


def decode_mission(data):
    """Post it to a driver.

    :raises Refusal: if the driver refuses it, and says why
    """
    status, found = asyncio.run(_post(data))
    if status >= 400:
        raise Refusal('%d %s' % (status, found['error']))
    mission = Mission.from_json(json.loads(data))
    assert Mission.from_json(mission.to_json()) == mission, \
        'is not read as it was written'
    return found


# What a driver answers

class _Session:
    """An ``aiohttp.ClientSession``: every answer is this one, signed."""

    def __init__(self, body):
        self._body = body

    @asynccontextmanager
    async def request(self, method, url, data, headers, **more):
        stream = io.BytesIO(self._body)

        async def read(size):
            return stream.read(size)
        yield SimpleNamespace(
            status=200, headers=_signed(200, headers, self._body),
            content=SimpleNamespace(read=read))


class _Once(driver_client.Driver):
    """A driver that is asked once."""

    async def insist(self, method, target, body=None, wait=0.0):
        try:
            return await self.ask(method, target, body)
        except driver_client.NoAnswer as err:
            raise driver_client.DriverLost(str(err)) from err


STATUS = {'instance': 'ab', 'time': 2e9, 'cpu_seconds': 8.5, 'pid': 5,
          'missions': {}}
STATES = [{**STATUS, 'reason': reason, 'state': state} for reason, state in (
    ('', 'authing'), ('', 'ready'), ('', 'running'), ('why', 'failed'))]
REPORTS = [None, *({
    'sequence': sequence, 'elapsed': number, 'counted': number,
    'operations': {'op1': TALLIES[-1].to_json()},
    'timeline': TIMELINES[3].to_json(),
    'used': {'operations': 5, 'volume': 9}, 'aborted': 1,
    'late': {'operations': 2, 'failed': 0, 'seconds': 0.5},
    'health': {'cpu_percent_p95': number, 'loop_lag_ms_p99': number}}
    for sequence, number in enumerate((99.5, 3, None)))]


def _asked(ask):
    """Return a function that has a controller read an answer."""
    def decode(data):
        measured, driver = Measured(5), _Once(
            Address('d', 'd', 'http://d'), SECRET, _Session(data), 5)
        share = DriverShare(
            driver, Mission('w1', '<workload/>', 0, 0, 0, 1, 7), measured)
        try:
            asyncio.run(ask(driver, share))
        except driver_client.DriverLost:
            assert share.sequence or not (
                measured.count or measured.timeline.operations), \
                'some of a report was taken'
            raise
        measured.shown([{'id': 'op1'}], 1, 5)
        return share
    return decode


def _answer(name, documents, ask):
    return Target(name, as_json(*documents), _asked(ask),
                  (driver_client.DriverLost, driver_client.RequestDenied),
                  LONGEST, 512, mutations=JSON, buffer=1 << 21)


TARGETS = (
    Target('driver-request', tuple(signed_requests()), decode_request,
           (SignatureError,), LONGEST, mutations=(edit_text,)),
    Target('mission', as_json(*(Mission(
        'w1-s1-0', each.replace('filewrite', 'read'), 0, 0, 0, 1, 1 << 60,
        driver, number, elapsed=2.5 * number, operations=left, volume=left
    ).to_json() for number, (each, driver, left) in enumerate(zip(
        WORKLOADS, ('', 'driver1', 'd'), (None, 5, 0))))), decode_mission,
           (Refusal,), signed_server.MAX_BODY, 512, mutations=JSON,
           buffer=1 << 21),
    _answer('driver-status', [STATUS],
            lambda driver, share: driver.measure()),
    _answer('driver-state', STATES, lambda driver, share: share.submit()),
    _answer('driver-news', [{**state, 'report': report} for state in STATES
                            for report in REPORTS],
            lambda driver, share: share.news()),
)
