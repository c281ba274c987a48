# SPDX-License-Identifier: Apache-2.0
"""PROAR §IV-C, Algorithm 2: replication convergence."""

import io
import os
import random

from swift_lightsync.proar.core.push_message import decode_push
from tests.unit.proar.converging import PEERS, ConvergerTestCase
from tests.unit.sync.fixtures import wait_for


class TestConvergence(ConvergerTestCase):

    def test_iv_c_all_devices_converge_to_the_same_state(self):
        chance = random.Random(0)
        for _ in range(60):
            name = 'obj%d' % chance.randrange(6)
            exists = self.ask('HEAD', name, 0) == 200
            method = chance.choice(
                ('PUT', 'POST', 'DELETE') if exists else ('PUT',))
            self.change(method, name, os.urandom(chance.randrange(1000)),
                        X_Object_Meta_Color=chance.choice(('red', 'blue')))
        self.assertFalse(self.are_same())
        self.run_once()
        self.assertTrue(self.are_same())

    def test_algorithm_2_starts_behind_last_commit(self):
        self.change('PUT', 'obj1')
        self.change('PUT', 'obj2')
        self.run_once()
        for device in PEERS:
            for path in self.files(device):
                os.unlink(os.path.join(self.devices_dir, device, 'objects',
                                       path))
        self.intend('obj1').abandon()
        self.change('PUT', 'obj3')
        pushed = self.pushed_by(self.run_once)
        self.assertEqual({('PUT', 'obj3')}, set(pushed))

    def pushed_by(self, run):
        """:returns: what the peers are asked to do, a list"""
        before = len(self.requests)
        run()
        return self.requests[before:]

    def test_algorithm_2_lines_6_to_19_each_peer_but_itself_is_told(self):
        self.change('PUT', 'obj1')
        self.change('DELETE', 'obj2')
        self.assertEqual(
            sorted(2 * [('PUT', 'obj1'), ('DELETE', 'obj2')]),
            sorted(self.pushed_by(self.run_once)))

    def test_algorithm_2_line_20_last_commit_waits_for_all_peers(self):
        self.answering[PEERS[1]] = False
        self.running()
        self.change('PUT', 'obj1')
        wait_for(lambda: self.holders() == [{1}], 'one has responded')
        self.assertEqual(['HELD'], self.states())
        self.answering[PEERS[1]] = True
        wait_for(lambda: self.holders() == [{1, 2}], 'both have')
        self.assertEqual(['CONVERGED'], self.states())

    def test_iv_c_in_the_end_last_commit_and_last_update_are_the_same(self):
        for number in range(9):
            self.change('PUT', 'obj%d' % (number % 2))
        self.running()
        wait_for(lambda: self.states() == ['CONVERGED'] * 9, 'all converge')

    def test_iv_c_surviving_operations_arrive_in_their_order(self):
        names = ['obj%d' % number for number in range(30)]
        for name in names:
            self.change('PUT', name)
        pushed = [name for _, name in self.pushed_by(self.run_once)]
        for name in names:
            self.assertEqual(2, pushed.count(name))
        first = [pushed.index(name) for name in names]
        self.assertEqual(sorted(first), first)

    # What the peers are asked, and whether they answer

    def setUp(self):
        self.requests = []
        self.answering = dict.fromkeys(PEERS, True)
        super().setUp()

    def served(self, app=None, **options):
        app = app or self.app

        def recorded(env, start_response):
            _, device, rest = env['PATH_INFO'].split('/', 2)
            if not self.answering[device]:
                start_response('503 Unavailable', [('Content-Length', '0')])
                return []
            self.assertEqual(('PROAR', 'push'),
                             (env['REQUEST_METHOD'], rest))
            body = env['wsgi.input'].read(int(env['CONTENT_LENGTH']))
            env['wsgi.input'] = io.BytesIO(body)
            self.requests += [
                (change.method, each.path.rpartition('/')[2])
                for each in decode_push(body) for change in each.changes]
            return app(env, start_response)
        return super().served(recorded, **options)
