# SPDX-License-Identifier: Apache-2.0
"""exchange_batch: peers and partitions in trouble."""

import contextlib
import os
import shutil
import socket
from unittest import mock

from swift.common.concurrency import sleep
from swift.common.utils import hash_path, lock_path
from swift.obj.replicator import ObjectReplicator

from swift_lightsync.sync import missing_message
from swift_lightsync.sync.core.engine.exchanging import Exchanging
from swift_lightsync.sync.exchange_batch import ExchangeBatch
from swift_lightsync.sync.keys import device_key, endpoint
from swift_lightsync.sync.pushing import push_keys
from swift_lightsync.sync.replicator import LightSyncReplicator
from swift_lightsync.sync.wire import exchange_message
from tests.unit.sync.exchanges import (
    PARTS,
    Meddler,
    RsyncTestCase,
    SsyncTestCase,
)


def replies(what):
    """Return what a peer may answer to a message, by its name."""
    found = {str(status): status
             for status in (400, 404, 405, 500, 501, 503, 507, 204)}
    found.update({
        'nothing': lambda env: b'',
        'garbage': lambda env: b'LSYN' * 99,
        'html': lambda env: b'<html>It works!</html>',
        'its own question': lambda env: env['wsgi.input'].read()})
    if what == 'suffixes':
        sound = exchange_message.encode_suffix_hashes
        found.update({
            'truncated': lambda env: sound({1: {'abc': 'a' * 32}})[:-7],
            'no partition': lambda env: sound({}),
            'others': lambda env: sound({1: {}, 1000: {}})})
    elif what == 'missing':
        wanted = missing_message.encode_wanted
        found.update({
            'no progress': lambda env: wanted(dict.fromkeys(
                range(PARTS), (0, []))),
            'no partition': lambda env: wanted({}),
            'others': lambda env: wanted({1000: (0, [])}),
            'more than offered': lambda env: wanted({1: (9, [8])})})
    else:
        # What a rehash is answered with when it went well.
        del found['204']
    return found


