# SPDX-License-Identifier: Apache-2.0
"""sync_client: comparisons that take more than one message."""

import io
import itertools
from unittest import mock

from swift_lightsync.object_server import ObjectController
from swift_lightsync.sync.changed_file import ABSENT
from swift_lightsync.sync.connections import Refusal
from swift_lightsync.sync.core import merkle
from swift_lightsync.sync.core.conversation import SharedTold
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.wire.known_sets import KnownSets
from swift_lightsync.sync.wire.sync_message import (
    SyncMessageError,
    Verdict,
    decode_roots,
    encode_reply,
)
from tests.unit.sync.fixtures import node, served
from tests.unit.sync.peers import SENDER, ClientTestCase, answer, reply
from tests.unit.sync.verbs import EMPTY, OTHER

UNKNOWN = encode_reply(Verdict.UNKNOWN_SET)


class TestManyPartitions(ClientTestCase):
    """Comparisons that take more than one message."""

    roots = dict.fromkeys(range(0, 400, 2), EMPTY)

    def setUp(self):
        super().setUp()
        self.sent = []

    def server(self, app):
        """The node of a server that keeps what it is sent."""
        def recorded(env, start_response):
            body = env['wsgi.input'].read(int(env['CONTENT_LENGTH']))
            self.sent.append(decode_roots(body))
            env['wsgi.input'] = io.BytesIO(body)
            return app(env, start_response)

        return node(1, self.stack.enter_context(served(recorded)))

    def controller(self):
        return ObjectController(self.conf, logger=self.logger)

    def messages(self):
        """Of each message since the last call: partitions, slices, form."""
        found = [(message.count, len(message.roots),
                  'list' if message.partitions is not None else 'digest')
                 for message in self.sent]
        self.sent.clear()
        return found

    def test_the_digest_goes_first_and_the_list_when_it_is_unknown(self):
        peer = self.server(self.controller())
        self.assertEqual(set(), self.ask(peer, self.roots))
        self.assertEqual([(200, 1, 'digest'), (200, 1, 'list')],
                         self.messages())
        for _ in range(2):
            self.ask(peer, self.roots)
            self.assertEqual([(200, 1, 'digest')], self.messages())

    def test_a_short_set_is_sent_at_once(self):
        peer = self.server(self.controller())
        for size in (1, 16):
            self.ask(peer, dict.fromkeys(range(size), EMPTY))
            self.assertEqual([(size, size, 'list')], self.messages())

    def test_differences_are_narrowed_down_over_a_real_server(self):
        peer = self.server(self.controller())
        manager = self.manager()
        self.put(manager, 'sda', 'o', partition=14)
        changed = {0: OTHER, 14: EMPTY, 398: OTHER}
        self.assertEqual({0, 14, 398},
                         self.ask(peer, {**self.roots, **changed}))
        self.assertEqual(
            [(200, 1, 'digest'), (200, 1, 'list'), (200, 13, 'digest'),
             (24, 24, 'list')], self.messages())
        _, hashes = manager._get_hashes('sda', 14, self.policy)
        changed = {0: EMPTY, 14: merkle.root(hashes), 398: EMPTY}
        self.assertEqual(set(),
                         self.ask(peer, {**self.roots, **changed}))

    def test_a_server_of_several_processes_is_told_process_by_process(self):
        turns = itertools.cycle([self.controller() for _ in range(3)])
        peer = self.server(lambda *args: next(turns)(*args))
        for _ in range(4):
            self.assertEqual({200},
                             self.ask(peer, {**self.roots, 200: OTHER}))

    def test_a_peer_that_never_knows_the_set_is_an_error(self):
        with mock.patch.object(KnownSets, 'find', return_value=None):
            peer = self.server(self.controller())
            with self.assertRaisesRegex(SyncMessageError, 'unknown'):
                self.ask(peer, self.roots)
        self.assertEqual(['digest', 'list'],
                         [form for _, _, form in self.messages()])

    def test_a_peer_that_does_not_know_what_was_listed_is_an_error(self):
        with self.assertRaisesRegex(SyncMessageError, 'unknown'):
            self.ask(self.answering(answer(UNKNOWN)))

    def test_a_peer_that_gives_up_half_way(self):
        differs = answer(reply(0))
        for status, expected in ((b'405 X', Answer.UNSUPPORTED),
                                 (b'503 X', Answer.BUSY)):
            with self.assertRaises(Refusal) as caught:
                self.ask(self.answering(differs, answer(b'', status)),
                         self.roots)
            self.assertIs(expected, caught.exception.answer)
        with self.assertRaisesRegex(SyncMessageError, 'slice 14 '):
            self.ask(self.answering(differs, answer(reply(14))),
                     self.roots)

    def test_nothing_is_asked_of_no_partitions(self):
        self.assertEqual(SharedTold(), self.client.ask_shared(
            SENDER, node(1, 1), {}))

    def test_as_many_partitions_as_allowed(self):
        peer = self.server(self.controller())
        with mock.patch.object(Fingerprints, 'get_many',
                               lambda self, device, partitions, *_: (
                                   0, dict.fromkeys(partitions, ABSENT))):
            roots = dict.fromkeys(range(0, 2 ** 32, 2 ** 14), EMPTY)
            self.assertEqual(set(), self.ask(peer, roots))
