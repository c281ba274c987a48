# SPDX-License-Identifier: Apache-2.0
"""verb: what an object-server says of its rounds, and hears of neighbours."""

import fcntl
import os
import time
from unittest import mock

from swift.common.concurrency import sleep, spawn

from swift_lightsync.sync import activity, failure_store
from swift_lightsync.sync.activity import Activity
from swift_lightsync.sync.failure_store import FailureStore
from swift_lightsync.sync.wire.notice import Notice
from tests.unit.sync.fixtures import DEADLINE
from tests.unit.sync.verbs import EMPTY, VerbTestCase, message


class TestIdle(VerbTestCase):

    def idle(self, device, **kwargs):
        _, found = self.reply(message({0: EMPTY}, device=device), 1, **kwargs)
        return found.states[0].seconds

    def test_it_is_since_the_rounds_of_each_device_were_played(self):
        played = Activity(self.conf, self.logger)
        for device, age in (('sda', 1000), ('sdb', 5000)):
            played.note_round(device)
            then = time.time() - age
            os.utime(played._path(device), (then, then))
        self.assertIn(self.idle('sda'), range(1000, 1060))
        self.assertIn(self.idle('sdb'), range(5000, 5060))
        played.note_round('sdb')
        self.assertIn(self.idle('sda'), range(1000, 1060))
        self.assertIn(self.idle('sdb'), range(60))

    def test_if_they_never_were_it_is_since_the_server_began(self):
        app = self.controller()
        self.assertIn(self.idle('sda', app=app), range(60))
        with mock.patch.object(activity.time, 'time',
                               return_value=time.time() + 7000):
            self.assertIn(self.idle('sda', app=app), range(7000, 7060))


class TestNotice(VerbTestCase):

    reporter, failed = ('10.0.0.1', 6200), ('10.0.0.2', 6200, 'sda')

    def failures(self):
        """The failure table as the node's replicator sees it."""
        return FailureStore(self.conf, self.logger)

    def notify(self, data, **kwargs):
        return self.request(data, path='/sda/notice', **kwargs)

    def test_it_is_noted_for_all_processes_and_stops_nothing(self):
        response = self.notify(Notice(self.reporter, self.failed).encode())
        self.assertEqual((204, b''), (response.status_int, response.body))
        found = self.failures()
        self.assertTrue(found.is_reported(self.reporter, self.failed))
        self.assertFalse(found.has_failed(self.failed))
        self.assertTrue(found.record(self.failed, 2))

    def test_it_needs_no_policy(self):
        response = self.notify(Notice(self.reporter, self.failed).encode(),
                               X_Backend_Storage_Policy_Index='7')
        self.assertEqual(204, response.status_int)

    def test_what_is_none_is_refused_and_not_noted(self):
        for body, reason in ((b'', 'notice'), (b'{"version": 1}', 'reporter')):
            self.refused(400, body, reason, path='/sda/notice')
        self.refused(413, b' ' * 1025, '1025 bytes, at most 1024',
                     path='/sda/notice')
        self.refused(507, b'x', path='/sdz/notice')
        self.assertFalse(os.path.exists(self.failures().path))

    def test_a_message_of_who_had_failed_lets_the_next_time_out_decide(self):
        self.failures().record(self.reporter, 10)
        self.differing({0: EMPTY}, app=self.controller(),
                       X_Backend_Lightsync_Sender='10.0.0.1:6200')
        found = self.failures()
        self.assertFalse(found.has_failed(self.reporter))
        self.assertEqual({self.reporter}, set(found.rejoined()))
        self.assertTrue(found.record(self.reporter, 2))

    def test_a_sender_that_is_no_node_is_nobody(self):
        self.failures().record(self.reporter, 10)
        for sender in ('', '10.0.0.1', '10.0.0.1:6200/sda', 'x' * 999):
            self.differing({0: EMPTY}, app=self.controller(),
                           X_Backend_Lightsync_Sender=sender)
        self.assertTrue(self.failures().has_failed(self.reporter))

    def test_others_are_answered_while_the_failure_table_is_locked(self):
        self.failures().record(self.failed[:2], 10)
        app, done = self.controller(), []

        def notify():
            self.notify(Notice(self.reporter, ('10.0.0.3', 6200)).encode(),
                        app=app)
            done.append('notice')

        def ask():
            self.differing({0: EMPTY}, app=app,
                           X_Backend_Lightsync_Sender='10.0.0.2:6200')
            done.append('message')

        with mock.patch.object(failure_store, 'LOCK_TIMEOUT', DEADLINE), \
                open(self.failures().path + '.lock', 'w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            tasks = [spawn(notify), spawn(ask)]
            for _ in range(20):
                # Would hang if the hub waited for the lock.
                sleep(0.005)
            self.assertEqual([], done)
        for task in tasks:
            task.wait()
        self.assertEqual(['message', 'notice'], sorted(done))
        found = self.failures()
        self.assertFalse(found.has_failed(self.failed[:2]))
        self.assertTrue(found.is_reported(self.reporter, ('10.0.0.3', 6200)))