class Trouble:
    """What holds by rsync as by ssync."""

    def test_whatever_the_peer_answers_all_is_exchanged_and_counted_once(
            self):
        self.put_all()
        stamp = 1
        for what in ['suffixes'] + self.after_hashes:
            for name, reply in replies(what).items():
                stamp += 1
                self.put_all('o', stamp, [0], range(3))
                with self.subTest(what, reply=name), Meddler(
                        self.nodes[1], what, reply=reply) as met:
                    self.requests()
                    stats = self.run_pass(0)
                    self.assertEqual(1, met.calls)
                    if reply == 503:
                        self.assert_put_off(stats)
                        continue
                    self.assert_converged(files=PARTS)
                    self.assert_stats(stats, attempted=PARTS, success=PARTS,
                                      failure=0, suffix_count=PARTS)

    def assert_put_off(self, stats):
        """A node that is busy is left to a later pass."""
        self.assert_stats(stats, attempted=PARTS, success=PARTS - 3, failure=3)
        self.assertNotIn('REPLICATE', self.requests()[1])
        neighbours = self.daemons[0].neighbours
        self.assertEqual({}, neighbours.failures.table.rows)
        neighbours.postponed.answered(endpoint(self.ring_nodes[1]))

    def test_a_peer_that_hangs_costs_one_time_out_until_it_is_back(self):
        self.put_all()
        neighbours = self.daemons[0].neighbours
        back = []
        self.addCleanup(back.append, None)

        def hang():
            while not back:
                sleep(0.05)
            # Nobody may write once the test's directory is gone.
            raise ConnectionAbortedError()

        for stamp, what in enumerate(['suffixes'] + self.after_hashes, 2):
            self.put_all('o', stamp, [0])
            with Meddler(self.nodes[1], what, hang) as met, \
                    mock.patch.object(neighbours.client.connections,
                                      'http_timeout', 5):
                stats = self.run_pass(0)
            self.assertEqual(1, met.calls)
            self.assertNotIn('REPLICATE', self.requests()[1])
            self.assert_stats(stats, attempted=PARTS, success=0, failure=PARTS)
            for key in (endpoint, device_key):
                neighbours.failures.contact(key(self.ring_nodes[1]))
            stats = self.run_pass(0)
            self.assert_converged(files=PARTS)
            self.assert_stats(stats, attempted=PARTS, success=PARTS, failure=0)

    def test_a_peer_that_dies_before_the_exchange_costs_one_time_out(self):
        self.put_newer()
        timed_out = []
        daemon = self.daemons[0]
        client = daemon.neighbours.client

        def die():
            for each in daemon, client.connections:
                each.conn_timeout = each.http_timeout = 0.5
            self.servers[1].close()
            # Who listens but does not accept is as silent as a dead host.
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            where = self.nodes[1].ip, self.ring_nodes[1]['port']
            listener.bind(where)
            listener.listen(0)
            self.addCleanup(listener.close)
            timed_out.append(listener)

        original = Exchanging.running

        def run(*args):
            if not timed_out:
                die()
            return original(*args)

        with mock.patch.object(Exchanging, 'running', run), \
                mock.patch.object(client.connections, '_connect',
                                  wraps=client.connections._connect
                                  ) as connected:
            stats = self.run_pass(0)
        self.assertEqual(0, stats.success)
        self.assertEqual(PARTS, stats.attempted)
        # For the sync message, and for the exchange.
        self.assertEqual(2, connected.call_count)

    def test_a_partition_that_the_peer_cannot_read_is_left_to_itself(self):
        self.put_newer()
        hashes = os.path.join(self.path(1, 3), 'hashes.pkl')
        os.makedirs(os.path.join(hashes, 'in the way'))
        stats = self.run_pass(0)
        self.assert_converged([part for part in range(PARTS) if part != 3])
        self.assertEqual(PARTS, stats.attempted)
        self.assertEqual(['suffixes'] + self.after_hashes, self.others())
        shutil.rmtree(hashes)
        self.run_pass(0)
        self.assert_converged(files=PARTS)

    def test_a_partition_that_is_locked_is_left_to_itself(self):
        self.put_all()
        self.enterContext(mock.patch(
            'swift.common.utils.DEFAULT_LOCK_TIMEOUT', 0.3))
        original = Exchanging._exchange
        for stamp, number in ((2, 1), (3, 0)):
            self.put_all('o', stamp, [0])

            def locked(*args):
                with lock_path(self.path(number, 3)):
                    return (yield from original(*args))

            with mock.patch.object(Exchanging, '_exchange', locked):
                stats = self.run_pass(0)
            self.assert_converged(files=PARTS)
            self.assert_stats(stats, attempted=PARTS, success=PARTS, failure=0)
            self.assertEqual(1, self.requests()[1].get('REPLICATE', 0) // 2
                             if self.method == 'rsync' else 1)

    def test_a_suffix_that_cannot_be_hashed_does_not_stop_the_others(self):
        self.put_all()
        for stamp, number in ((2, 1), (3, 0)):
            self.put_all('o', stamp, [0])
            for name in range(self.hosts):
                self.put_one(name, 5, 'bad', stamp)
            bad = os.path.join(self.path(number, 5), hash_path(
                'a', 'c', 'bad')[-3:])
            manager = (self.daemons[0]._df_router if not number else
                       self.nodes[1].app._diskfile_router)[self.policy]
            original = manager._hash_suffix

            def hash_suffix(path, **kwargs):
                if path == bad:
                    raise OSError(5, 'Input/output error', path)
                return original(path, **kwargs)

            with mock.patch.object(manager, '_hash_suffix', hash_suffix):
                stats = self.run_pass(0)
            self.assertEqual(PARTS, stats.attempted)
            self.assert_converged(files=PARTS + 1)

    def test_a_partition_that_vanishes_at_any_step_harms_no_other(self):
        rest = [part for part in range(PARTS) if part != 3]
        self.put_all()

        def vanish(number):
            shutil.rmtree(self.path(number, 3), ignore_errors=True)

        differing, push = ExchangeBatch._differing, Exchanging._push

        def before_hashing(batch, *args):
            vanish(before_hashing.number)
            return differing(batch, *args)

        def before_push(batch, *args):
            vanish(before_push.number)
            return push(batch, *args)

        def after_push(batch, *args):
            done = yield from push(batch, *args)
            vanish(after_push.number)
            return done

        stamp = 1
        for step, owner, method in (
                (before_hashing, ExchangeBatch, '_differing'),
                (before_push, Exchanging, '_push'),
                (after_push, Exchanging, '_push')):
            for step.number in range(2):
                stamp += 1
                self.put_all('o', stamp, [0])
                with self.subTest(step=step.__name__, number=step.number), \
                        mock.patch.object(owner, method, step):
                    stats = self.run_pass(0)
                    self.assertEqual(PARTS, stats.attempted)
                    self.assert_converged(rest, files=PARTS - 1)
                for _ in range(2):
                    for number in range(2):
                        self.run_pass(number)
                self.assert_converged(rest)

    def test_suffixes_that_vanish_before_they_are_pushed_are_no_error(self):
        self.put_newer()
        gone = self.put_one(0, 2, 'gone', 1)
        push = Exchanging._push

        def vanish(batch, *args):
            shutil.rmtree(os.path.join(self.path(0, 2), gone))
            for part in (5, 6):
                for suffix in os.listdir(self.path(0, part)):
                    if len(suffix) == 3:
                        shutil.rmtree(os.path.join(self.path(0, part),
                                                   suffix))
            return push(batch, *args)

        with mock.patch.object(Exchanging, '_push', vanish):
            stats = self.run_pass(0)
        self.assertEqual(PARTS, stats.attempted)
        self.assert_converged((0, 1, 2, 3, 4, 7), files=6)
        self.put_all('o', 3, [0])
        self.run_pass(0)
        self.assert_converged(files=PARTS)

    def test_a_partition_that_is_a_file_harms_no_other(self):
        self.put_newer()
        for number, part in ((1, 2), (0, 5)):
            shutil.rmtree(self.path(number, part))
            with open(self.path(number, part), 'w'):
                pass
        stats = self.run_pass(0)
        self.assertFalse(os.path.exists(self.path(0, 5)))
        rest = [part for part in range(PARTS) if part not in (2, 5)]
        self.assert_converged(rest, files=PARTS - 2)
        self.assertLessEqual(stats.attempted, PARTS)
        for _ in range(2):
            for number in (1, 0):
                self.run_pass(number)
        self.assert_converged(files=PARTS)

    def test_a_directory_that_is_no_suffix_harms_no_other(self):
        self.put_all()
        for stray in ('bak', 'ABC', 'x y'):
            self.put_one(0, 4, 'stray-' + stray)
            suffix = hash_path('a', 'c', 'stray-' + stray)[-3:]
            os.rename(os.path.join(self.path(0, 4), suffix),
                      os.path.join(self.path(0, 4), stray))
        for part in range(PARTS):
            # What was there is listed when there are no hashes yet.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.path(0, part), 'hashes.pkl'))
        self.put_all('o', 2, [0])
        rest = [part for part in range(PARTS) if part != 4]
        with mock.patch('traceback.print_exception') as printed:
            stats = self.run_pass(0)
        self.assert_converged(rest, files=PARTS - 1)
        self.assertEqual(PARTS, stats.attempted)
        self.assertFalse(printed.called)
        replicated = self.requests()[1].get('REPLICATE', 0)
        # The one partition alone is exchanged as by stock Swift.
        self.assertLessEqual(replicated, 2)


