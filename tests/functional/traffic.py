# SPDX-License-Identifier: Apache-2.0
"""Clients of a few objects, all at the same time, and what they were told.

An object is two registers: its body, which PUT and DELETE write, and its
metadata, which PUT and POST write; GET and HEAD read both. They are two, for
Swift lets a PUT that was begun before a POST take its metadata from that,
though it ends later. To a deleted object metadata do not matter: a 404 reads
the body only.
"""

import http.client
import random
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import md5

from tests.at_work import at_work
from tests.functional.history import UNKNOWN, Operation, Value
from tests.functional.served import ask

COLOR = 'X-Object-Meta-Color'
#: of the requests of a client, how many of a hundred
VERBS = {'PUT': 30, 'GET': 30, 'HEAD': 15, 'POST': 15, 'DELETE': 10}
#: of bodies, in bytes: within a log's sector, and over several reads
LENGTHS = 60, 60, 60, 200000
#: seconds for which a client leaves a proxy alone that is not there
PAUSE = 0.05

_TAKEN = {'PUT': (201, 202), 'POST': (202, 409), 'DELETE': (204, 404, 409)}


@dataclass(frozen=True)
class Request:
    """A request and its answer.

    :param client: its number
    :param verb: 'GET', 'HEAD', 'PUT', 'POST' or 'DELETE'
    :param name: of the object
    :param body: the hash of the one that was written or read
    :param color: that was written or read; None: neither
    :param status: None, if there was no answer
    :param invoked: seconds, monotonic
    :param answered: seconds, monotonic
    """
    client: int
    verb: str
    name: str
    body: str
    color: str
    status: int
    invoked: float
    answered: float

    def of_body(self):
        """:returns: the Operation on the register of bodies, or None"""
        if self.verb == 'PUT':
            return self._write(self.body)
        if self.verb == 'DELETE':
            return self._write(Value.ABSENT)
        if self.status == 404:
            return self._operation(False, Value.ABSENT)
        if self.verb == 'POST':
            return self.status == 202 and self._operation(
                False, Value.PRESENT)
        return self.status == 200 and self._operation(False, self.body)

    def of_metadata(self):
        """:returns: the Operation on the register of metadata, or None"""
        if self.verb == 'POST' and self.status == 404:
            # A role that had the object may have taken it, until the answer.
            return replace(self._operation(True, self.color), may_fail=True)
        if self.verb in ('PUT', 'POST'):
            return self._write(self.color)
        return self.status == 200 and self.verb != 'DELETE' and \
            self._operation(False, self.color)

    def _write(self, value):
        # One that is older than another write is superseded by that.
        return self._operation(True, value,
                               self.status in _TAKEN[self.verb])

    def _operation(self, is_write, value, is_known=True):
        return Operation(
            is_write, value, self.invoked,
            self.answered if is_known else UNKNOWN,
            '%s %s: %s, client %d' % (self.verb, self.name, self.status,
                                      self.client))


class Traffic:
    """Clients that make requests at random until they are stopped.

    :param address: (IP, port) of the proxy
    :param path: of the container
    :param token: for X-Auth-Token
    :param names: of the objects
    :param seed: of what is random
    """

    def __init__(self, address, path, token, names, seed):
        self.address = address
        self.path = path
        self.token = token
        self.names = list(names)
        self.seed = seed
        self.requests = []
        #: seconds by which the clocks of proxies may differ
        self.skew = 0.0

    @contextmanager
    def from_clients(self, number):
        """Have so many clients at work within the context.

        :raises AssertionError: at its end, if nothing was taken
        """
        before = len(self.requests)
        with at_work([partial(self._work, client)
                      for client in range(number)]):
            yield
        self.seed += 1
        taken = sum(each.status is not None and each.status // 100 == 2
                    for each in self.requests[before:])
        if not taken:
            raise AssertionError('no request was taken: %s' % self.counts())

    def _work(self, client, stop):
        chance = random.Random('%s %s' % (self.seed, client))
        while not stop.is_set():
            verb, = chance.choices(list(VERBS), VERBS.values())
            self.ask(verb, chance.choice(self.names), client,
                     chance.choice(LENGTHS))

    def ask(self, verb, name, client=0, length=LENGTHS[0]):
        """Make one request, and note it.

        :param length: of the body of a PUT, in bytes
        :returns: the Request; None if nobody listens
        """
        headers = {'X-Auth-Token': self.token}
        body = written = color = None
        if verb in ('PUT', 'POST'):
            color = headers[COLOR] = '%d.%d.%d' % (
                self.seed, client, time.monotonic_ns())
        if verb == 'PUT':
            body = color.encode().ljust(length, b'.')
            written = md5(body).hexdigest()
        invoked = time.monotonic()
        status = None
        try:
            answer = ask(self.address, verb, '%s/%s' % (self.path, name),
                         body, headers)
        except ConnectionRefusedError:
            time.sleep(PAUSE)
            return None
        except (OSError, http.client.HTTPException):
            pass
        else:
            status = answer.status
            if status == 200:
                written, color = _read(verb, answer)
                status = written and status
        request = Request(client, verb, name, written, color, status,
                          invoked, time.monotonic())
        self.requests.append(request)
        return request

    def counts(self):
        """:returns: how many requests were answered how, a dict"""
        return dict(Counter((each.verb, each.status)
                            for each in self.requests))

    def show(self, name, until):
        """Print the last requests for an object up to a moment."""
        mine = [each for each in self.requests
                if each.name == name and each.invoked <= until]
        for each in sorted(mine, key=lambda each: each.invoked)[-60:]:
            print(each)

    def histories(self):
        """Yield each object's name, and Operations: a list of those on its
        body, a list of those on its metadata.

        A write may be older than one that was answered before, by what the
        clocks of proxies differ.
        """
        for name in self.names:
            mine = [each for each in self.requests if each.name == name]
            yield (name, *([
                replace(each, invoked=each.invoked
                        - self.skew * each.is_write)
                for each in map(register, mine) if each]
                for register in (Request.of_body, Request.of_metadata)))


def _read(verb, answer):
    """:returns: the hash of the body and the color that were read; None for
        the hash of a body that broke off
    """
    body = answer.headers['etag']
    if verb == 'GET':
        if len(answer.body) != int(answer.headers['content-length']):
            return None, None
        body = md5(answer.body).hexdigest()
    return body, answer.headers.get(COLOR.lower())
