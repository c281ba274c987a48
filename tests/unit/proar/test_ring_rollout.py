# SPDX-License-Identifier: Apache-2.0
"""A ring that reaches proxies and nodes in any order: no read misses a write.

Real proxies and object-servers, each with the ring that it has by now; time
and rounds of questions are the test's. ``SEEDS=300`` plays as many orders,
``FIRST_SEED=N SEEDS=1`` repeats one.
"""

import os
import random
from array import array

from swift.common.ring import Ring, RingData

from swift_lightsync.proar.core.oplog import State, place_of
from swift_lightsync.proar.log.segment import (
    logs_path,
    numbers,
    open_segment,
    segment_path,
)
from swift_lightsync.proar.proxy.role_nodes import Roles
from swift_lightsync.proar.vouching.rounds import Asker, Rounds
from tests.unit.proar.logs import entries_of
from tests.unit.proar.proxy_world import VouchedCase
from tests.unit.sync.fixtures import node, wait_for

FIRST = int(os.environ.get('FIRST_SEED', 0))
SEEDS = int(os.environ.get('SEEDS', 12))


class PolicyOf(int):
    """The index of a policy, and the ring that one node has of it."""

    object_ring = None


class RolloutCase(VouchedCase):
    """Device 3, a hand-off, takes the place of the primary role."""

    seconds = 3

    def setUp(self):
        super().setUp()
        nodes = [node(number, server.port)
                 for number, server in enumerate(self.servers)]
        rows = [0, 1, 2]
        self.rings = [self.ring(1, rows, nodes)]
        rows[self.slot] = 3
        self.rings.append(self.ring(2, rows, nodes))
        self.of_server = [self.rings[0]] * 4
        self.of_proxy = [self.rings[0]] * 2
        for number, server in enumerate(self.servers):
            server._app._ring = lambda _, number=number: \
                self.of_server[number]
        self.proxies = [self.app, self.proxy()]
        for number, app in enumerate(self.proxies):
            app.__class__ = self.with_ring_of(type(app), number)
        self.rounds = {}
        self.vouch()

    def with_ring_of(self, application, number):
        """:returns: a class of proxies that have one of `of_proxy`"""
        rings = self.of_proxy

        class Proxy(application):
            def get_object_ring(self, policy_idx):
                return self._role_ring or rings[number]
        return Proxy

    def ring(self, version, rows, nodes):
        directory = os.path.join(self.root, 'ring%d' % version)
        os.makedirs(directory)
        RingData([array('H', [row, spare]) for row, spare in zip(
            rows, (3, 2, 1))], nodes, 31, version=version).save(
                os.path.join(directory, 'object.ring.gz'))
        return Ring(directory, ring_name='object', reload_time=10 ** 6)

    def vouch(self, *numbers, how='ask_all'):
        self.at += 1
        if 'rings' not in self.__dict__:
            return
        for number in numbers or range(4):
            if number not in self.rounds:
                policy = PolicyOf(0)
                asker = Asker(self.rings[0].devs[number], policy,
                              self.servers[number].manager(policy))
                self.rounds[number] = policy, Rounds(
                    lambda asker=asker: [asker], self.seconds, self.logger)
            policy, rounds = self.rounds[number]
            policy.object_ring = self.of_server[number]
            with self.patience():
                getattr(rounds, how)()

    def settle(self):
        """As long as promises stand, and a round of questions thereafter."""
        for _ in range(3):
            self.at += int(self.seconds * 1e9)
            self.vouch()

    def by(self, proxy, method, body=None):
        self.app = self.proxies[proxy]
        return self.request(method, body)

    def write(self, proxy, body):
        self.assertEqual(201, self.by(proxy, 'PUT', body).status_int)

    def read(self, proxy):
        return self.by(proxy, 'GET').body

    def converge(self, number):
        """What a converger does: all devices of its ring get the write."""
        here = self.servers[number].direct('GET', self.name)
        if here.status_int != 200:
            return
        # In this order, as the converger: what is read is what is pushed.
        roles = Roles.of(self.of_server[number], self.policy, 'a', 'c',
                         self.name)
        self.note(self.servers[number].device,
                  roles.ids - {number}, self.of_server[number].version)
        for each in roles.nodes:
            self.servers[each['id']].direct('PUT', self.name, here.body, {
                'X-Timestamp': here.headers['X-Backend-Timestamp'],
                'Content-Type': 'text/plain',
                'X-Backend-Replication': 'true'})

    def note(self, device, holders, version):
        """What a converger notes in the log of what all of its ring hold."""
        wait_for(lambda: all(entry.state is not State.INTENT
                             for entry in entries_of(device)),
                 'all outcomes are noted')
        for number in numbers(logs_path(device)):
            segment = open_segment(segment_path(logs_path(device), number))
            with segment.file:
                for eversion, entry in segment.entries():
                    segment.note(
                        place_of(eversion)[1],
                        State.HELD if entry.ring_version > version
                        else State.CONVERGED, entry.holders | holders)