class TestSsync(Trouble, SsyncTestCase):

    def test_a_partition_that_ssync_cannot_push_is_left_to_itself(self):
        self.put_newer()
        original = ObjectReplicator.ssync
        failed = []

        def ssync(daemon, node, job, suffixes, *args):
            if job['partition'] == '3' and not failed:
                failed.append(job)
                return False, {}
            return original(daemon, node, job, suffixes, *args)

        self.daemons[0].sync_method = lambda *args: ssync(
            self.daemons[0], *args)
        stats = self.run_pass(0)
        self.assertEqual(1, len(failed))
        self.assert_converged(files=PARTS)
        self.assert_stats(stats, attempted=PARTS, success=PARTS, failure=0)
        self.assertEqual(1, self.requests()[1]['REPLICATE'])


class TestRsync(Trouble, RsyncTestCase):

    def test_an_rsync_that_keeps_silent_costs_one_time_out(self):
        self.put_newer()
        daemon = self.daemons[0]
        daemon.rsync_io_timeout = '1'
        with contextlib.closing(socket.socket()) as silent:
            silent.bind(('127.0.0.1', 0))
            silent.listen()
            daemon.rsync_module = ('rsync://127.0.0.1:%d/{replication_ip}'
                                   % silent.getsockname()[1])
            with self.rsyncs() as commands:
                for _ in range(2):
                    stats = self.run_pass(0)
                    self.assert_stats(stats, attempted=PARTS, success=0,
                                      failure=PARTS)
        self.assertEqual(1, len(commands))
        # It still answers, and those that are equal are still equal.
        self.assertFalse(daemon.neighbours.has_failed(self.ring_nodes[1]))
        self.by_rsync(daemon)
        for key in push_keys(self.ring_nodes[1]):
            daemon.neighbours.failures.contact(key)
        self.run_pass(0)
        self.assert_converged(files=PARTS)

    def test_an_rsync_that_fails_at_once_is_tried_ten_times_then_once(self):
        self.put_newer()
        daemon = self.daemons[0]
        with mock.patch.object(LightSyncReplicator, '_rsync',
                               return_value=10) as rsync:
            for _ in range(2):
                self.run_pass(0)
            self.assertEqual(10, rsync.call_count)
            self.run_pass(0)
        self.assertEqual(11, rsync.call_count)
        self.assertIn('Pushing nothing to',
                      str(daemon.logger.at('WARNING')))
