# SPDX-License-Identifier: Apache-2.0
"""Clients that write and read until they are stopped."""

import http.client
import random
import time
from functools import partial
from hashlib import md5

from tests.at_work import at_work
from tests.functional.served import ask

VERBS = {'PUT': 45, 'GET': 25, 'GET version': 20, 'DELETE': 10}
LENGTHS = 60, 5000, 70000, 200000
OBJECTS = 6
#: seconds between the requests of one client
PAUSE = 0.3


class Clients:
    """:param world: a World
    :param history: a History
    :param seed: of what is random
    """

    def __init__(self, world, history, seed):
        self.world = world
        self.history = history
        self.seed = seed

    def at_work(self, number):
        """:returns: a context in which so many clients are at work"""
        return at_work([partial(self._work, client)
                        for client in range(number)])

    def _work(self, client, stop):
        chance = random.Random('%s %s' % (self.seed, client))
        for number in range(1 << 60):
            if stop.wait(chance.uniform(0, 2 * PAUSE)):
                return
            site = chance.choice(list(self.world.clusters))
            policy = chance.choice(self.world.policies).name
            name = 'o%d' % chance.randrange(OBJECTS)
            verb, = chance.choices(list(VERBS), VERBS.values())
            if chance.random() < 0.3:
                # Nobody else writes it.
                key = site, 'plain-' + policy, '%s.%d' % (name, client)
                table = self.history.plain
            else:
                key = 'versioned-' + policy, name
                table = self.history.versions
            if verb.startswith('GET'):
                self._read(site, table, key, verb, chance)
            else:
                body = None if verb == 'DELETE' else ('%s %d.%d.%d ' % (
                    key, self.seed, client, number)).encode().ljust(
                        chance.choice(LENGTHS), b'.')
                self._write(site, table, key, verb, body)

    def _ask(self, site, verb, key, body=None, query=''):
        """:returns: an Answer, or None if there is none"""
        address, path, token = self.world.access[site]
        try:
            return ask(address, verb, '%s/%s/%s%s' % (path, *key[-2:], query),
                       body, {'X-Auth-Token': token})
        except (OSError, http.client.HTTPException):
            # A proxy that is not there does not answer at once again.
            time.sleep(PAUSE)
            return None

    def _write(self, site, table, key, verb, body):
        written = body and md5(body, usedforsecurity=False).hexdigest()
        self.history.began(table, key, written)
        answer = self._ask(site, verb, key, body)
        self.history.ended(
            table, key, verb, written, answer and answer.status,
            answer and answer.headers.get('x-object-version-id'))

    def _read(self, site, table, key, verb, chance):
        version, query = None, ''
        if verb == 'GET version':
            version = table is self.history.versions and \
                self.history.a_version(key, chance)
            if not version:
                return
            query = '?version-id=' + version[0]
        answer = self._ask(site, 'GET', key, query=query)
        status = answer and answer.status
        is_right = True
        if status == 200:
            if len(answer.body) != int(answer.headers['content-length']):
                status = 'broke off'
            read = md5(answer.body, usedforsecurity=False).hexdigest()
            is_right = read == version[1] if version else \
                self.history.may_be(table, key, read)
        self.history.read(status, key, is_right)
