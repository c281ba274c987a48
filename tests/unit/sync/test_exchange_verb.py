# SPDX-License-Identifier: Apache-2.0
"""The object-server's side of an exchange."""

import os
import threading
from math import inf
from unittest import mock

from swift.common.bufferedhttp import BufferedHTTPConnection
from swift.common.concurrency import sleep, spawn
from swift.common.swob import Request
from swift.common.utils import Timestamp, hash_path

from swift_lightsync.sync import missing_message, verb
from swift_lightsync.sync.names import POLICY_HEADER
from swift_lightsync.sync.wire import exchange_message
from tests.unit.sync.exchanges import PARTS, ExchangeTestCase
from tests.unit.sync.fixtures import DEADLINE, wait_for

OFFER = missing_message.line_of('a' * 32, {'ts_data': Timestamp(1)})


class Ticking:
    """A greenthread that ticks for as long as the hub runs."""

    def __init__(self, case):
        self.ticked = threading.Event()
        case.addCleanup(spawn(self._tick).kill)

    def _tick(self):
        while True:
            self.ticked.set()
            sleep()

    def wait(self):
        """In a thread of a pool: wait for the next tick."""
        self.ticked.clear()
        if not self.ticked.wait(DEADLINE):
            raise AssertionError('the hub does not run')


class TestPaths(ExchangeTestCase):
    """What is sent names nothing outside of a device's partitions."""

    hosts = 1

    def send(self, path, body):
        """Return the status of LIGHTSYNC to a path."""
        where = self.ring_nodes[0]['replication_ip'], \
            self.ring_nodes[0]['replication_port']
        conn = BufferedHTTPConnection('%s:%d' % where)
        try:
            conn.putrequest('LIGHTSYNC', path)
            conn.putheader('Content-Length', str(len(body)))
            conn.putheader(POLICY_HEADER, '0')
            conn.endheaders(body)
            return conn.getresponse().status
        finally:
            conn.close()

    def everything(self):
        return sorted(os.path.join(top, name) for top, _, names
                      in os.walk(self.root) for name in names + [''])

    def test_a_device_cannot_be_another_directory(self):
        outside = os.path.join(self.root, 'objects', '1', 'abc')
        os.makedirs(outside)
        before = self.everything()
        for body, what in (
                (exchange_message.encode_suffixes([1]), 'suffixes'),
                (missing_message.encode_offer({1: [OFFER]}), 'missing'),
                (exchange_message.encode_rehash({1: ['abc']}), 'rehash')):
            for device in ('..', '.', '%2e%2e', '%2E', 'sda%2f..',
                           '..%2fn0', 'sda%00', 'nope'):
                with self.subTest(what, device=device):
                    self.assertIn(self.send(
                        '/%s/%s' % (device, what), body), (400, 507))
            for path in ('/sda/../n0/%s', '/sda/%s/..', '/sda/./%s',
                         '//%s', '/sda/%s/1', '/%s'):
                with self.subTest(what, path=path):
                    self.assertIn(self.send(path % what, body), (400, 507))
        self.assertEqual(before, self.everything())

    def test_partitions_that_are_not_there_stay_so(self):
        self.put_one(0, 1)
        before = self.everything()
        strange = [0, 5, 2 ** 32 - 1]
        self.assertEqual(200, self.send(
            '/sda/suffixes', exchange_message.encode_suffixes(strange)))
        self.assertEqual(200, self.send(
            '/sda/missing', missing_message.encode_offer(
                dict.fromkeys(strange, [OFFER]))))
        self.assertEqual(204, self.send(
            '/sda/rehash', exchange_message.encode_rehash(
                dict.fromkeys(strange, ['abc']))))
        self.assertEqual(before, self.everything())


class TestMissing(ExchangeTestCase):

    hosts = 1

    def test_what_is_no_offer_is_a_400_that_says_why_or_a_413(self):
        sound = missing_message.encode_offer({1: [OFFER]})
        for body, reason in (
                (b'', 'must be 14 to'), (b'x' * 30, 'magic is'),
                (sound[:-1] + b'?', 'CRC-32'),
                (missing_message.encode_wanted({}), 'kind is 7'),
                (missing_message.encode_offer({1: [b'../x 1']}),
                 'offers no object'),
                (missing_message.encode_offer(
                    {1: [OFFER] * (missing_message.MAX_OBJECTS + 1)}),
                 'more than 8192 objects')):
            with self.subTest(reason=reason):
                response = self.request(body)
                self.assertEqual(400, response.status_int)
                self.assertIn(reason, response.body.decode())
        self.assertEqual(413, self.request(
            b'x' * (missing_message.MAX_OFFER_BYTES + 1)).status_int)

    def request(self, body):
        request = Request.blank(
            '/sda/missing', {'REQUEST_METHOD': 'LIGHTSYNC'},
            headers={POLICY_HEADER: '0'}, body=body)
        return request.get_response(self.nodes[0].app)

    def test_others_are_answered_while_many_objects_are_looked_up(self):
        manager = self.nodes[0].app._diskfile_router[self.policy]
        original = manager.get_diskfile_from_hash

        ticking = Ticking(self)

        def slow(*args, **kwargs):
            ticking.wait()
            return original(*args, **kwargs)

        with mock.patch.object(manager, 'get_diskfile_from_hash',
                               side_effect=slow) as looked_up:
            client = self.daemons[0].neighbours.client
            client.missing(self.ring_nodes[0], self.policy,
                           {1: [OFFER] * 200})
        self.assertEqual(200, looked_up.call_count)


class TestRehash(ExchangeTestCase):
    """The object-server's side."""

    def test_others_are_answered_during_a_long_rehash(self):
        self.put_newer()
        manager = self.nodes[1].app._diskfile_router[self.policy]
        original, slow = manager._hash_suffix, threading.Event()
        answered, ticking = threading.Event(), Ticking(self)

        def hash_suffix(*args, **kwargs):
            slow.set()
            ticking.wait()
            answered.wait(DEADLINE)
            return original(*args, **kwargs)

        client = self.daemons[0].neighbours.client
        suffix = hash_path('a', 'c', 'o')[-3:]
        with mock.patch.object(manager, '_hash_suffix', hash_suffix):
            rehash = spawn(client.rehash, self.ring_nodes[1], self.policy,
                           dict.fromkeys(range(PARTS), [suffix]))
            wait_for(slow.is_set, 'hashing')
            client.suffix_hashes(self.ring_nodes[1], self.policy, [99])
            self.assertFalse(rehash.dead)
            answered.set()
            rehash.wait()

    def test_what_is_not_hashed_in_time_is_hashed_later(self):
        self.put_newer()
        with mock.patch.object(
                verb, '_deadline', lambda request:
                -inf if request.path.endswith('rehash') else inf):
            stats = self.run_pass(0)
        self.assertEqual(PARTS, stats.attempted)
        self.run_pass(0)
        self.assert_converged(files=PARTS)
