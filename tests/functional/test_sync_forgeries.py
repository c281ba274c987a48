# SPDX-License-Identifier: Apache-2.0
"""What a process on the replication network can do that speaks the verb."""

import http.client
import json
import logging
import os
import random
import socket
import time
import unittest
from glob import glob
from tempfile import TemporaryDirectory

from swift_lightsync.sync.core.failure_table import (
    ERROR_SUPPRESSION_LIMIT,
    MAX_ROWS,
)
from swift_lightsync.sync.core.shared_set import SharedSet
from swift_lightsync.sync.failure_store import FailureStore
from swift_lightsync.sync.wire import exchange_message
from swift_lightsync.sync.wire.sync_message import encode_roots
from tests.functional.clusters import R3, SyncCase, play_round

ROOT = '0123456789abcdef0123456789abcdef'
WHAT = ('roots', 'suffixes', 'rehash', 'notice', '', 'x', 'roots/1', '%00',
        '..')
#: What an object-server may say to what is no sync message.
REFUSALS = {400, 404, 405, 408, 411, 412, 413, 507}


class TestForgeries(SyncCase):
    fields = {'nodes': 4, 'policies': (R3,)}
    names = ['o-%d' % number for number in range(60)]

    def setUp(self):
        super().setUp()
        self.random = random.Random(self.id())
        self.pids = self.servers()
        self.acknowledged.put_everywhere(self.names)
        self.converge(1)

    def servers(self):
        return [self.cluster.pids(node, 'replication-server')
                for node in self.cluster.spec.node_numbers()]

    def endpoint(self, node):
        """:returns: the IP and port of a node's replication server"""
        return (self.cluster.node_ip(node),
                self.cluster.spec.port('replication-server', node))

    def send(self, node, what, body, headers=(), device=None):
        """:returns: the status that a node answers a message with"""
        connection = http.client.HTTPConnection(
            *self.endpoint(node), timeout=120)
        try:
            connection.request(
                'LIGHTSYNC', '/%s/%s' % (device or 'n%dd1' % node, what),
                body, dict(headers))
            answer = connection.getresponse()
            answer.read()
            return answer.status
        finally:
            connection.close()

    def messages(self):
        """:returns: valid messages, as (what, bytes)"""
        partitions = SharedSet((0, 'n1d1', number) for number in range(32))
        return [
            ('roots', encode_roots(partitions, (ROOT,) * 32, with_list=True)),
            ('roots', encode_roots(partitions, (ROOT,), with_list=False)),
            ('suffixes', exchange_message.encode_suffixes(range(32))),
            ('rehash', exchange_message.encode_rehash(
                {number: ['000', 'abc', 'fff'] for number in range(32)})),
            ('notice', json.dumps({
                'version': 1, 'reporter': self.endpoint(1),
                'failed': self.endpoint(2)}).encode())]

    def assert_unharmed(self):
        """The servers are the same, and a quorum write takes one round."""
        self.assertEqual(self.pids, self.servers())
        for path in glob(os.path.join(self.cluster.layout.logs,
                                      'replication-server.*')):
            with open(path) as log:
                self.assertNotIn('Traceback', log.read())
        self.acknowledged.put_quorums(self.names)
        _, log = self.converge(1)
        self.assertNotIn('Closing the replica rings', log)
        self.assertNotIn('No answer', log)

    def test_forged_notices_close_no_ring(self):
        nodes = self.cluster.spec.node_numbers()
        for receiver in nodes:
            for reporter in nodes:
                for failed in nodes:
                    for device in ([], ['n%dd1' % failed]):
                        # More often than the error suppression limit.
                        for _ in range(3):
                            self.assertEqual(204, self.send(
                                receiver, 'notice', json.dumps({
                                    'version': 1,
                                    'reporter': self.endpoint(reporter),
                                    'failed': [*self.endpoint(failed),
                                               *device]})))
        self.assert_unharmed()

    def test_many_notices_about_strangers_do_not_drown_the_table(self):
        for number in range(400):
            self.assertEqual(204, self.send(1, 'notice', json.dumps({
                'version': 1, 'reporter': ['10.0.0.%d' % number, 1],
                'failed': ['10.1.0.%d' % number, 6200, 'd' * 255]})))
        self.assert_unharmed()

    def test_forged_senders_close_no_ring(self):
        what, body = self.messages()[0]
        for node in self.cluster.spec.node_numbers():
            for sender in ['%s:%d' % self.endpoint(other) for other in
                           self.cluster.spec.node_numbers()] + [
                               '', ':', '::1', 'x' * 5000 + ':1', '1:99999']:
                for _ in range(3):
                    self.assertEqual(200, self.send(node, what, body, {
                        'X-Backend-Lightsync-Sender': sender}))
        self.assert_unharmed()

    def test_garbage_is_refused(self):
        for node in self.cluster.spec.node_numbers():
            for what in WHAT:
                for size in (0, 1, 30, 3000, 100000):
                    self.assertIn(self.send(
                        node, what, self.random.randbytes(size)), REFUSALS)
            for device in ('nowhere', '..', 'n9d1', '%2e%2e'):
                for what, body in self.messages():
                    # A message about roots names its devices itself.
                    self.assertIn(self.send(node, what, body, device=device),
                                  REFUSALS | ({200} if what == 'roots'
                                              else set()))
        self.assert_unharmed()

    def test_messages_that_were_tampered_with_are_refused(self):
        for what, body in self.messages():
            for number in range(40):
                damaged = bytearray(body[:self.random.randrange(
                    1, len(body) + 1)])
                damaged[self.random.randrange(len(damaged))] ^= (
                    1 << self.random.randrange(8))
                # A damaged notice can be a notice, of somebody else.
                self.assertIn(self.send(1 + number % 4, what, bytes(damaged)),
                              REFUSALS | ({204} if what == 'notice'
                                          else set()), damaged)
            for other in {'roots', 'suffixes', 'rehash', 'notice'} - {what}:
                self.assertEqual(400, self.send(1, other, body))
        self.assert_unharmed()

    def test_requests_that_never_end_hold_nobody_up(self):
        held = []
        for node in self.cluster.spec.node_numbers():
            for length in (b'50', b'5505048', b'99999999999', b'-1', b'x',
                           b'1e3'):
                connection = socket.create_connection(self.endpoint(node))
                self.addCleanup(connection.close)
                connection.sendall(
                    b'LIGHTSYNC /n%dd1/roots HTTP/1.1\r\nHost: x\r\n'
                    b'Content-Length: %s\r\n\r\nLSYN' % (node, length))
                held.append(connection)
        self.assert_unharmed()

    def test_roots_of_others_only_cost_a_comparison(self):
        for node in self.cluster.spec.node_numbers():
            for what, body in self.messages():
                self.assertIn(self.send(node, what, body), (200, 204))
        before = [self.objects.on_device(device)
                  for device in self.objects.devices()]
        play_round(self.cluster)
        self.assertEqual(before, [self.objects.on_device(device)
                                  for device in self.objects.devices()])
        self.assert_unharmed()


class TestFullTable(unittest.TestCase):
    """A failure table that strangers have filled."""

    def test_the_processes_of_a_node_go_on_sharing_it(self):
        directory = self.enterContext(TemporaryDirectory(prefix='ls-'))
        conf = {'recon_cache_path': directory}
        logger = logging.getLogger(self.id())
        server, replicator = (FailureStore(conf, logger) for _ in range(2))
        # As if they had come one by one, which takes long.
        for number in range(MAX_ROWS):
            name = '%0255d' % number
            server.table.reports[(name, 1), (name, 1, name)] = time.time()
            server.table.hints[name, 1, name] = time.time()
        with self.assertNoLogs(logger):
            server.report((name, 1), (name, 2, name))
            replicator.record(('10.0.0.1', 6203), ERROR_SUPPRESSION_LIMIT)
            self.assertTrue(FailureStore(conf, logger).is_reported(
                (name, 1), (name, 2, name)))