class TestRollout(RolloutCase):

    def test_in_any_state_of_servers_and_proxies_a_read_shows_the_write(self):
        for state in range(16):
            for number in range(4):
                self.of_server[number] = self.rings[state >> number & 1]
            for asked in (False, True):
                if asked:
                    self.settle()
                for order in ((0, 1), (1, 0)):
                    self.of_proxy[:] = self.rings
                    body = ('%d %s %s' % (state, asked, order)).encode()
                    self.write(order[0], body)
                    self.assertEqual(body, self.read(order[1]))
                    self.assertEqual(body, self.read(order[0]))

    def test_with_one_ring_the_new_primary_role_answers_alone_again(self):
        self.write(0, b'one')
        self.of_server[:] = [self.rings[1]] * 4
        self.of_proxy[:] = [self.rings[1]] * 2
        self.converge(self.slot)
        self.settle()
        self.assertEqual(b'one', self.read(0))
        before = self.logger.counters['proar.asked_all.GET']
        self.write(1, b'two')
        self.assertEqual(b'two', self.read(0))
        self.assertEqual(before, self.logger.counters['proar.asked_all.GET'])

    def test_a_write_that_the_new_primary_role_lacks_is_not_missed(self):
        """It was filled by a replicator; then the old one takes a write."""
        self.write(0, b'one')
        stamp = self.servers[self.slot].direct(
            'HEAD', self.name).headers['X-Backend-Timestamp']
        self.servers[3].direct('PUT', self.name, b'one', {
            'X-Timestamp': stamp, 'Content-Type': 'text/plain'})
        self.write(0, b'two')
        self.converge(self.slot)
        self.of_server[:] = [self.rings[1]] * 4
        self.of_proxy[:] = [self.rings[1]] * 2
        self.settle()
        self.assertEqual(b'two', self.read(0))

    def test_any_order_of_events(self):
        for seed in range(FIRST, FIRST + SEEDS):
            with self.subTest(seed=seed):
                self.play(random.Random(seed))

    def play(self, chance):
        self.renew_deadline()
        self.of_server[:] = [self.rings[0]] * 4
        self.of_proxy[:] = [self.rings[0]] * 2
        self.settle()
        self.write(0, b'first')
        written = b'first'
        for number in range(25):
            kind = chance.choice(('server', 'proxy', 'write', 'read', 'read',
                                  'vouch', 'look', 'time', 'converge'))
            if kind == 'server':
                self.of_server[chance.randrange(4)] = self.rings[1]
            elif kind == 'proxy':
                self.of_proxy[chance.randrange(2)] = self.rings[1]
            elif kind == 'write':
                written = b'%d' % number
                self.write(chance.randrange(2), written)
            elif kind == 'read':
                self.assertEqual(written, self.read(chance.randrange(2)))
            elif kind == 'vouch':
                self.vouch(chance.randrange(4))
            elif kind == 'look':
                self.vouch(chance.randrange(4), how='ask_those_needed')
            elif kind == 'time':
                self.at += int(chance.random() * 2 * self.seconds * 1e9)
            else:
                self.converge(chance.randrange(4))
        for proxy in range(2):
            self.assertEqual(written, self.read(proxy))
