# SPDX-License-Identifier: Apache-2.0
"""The controller's end of the line to one driver process."""

import asyncio
import json
import secrets
import time
from dataclasses import dataclass
from typing import Annotated

import aiohttp

from cosbench.driver.signature import SIGNATURE, check_answer, request_fields
from cosbench.tasks import within
from swift_lightsync.common.records import Between, RecordError, read_value
from swift_lightsync.common.signing import SignatureError

#: Bytes of an answer, at most.
MAX_ANSWER = 64 * 2 ** 20
#: Seconds between two tries to reach a driver that does not answer.
PAUSE = 0.2
#: Round trips of which the fastest measures the clocks.
TRIPS = 5
#: Unix seconds that a clock can show.
_Time = Annotated[float, Between(0, 1e12)]


class NoAnswer(Exception):
    """No answer, or one that is not the driver's."""


class DriverLost(Exception):
    """A driver that gave no answer, or none to what was asked."""


class RequestDenied(Exception):
    """An answer that is not 2xx: what the driver refuses, and why."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class Offset:
    """How another's clock stands, from the fastest of some round trips."""

    #: Seconds that it is ahead; off by half the round trip at most.
    seconds: float
    round_trip: float


class Driver:
    """A driver process, as the controller speaks to it.

    :param address: an ``Address``
    :param secret: bytes
    :param session: an ``aiohttp.ClientSession``
    :param timeout: seconds without an answer after which it is lost
    """

    def __init__(self, address, secret, session, timeout):
        self.address = address
        self.timeout = timeout
        self._secret = secret
        self._session = session
        #: Of the process that answered last.
        self.cpu_seconds = None
        self.offset = None
        #: How its process ended; '': it may answer again.
        self.end_reason = ''

    async def ask(self, method, target, body=None, seconds=None):
        """One request.

        :param target: path and query
        :param body: a dict for JSON, or None
        :param seconds: to wait for the answer
        :returns: the answer's dict
        :raises NoAnswer, RequestDenied:
        """
        data = b'' if body is None else json.dumps(body).encode()
        nonce = secrets.token_hex(16)
        fields = request_fields(self._secret, method, target, data,
                                time.time(), nonce)
        try:
            status, answer = await within(
                seconds or self.timeout,
                self._exchange(method, target, data, nonce, fields))
        except asyncio.TimeoutError:
            raise NoAnswer('no answer') from None
        except (aiohttp.ClientError, OSError, ValueError, RecursionError,
                SignatureError) as err:
            raise NoAnswer(str(err) or type(err).__name__) from err
        if status >= 300:
            raise RequestDenied(status, str(answer.get('error')))
        self.cpu_seconds = answer.get('cpu_seconds')
        return answer

    async def _exchange(self, method, target, data, nonce, fields):
        async with self._session.request(
                method, self.address.url + target, data=data,
                headers=fields, allow_redirects=False) as response:
            body = await response.content.read(MAX_ANSWER + 1)
            while len(body) <= MAX_ANSWER:
                more = await response.content.read(MAX_ANSWER + 1)
                if not more:
                    break
                body += more
            if len(body) > MAX_ANSWER:
                raise ValueError('an answer of more than %d bytes'
                                 % MAX_ANSWER)
            check_answer(self._secret, response.status, nonce, body,
                         response.headers.get(SIGNATURE))
            answer = json.loads(body)
            if not isinstance(answer, dict):
                raise ValueError('the answer is no JSON object')
            return response.status, answer

    async def insist(self, method, target, body=None, wait=0.0):
        """Ask again and again until the driver answers or counts as lost.

        It is lost at once if it is known that it has ended. What is asked
        must do no harm when it is done twice.

        :param wait: seconds that the driver may take before it answers
        :raises DriverLost, RequestDenied:
        """
        end = time.monotonic() + self.timeout + wait
        while True:
            left = end - time.monotonic()
            try:
                return await self.ask(method, target, body, max(0.05, left))
            except NoAnswer as err:
                if self.end_reason:
                    raise DriverLost('driver %s: %s' % (
                        self.address.name, self.end_reason)) from err
                if time.monotonic() + PAUSE >= end:
                    raise DriverLost(
                        'driver %s did not answer for %g s: %s' % (
                            self.address.name, self.timeout, err)) from err
            await asyncio.sleep(PAUSE)

    async def measure(self):
        """Measure the driver's clock, whatever it shows.

        :returns: the ``Offset``, and what the driver said last
        :raises DriverLost, RequestDenied:
        """
        best = None
        for _ in range(TRIPS):
            sent, clock = time.time(), time.monotonic()
            status = await self.insist('GET', '/v1/status')
            trip = time.monotonic() - clock
            try:
                shown = read_value(_Time, status.get('time'), 'status.time')
            except RecordError as err:
                raise DriverLost('driver %s: %s' % (
                    self.address.name, err)) from err
            if best is None or trip < best.round_trip:
                best = Offset(shown - (sent + trip / 2), trip)
        self.offset = best
        return best, status
