# SPDX-License-Identifier: Apache-2.0
"""What is sent to another site, and what its answers mean."""

from dataclasses import replace
from unittest import mock

from swift_lightsync.versioning.core import shipping
from swift_lightsync.versioning.core.row_data import Kind
from swift_lightsync.versioning.core.shipping import MAX_HEAD, Group, Offered
from swift_lightsync.versioning.core.signature import ANSWER_HEADER
from swift_lightsync.versioning.core.stamp import TICKS
from swift_lightsync.versioning.core.version import Vector
from swift_lightsync.versioning.sites import receiver as receiver_module
from swift_lightsync.versioning.sites.outgoing import Truncated
from swift_lightsync.versioning.sites.peer_client import (
    PeerClient,
    PeerDown,
    PeerRefused,
)
from tests.unit.sync.fixtures import served
from tests.unit.versioning.receiver_case import BODY, ReceiverCase
from tests.unit.versioning.sites_world import ACCOUNT, CONTAINER


class TestClient(ReceiverCase):
    """What a propagator takes for an answer."""

    def client(self, port=None):
        propagator = self.paris.propagator()
        client = propagator.peer_tasks[0].client
        self.assertEqual('rome', client.peer.name)
        if port:
            endpoint = replace(client.peer.endpoints[0], port=port)
            client.peer = replace(client.peer, endpoints=(endpoint,))
        return client

    def ask(self, client):
        return client.offer([Group(ACCOUNT, CONTAINER, (Offered(
            'o', self.version.id, 'paris', Kind.DATA),))]).lacking

    def ship(self, client, data=BODY, shipment=None):
        shipment = shipment or self.shipment()
        frame = shipping.encoded(shipment.to_frame().to_json())
        return client.ship([frame], data, shipment.length).results

    def test_an_answer_of_the_peer_is_taken(self):
        self.assertEqual((0,), self.ask(self.client()))

    def test_forged_answers_are_none(self):
        def forge(status, body, mac):
            def app(env, start_response):
                env['wsgi.input'].read()
                start_response('%d X' % status, [(ANSWER_HEADER, mac)])
                return [body]
            return app
        for status, body, mac in (
                (200, b'{"lacking":[]}', ''), (200, b'{"lacking":[]}', 'x'),
                (201, b'{}', 'ü'), (503, b'<html>', ''),
                (200, b'x' * (MAX_HEAD + 100), '')):
            with served(forge(status, body, mac)) as port:
                with self.assertRaises(PeerDown):
                    self.ask(self.client(port))

    def test_an_answer_tells_of_each_shipment(self):
        client = self.client()
        with mock.patch.object(shipping, 'results',
                               lambda *found: shipping.encoded(
                                   {'results': []})):
            with self.assertRaises(PeerDown):
                self.ship(client)

    def test_what_a_peer_refuses_is_told_with_its_reason(self):
        ahead = replace(self.version.id,
                        ticks=self.version.id.ticks + 100 * TICKS)
        result, = self.ship(self.client(), shipment=self.shipment(self.entry(
            id=ahead, vector=Vector({'paris': ahead}))))
        self.assertEqual(409, result.status)
        self.assertIn('ahead', result.error)
        with mock.patch.object(receiver_module, 'MAX_REQUESTS', 0):
            with self.assertRaises(PeerRefused) as caught:
                self.ship(self.client())
        self.assertEqual(429, caught.exception.status)

    def test_data_of_another_length_is_not_sent_whole(self):
        for data in ([], [BODY[:-1]], [BODY, b'x'], BODY[:-1], BODY + b'x'):
            with self.assertRaises((Truncated, PeerDown)):
                self.ship(self.client(), data)
        self.assertEqual({}, self.rome.data)

    def test_the_next_endpoint_is_asked_if_one_is_down(self):
        for _ in range(8):
            client = self.client()
            endpoint, = client.peer.endpoints
            client.peer = replace(client.peer, endpoints=(
                replace(endpoint, port=1), endpoint))
            self.assertEqual((0,), self.ask(client))

    def test_who_does_not_answer_is_down(self):
        client = self.client(port=1)
        with self.assertRaises(PeerDown) as caught:
            self.ask(client)
        self.assertIn('127.0.0.1:1', str(caught.exception))
        self.assertIsInstance(client, PeerClient)

    def test_connections_are_kept(self):
        client = self.client()
        with mock.patch.object(client, '_connect',
                               side_effect=client._connect) as connect:
            for _ in range(5):
                self.ask(client)
            self.ship(client)
            self.ask(client)
        self.assertEqual(1, connect.call_count)

    def test_a_connection_that_died_is_replaced(self):
        client = self.client()
        self.ask(client)
        self.rome.go_away()
        self.rome.listen()
        self.assertTrue(client._idle)
        self.assertEqual([201], [each.status for each in self.ship(client)])
        self.assertEqual(1, len(self.rome.puts))

    def test_a_new_connection_that_breaks_is_not_replaced(self):
        client = self.client()
        self.rome.go_away()
        for _ in range(2):
            with self.assertRaises(PeerDown):
                self.ask(client)

    def test_what_can_be_sent_once_only_gets_a_new_connection(self):
        client = self.client()
        self.ask(client)
        self.rome.go_away()
        self.rome.listen()
        self.assertEqual([201], [
            each.status for each in self.ship(client, iter([BODY]))])
