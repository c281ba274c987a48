# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""exchange_batch, over real object-servers, and rsync to a real rsyncd."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from unittest import mock

from swift.common.bufferedhttp import BufferedHTTPConnection
from swift.common.concurrency import sleep, spawn
from swift.common.utils import Timestamp, hash_path, lock_path
from swift.obj import replicator, ssync_sender
from swift.obj.diskfile import get_data_dir, get_part_path, read_metadata
from swift.obj.replicator import ObjectReplicator

from swift_lightsync.sync import exchange_batch, exchange_message, verb
from swift_lightsync.sync.exchange_batch import ExchangeBatch
from swift_lightsync.sync.names import POLICY_HEADER
from swift_lightsync.sync.neighbours import device_key, endpoint
from swift_lightsync.sync.replicator import LightSyncReplicator
from tests.unit.sync.cluster import ClusterTestCase
from tests.unit.sync.fixtures import ring_of_parts, wait_for

PARTS = 8
STATS = ('attempted', 'failure', 'hashmatch', 'rsync', 'success',
         'suffix_count', 'suffix_sync')
FILES = ('.data', '.meta', '.ts')
#: Old enough, and not old enough for tombstones to be reclaimed.
NOW = int(time.time()) - 10000


def free_port():
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class RsyncServer:
    """
    A real rsyncd with a module for each node.

    :param directory: for its files
    :param modules: a dict, module name to path
    """

    def __init__(self, directory, modules):
        self.port = free_port()
        conf = os.path.join(directory, 'rsyncd.conf')
        with open(conf, 'w') as lines:
            lines.write('address = 127.0.0.1\nport = %d\nuse chroot = no\n'
                        'reverse lookup = no\nlog file = %s\n'
                        % (self.port, os.path.join(directory, 'rsyncd.log')))
            if os.geteuid() == 0:
                lines.write('uid = root\ngid = root\n')
            for name, path in modules.items():
                lines.write('[%s]\npath = %s\nread only = no\n'
                            % (name, path))
        self.process = subprocess.Popen(
            ['rsync', '--daemon', '--no-detach', '--config', conf],
            stdin=subprocess.DEVNULL)
        wait_for(self._answers, 'rsyncd')

    def _answers(self):
        with contextlib.closing(socket.socket()) as probe:
            return probe.connect_ex(('127.0.0.1', self.port)) == 0

    def stop(self):
        self.process.kill()
        self.process.wait()


class Meddler:
    """
    A node's object-server, with something in the way of some messages.

    :param node: the Node
    :param what: the end of the paths of those messages
    :param before: called before each of them is passed on
    :param reply: a status, or a function of the environment that returns
        the body of a 200; None: as the object-server answers
    """

    def __init__(self, node, what, before=None, reply=None, after=None):
        self.node, self.app = node, node.app
        self.what, self.before, self.reply = what, before, reply
        self.after = after
        self.calls = 0

    def __enter__(self):
        self.node.app = self
        return self

    def __exit__(self, *exc_info):
        self.node.app = self.app

    def __call__(self, env, start_response):
        if not (env['REQUEST_METHOD'] == 'LIGHTSYNC'
                and env['PATH_INFO'].endswith('/' + self.what)):
            return self.app(env, start_response)
        self.calls += 1
        if self.before:
            self.before()
        if self.reply is None:
            answer = self.app(env, start_response)
            if self.after:
                self.after()
            return answer
        if isinstance(self.reply, int):
            start_response('%d As Told' % self.reply,
                           [('Content-Length', '0')])
            return [b'']
        body = self.reply(env)
        start_response('200 OK', [('Content-Length', str(len(body)))])
        return [body]


class ExchangeTestCase(ClusterTestCase):
    """Partitions that two nodes have in common; the first one replicates."""

    hosts = 2

    def setUp(self):
        super().setUp()
        # No power fails here, and most of the time would go to it.
        for name in ('os.fsync', 'os.fdatasync'):
            patcher = mock.patch(name)
            patcher.start()
            self.addCleanup(patcher.stop)
        self.start(self.hosts)

    def set_ring(self, rows=None):
        rows = rows or list(range(self.hosts))
        self.policy.object_ring = ring_of_parts(
            self.root, self.ring_nodes, [rows] * PARTS)

    def replicator(self, number, **conf):
        # A partition's turn for a full exchange would come at random.
        return super().replicator(number, **{
            'full_exchange_interval': '1e9', **conf})

    def put_one(self, number, part, name='o', stamp=1, body=b'x'):
        """:returns: the suffix"""
        return self.put(self.nodes[number].disk, 'sda', name, NOW + stamp,
                        body, partition=part)

    def put_all(self, name='o', stamp=1, numbers=None, parts=range(PARTS)):
        for number in range(self.hosts) if numbers is None else numbers:
            for part in parts:
                self.put_one(number, part, name, stamp)

    def path(self, number, part):
        return get_part_path(
            os.path.join(self.nodes[number].devices_dir, 'sda'),
            self.policy, part)

    def tree(self, number, parts=range(PARTS)):
        """:returns: a dict, path of each file of an object to its contents"""
        found = {}
        for part in parts:
            for top, _, names in os.walk(self.path(number, part)):
                for name in names:
                    if name.endswith(FILES):
                        path = os.path.join(top, name)
                        with open(path, 'rb') as replica:
                            found[os.path.join(str(part), os.path.relpath(
                                path, self.path(number, part)))] = (
                                    replica.read(), read_metadata(path))
        return found

    def hash_all(self, parts=range(PARTS)):
        """
        Hash what is queued: as in stock Swift, superseded files of a
        partition that was exchanged alone go only then.
        """
        for number in range(self.hosts):
            for part in parts:
                if os.path.isdir(self.path(number, part)):
                    self.nodes[number].disk._get_hashes(
                        'sda', part, self.policy)

    def assert_converged(self, parts=range(PARTS), files=None):
        """All hold the same, so many files in all, once it is hashed."""
        self.hash_all(parts)
        first = self.tree(0, parts)
        self.assertTrue(first)
        for number in range(1, self.hosts):
            self.assertEqual(first, self.tree(number, parts))
        if files:
            self.assertEqual(files, len(first))

    def figures(self, stats):
        return {name: getattr(stats, name) for name in STATS}

    def others(self, number=1):
        """What a node was sent but roots, since this was last asked."""
        found = list(self.nodes[number].others)
        self.nodes[number].others.clear()
        return found

    def lines(self, text, number=0):
        return [line for _, line in self.daemons[number].logger.lines
                if text in line]

    def errors(self, number=0):
        return self.daemons[number].logger.at('ERROR')

    @contextlib.contextmanager
    def one_by_one(self):
        with mock.patch.object(ExchangeBatch, 'run'):
            yield

    def make_a_bit_of_everything(self):
        """
        Differences of all kinds.

        :returns: the partitions that differ
        """
        self.put_all('o', 1)
        for number in range(self.hosts):
            self.put_one(number, 7, 'p', 2)
        self.put_one(0, 0, 'o', 2, b'overwritten')
        self.put_one(0, 1, 'new', 1, b'n' * 70000)
        self.nodes[0].disk.get_diskfile(
            'sda', 2, 'a', 'c', 'o', self.policy).delete(Timestamp(NOW + 3))
        self.nodes[0].disk.get_diskfile(
            'sda', 3, 'a', 'c', 'o', self.policy).write_metadata(
                {'X-Timestamp': Timestamp(NOW + 4).internal,
                 'X-Object-Meta-Color': 'r\xc3\xb6t' * 60})
        shutil.rmtree(self.path(1, 4))
        self.put_one(0, 4, 'second', 1)
        return range(5)


class Exchanges:
    """What holds by rsync as by ssync."""

    def test_all_kinds_of_files_travel_in_one_pass(self):
        self.make_a_bit_of_everything()
        stats = self.run_pass(0)
        self.assert_converged()
        self.assertEqual(['suffixes'] + self.after_a_push, self.others())
        self.assertNotIn('REPLICATE', self.requests()[1])
        self.assertEqual(
            {'attempted': PARTS, 'failure': 0, 'success': PARTS,
             'rsync': 5, 'hashmatch': 3, 'suffix_sync': 6,
             'suffix_count': PARTS + 3}, self.figures(stats))
        self.assertEqual([], self.errors())

    def test_superseded_files_are_gone_on_the_peer_after_the_pass(self):
        self.put_all('o', 1)
        self.put_all('o', 2, [0])
        self.run_pass(0)
        names = {os.path.basename(path) for path in self.tree(1)}
        self.assertEqual({Timestamp(NOW + 2).internal + '.data'}, names)

    def test_the_next_pass_is_one_message(self):
        self.make_a_bit_of_everything()
        self.run_pass(0)
        self.others(), self.requests()
        for number in range(self.hosts):
            self.run_pass(number)
        self.assertEqual(([], []), (self.others(0), self.others(1)))
        self.assertEqual([{'LIGHTSYNC': 1}] * 2, self.requests())

    def test_only_the_suffixes_that_differ_travel(self):
        for name in ('o', 'p', 'q'):
            self.put_all(name, 1)
        pushed = {str(part): {self.put_one(0, part, name, 2)}
                  for part, name in ((1, 'o'), (3, 'q'))}
        with self.pushes() as found:
            self.run_pass(0)
        self.assertEqual(pushed, found)
        self.assert_converged()

    def test_newer_files_of_the_peer_stay(self):
        self.put_all('o', 1)
        self.put_all('o', 2, [1])
        before = self.tree(1)
        self.run_pass(0)
        self.assertEqual(before, self.tree(1))
        self.run_pass(1)
        self.assert_converged()

    def test_a_pass_counts_what_one_by_one_would(self):
        self.make_a_bit_of_everything()
        batched = self.figures(self.run_pass(0))
        for part in range(PARTS):
            for number in range(2):
                shutil.rmtree(self.path(number, part))
        self.make_a_bit_of_everything()
        daemon = self.replicator(0)
        daemon.sync_method = getattr(daemon, self.method)
        daemon.rsync_module = self.daemons[0].rsync_module
        with self.one_by_one():
            alone = self.figures(self.run_pass(0, daemon))
        self.assertEqual(alone, batched)

    def test_whatever_the_peer_answers_all_is_exchanged_and_counted_once(
            self):
        self.put_all()
        sound = exchange_message.encode_suffix_hashes
        replies = dict.fromkeys((400, 404, 405, 500, 501, 503, 507, 204))
        replies = {str(status): status for status in replies}
        replies.update({
            'nothing': lambda env: b'',
            'garbage': lambda env: b'LSYN' * 99,
            'html': lambda env: b'<html>It works!</html>',
            'truncated': lambda env: sound({1: {'abc': 'a' * 32}})[:-7],
            'no partition': lambda env: sound({}),
            'others': lambda env: sound({1: {}, 1000: {}}),
            'its own question': lambda env: env['wsgi.input'].read()})
        stamp = 1
        for what in ('suffixes', 'rehash'):
            for name, reply in replies.items():
                if what == 'rehash' and (self.method == 'ssync'
                                         or reply == 204):
                    continue
                stamp += 1
                self.put_all('o', stamp, [0], range(3))
                with self.subTest(what, reply=name), Meddler(
                        self.nodes[1], what, reply=reply) as met:
                    stats = self.run_pass(0)
                    self.assertEqual(1, met.calls)
                    self.assert_converged(files=PARTS)
                    self.assertEqual(
                        (PARTS, PARTS, 0, PARTS),
                        (stats.attempted, stats.success, stats.failure,
                         stats.suffix_count))

    def test_a_peer_that_hangs_costs_one_time_out_until_it_is_back(self):
        self.put_all()
        neighbours = self.daemons[0].neighbours
        neighbours.client.http_timeout = 0.3
        for stamp, what in enumerate(['suffixes'] + self.after_a_push, 2):
            self.put_all('o', stamp, [0])
            with Meddler(self.nodes[1], what, lambda: sleep(1)) as met:
                begin = time.monotonic()
                stats = self.run_pass(0)
                spent = time.monotonic() - begin
            self.assertEqual(1, met.calls)
            self.assertNotIn('REPLICATE', self.requests()[1])
            self.assertEqual((PARTS, 0, PARTS), (
                stats.attempted, stats.success, stats.failure))
            self.assertLess(spent, 2)
            for key in (endpoint, device_key):
                neighbours.failures.contact(key(self.ring_nodes[1]))
            stats = self.run_pass(0)
            self.assert_converged(files=PARTS)
            self.assertEqual((PARTS, PARTS, 0), (
                stats.attempted, stats.success, stats.failure))

    def test_a_peer_without_the_verb_is_not_asked_and_no_error(self):
        self.put_all()
        self.put_all('o', 2, [0])
        self.nodes[1].broken['LIGHTSYNC'] = 405
        stats = self.run_pass(0)
        self.assert_converged(files=PARTS)
        self.assertEqual((PARTS, PARTS, 0), (
            stats.attempted, stats.success, stats.failure))
        self.assertEqual([], self.errors())
        self.assertEqual([], self.others())

    def test_a_peer_that_dies_before_the_exchange_costs_one_time_out(self):
        self.put_all()
        self.put_all('o', 2, [0])
        timed_out = []

        def die():
            self.servers[1].close()
            # Who listens but does not accept is as silent as a dead host.
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            where = self.nodes[1].ip, self.ring_nodes[1]['port']
            listener.bind(where)
            listener.listen(0)
            self.addCleanup(listener.close)
            timed_out.append(listener)

        original = ExchangeBatch.run

        def run(batch):
            if not timed_out:
                die()
            return original(batch)

        daemon = self.daemons[0]
        daemon.conn_timeout = daemon.http_timeout = 0.5
        daemon.neighbours.client.conn_timeout = 0.5
        daemon.neighbours.client.http_timeout = 0.5
        with mock.patch.object(ExchangeBatch, 'run', run):
            begin = time.monotonic()
            stats = self.run_pass(0)
        self.assertEqual(0, stats.success)
        self.assertEqual(PARTS, stats.attempted)
        # One in the batch, and one until the ring closes over it.
        self.assertLess(time.monotonic() - begin, 2.5)

    def test_a_partition_that_the_peer_cannot_read_is_left_to_itself(self):
        self.put_all()
        self.put_all('o', 2, [0])
        hashes = os.path.join(self.path(1, 3), 'hashes.pkl')
        os.makedirs(os.path.join(hashes, 'in the way'))
        stats = self.run_pass(0)
        self.assert_converged([part for part in range(PARTS) if part != 3])
        self.assertEqual(PARTS, stats.attempted)
        self.assertEqual(['suffixes'] + self.after_a_push, self.others())
        shutil.rmtree(hashes)
        self.run_pass(0)
        self.assert_converged(files=PARTS)

    def test_a_partition_that_is_locked_is_left_to_itself(self):
        self.put_all()
        patcher = mock.patch('swift.common.utils.DEFAULT_LOCK_TIMEOUT', 0.3)
        patcher.start()
        self.addCleanup(patcher.stop)
        original = ExchangeBatch._exchange
        for stamp, number in ((2, 1), (3, 0)):
            self.put_all('o', stamp, [0])

            def locked(batch, node, rounds):
                with lock_path(self.path(number, 3)):
                    return original(batch, node, rounds)

            with mock.patch.object(ExchangeBatch, '_exchange', locked):
                stats = self.run_pass(0)
            self.assert_converged(files=PARTS)
            self.assertEqual((PARTS, PARTS, 0), (
                stats.attempted, stats.success, stats.failure))
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

        differing, push = ExchangeBatch._differing, ExchangeBatch._push

        def before_hashing(batch, *args):
            vanish(before_hashing.number)
            return differing(batch, *args)

        def before_push(batch, *args):
            vanish(before_push.number)
            return push(batch, *args)

        def after_push(batch, *args):
            done = push(batch, *args)
            vanish(after_push.number)
            return done

        stamp = 1
        for step, method in ((before_hashing, '_differing'),
                             (before_push, '_push'), (after_push, '_push')):
            for step.number in range(2):
                stamp += 1
                self.put_all('o', stamp, [0])
                with self.subTest(step=step.__name__, number=step.number), \
                        mock.patch.object(ExchangeBatch, method, step):
                    stats = self.run_pass(0)
                    self.assertEqual(PARTS, stats.attempted)
                    self.assert_converged(rest, files=PARTS - 1)
                for _ in range(2):
                    for number in range(2):
                        self.run_pass(number)
                self.assert_converged(rest)

    def test_suffixes_that_vanish_before_they_are_pushed_are_no_error(self):
        self.put_all()
        self.put_all('o', 2, [0])
        gone = self.put_one(0, 2, 'gone', 1)
        push = ExchangeBatch._push

        def vanish(batch, *args):
            shutil.rmtree(os.path.join(self.path(0, 2), gone))
            for part in (5, 6):
                for suffix in os.listdir(self.path(0, part)):
                    if len(suffix) == 3:
                        shutil.rmtree(os.path.join(self.path(0, part),
                                                   suffix))
            return push(batch, *args)

        with mock.patch.object(ExchangeBatch, '_push', vanish):
            stats = self.run_pass(0)
        self.assertEqual(PARTS, stats.attempted)
        self.assert_converged((0, 1, 2, 3, 4, 7), files=6)
        self.put_all('o', 3, [0])
        self.run_pass(0)
        self.assert_converged(files=PARTS)

    def test_a_partition_that_is_a_file_harms_no_other(self):
        self.put_all()
        self.put_all('o', 2, [0])
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

    def test_batches_are_as_large_as_allowed(self):
        self.put_all()
        self.put_all('o', 2, [0])
        with mock.patch.object(exchange_batch, 'PARTITIONS', 3):
            self.run_pass(0)
        self.assert_converged(files=PARTS)
        self.assertEqual(3, self.others().count('suffixes'))
        for name in ('o', 'p', 'q'):
            self.put_all(name, 3, [0])
        self.run_pass(0)
        self.others()
        for name in ('o', 'p', 'q'):
            self.put_all(name, 4, [0])
        # A partition with more than the limit has a batch of its own.
        for limit, batches in ((2, PARTS), (3, PARTS), (6, PARTS // 2),
                               (100, 1)):
            self.put_all('o', 4 + limit, [0])
            with mock.patch.object(exchange_batch, 'SUFFIXES', limit):
                self.run_pass(0)
            with self.subTest(limit=limit):
                self.assertEqual(batches, self.others().count('suffixes'))
                self.assert_converged(files=3 * PARTS)

    def test_a_put_during_the_exchange_is_found_by_the_next_pass(self):
        self.put_all()
        differing, push = ExchangeBatch._differing, ExchangeBatch._push

        def put():
            steps.number += 1
            self.put_all('during', steps.number, [steps.host])
            self.put_all('o', 1000 + steps.number, [steps.host], (1,))

        def before_hashing(batch, *args):
            put()
            return differing(batch, *args)

        def after_hashing(batch, *args):
            found = differing(batch, *args)
            put()
            return found

        def after_push(batch, *args):
            done = push(batch, *args)
            put()
            return done

        def steps():
            for name, method in (('_differing', before_hashing),
                                 ('_differing', after_hashing),
                                 ('_push', after_push)):
                yield method.__name__, mock.patch.object(
                    ExchangeBatch, name, method)
            for what in ['suffixes'] + self.after_a_push:
                yield 'before ' + what, Meddler(self.nodes[1], what, put)
                yield 'after ' + what, Meddler(
                    self.nodes[1], what, after=put)

        steps.number = 0
        for host in range(2):
            steps.host = host
            for name, meddling in steps():
                steps.number += 1
                self.put_all('o', 1000 + steps.number, [0])
                before = steps.number
                with self.subTest(name, host=host):
                    with meddling:
                        self.run_pass(0)
                    self.assertEqual(before + 1, steps.number)
                    newest = Timestamp(NOW + steps.number).internal + '.data'
                    self.run_pass(host)
                    if host:
                        self.run_pass(0)
                    self.assert_converged(files=2 * PARTS)
                    self.assertEqual(PARTS, sum(
                        path.endswith(newest) for path in self.tree(0)))

    def test_a_ring_that_has_changed_stops_the_exchange(self):
        self.put_all()
        self.put_all('o', 2, [0])
        before = self.tree(1)
        self.daemons[0].next_check = 0
        with mock.patch.object(self.policy.object_ring, 'has_changed',
                               return_value=True):
            with self.pushes() as found:
                self.run_pass(0)
        self.assertEqual({}, found)
        self.assertEqual(before, self.tree(1))
        self.run_pass(0)
        self.assert_converged(files=PARTS)


class TestSsync(Exchanges, ExchangeTestCase):
    method = 'ssync'
    #: What the peer is sent after a push.
    after_a_push = []

    @contextlib.contextmanager
    def pushes(self):
        found = {}
        original = ssync_sender.Sender.__init__

        def sender(sender, daemon, node, job, suffixes, *args, **kwargs):
            found.setdefault(job['partition'], set()).update(suffixes)
            original(sender, daemon, node, job, suffixes, *args, **kwargs)

        with mock.patch.object(ssync_sender.Sender, '__init__', sender):
            yield found

    def test_a_partition_that_ssync_cannot_push_is_left_to_itself(self):
        self.put_all()
        self.put_all('o', 2, [0])
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
        self.assertEqual((PARTS, PARTS, 0), (
            stats.attempted, stats.success, stats.failure))
        self.assertEqual(1, self.requests()[1]['REPLICATE'])


class RsyncTestCase(ExchangeTestCase):
    method = 'rsync'
    after_a_push = ['rehash']

    def setUp(self):
        super().setUp()
        self.rsyncd = RsyncServer(self.root, {
            each.ip: each.devices_dir for each in self.nodes})
        self.addCleanup(self.rsyncd.stop)
        for daemon in self.daemons:
            self.by_rsync(daemon)

    def by_rsync(self, daemon):
        daemon.sync_method = daemon.rsync
        daemon.rsync_module = ('rsync://127.0.0.1:%d/{replication_ip}'
                               % self.rsyncd.port)

    @contextlib.contextmanager
    def rsyncs(self, results=(), instead=None):
        """
        The commands of node 0; the first ones end with these results.

        :param instead: called with the command before it is run
        """
        commands, results = [], list(results)
        original = LightSyncReplicator._rsync

        def rsync(daemon, args):
            commands.append(args)
            if instead:
                instead(args)
            if results and isinstance(results[0], Exception):
                raise results.pop(0)
            done = original(daemon, args)
            return results.pop(0) if results else done

        with mock.patch.object(LightSyncReplicator, '_rsync', rsync):
            yield commands

    @contextlib.contextmanager
    def pushes(self):
        found = {}
        with self.rsyncs() as commands:
            yield found
        for command in commands:
            for path in command[1:-1]:
                if path.startswith('/'):
                    part, suffix = path.split('/')[-2:]
                    found.setdefault(part, set()).add(suffix)


class TestRsync(Exchanges, RsyncTestCase):

    def stock_command(self, daemon, part=1):
        """What stock Swift would run for a partition."""
        commands = []
        job = next(job for job in self.jobs(daemon)
                   if job['partition'] == str(part))
        suffixes = [name for name in os.listdir(job['path'])
                    if len(name) == 3]
        with mock.patch('swift.obj.replicator.http_connect'), \
                mock.patch.object(daemon, '_rsync', commands.append):
            ObjectReplicator.rsync(
                daemon, job['nodes'][0], job, suffixes)
        return commands[0]

    def jobs(self, daemon):
        daemon.all_devs_info = set()
        with mock.patch('swift.obj.replicator.whataremyips',
                        return_value=[self.nodes[0].ip]):
            return ObjectReplicator.collect_jobs(daemon)

    def test_the_flags_are_those_of_stock_swift(self):
        self.put_all(numbers=[0])
        for region, conf in (
                (1, {}), (2, {'rsync_compress': 'true'}),
                (1, {'rsync_compress': 'true'}),
                (1, {'rsync_bwlimit': '7m', 'rsync_io_timeout': '11'})):
            self.ring_nodes[1]['region'] = region
            self.set_ring()
            daemon = self.replicator(0, **conf)
            self.by_rsync(daemon)
            shutil.rmtree(os.path.dirname(self.path(1, 0)),
                          ignore_errors=True)
            stock = self.stock_command(daemon)
            with self.subTest(region=region, conf=conf), \
                    self.rsyncs() as commands:
                self.run_pass(0, daemon)
                self.assertEqual(1, len(commands))
                ours = commands[0]
                self.assertEqual(
                    [arg for arg in stock[:-1] if arg[0] != '/']
                    + ['--relative'],
                    [arg for arg in ours[:-1] if arg[0] != '/'])
                self.assertEqual(region == 2, '--compress' in ours)
                self.assertEqual(
                    os.path.dirname(stock[-1]) + '/', ours[-1])
                self.assertEqual(
                    'rsync://127.0.0.1:%d/127.0.0.3/sda/objects/'
                    % self.rsyncd.port, ours[-1])

    def test_the_paths_are_relative_to_the_objects_directory(self):
        suffix = self.put_one(0, 3)
        self.put_one(0, 5)
        self.put_all('p')
        with self.rsyncs() as commands:
            self.run_pass(0)
        objects = os.path.join(self.nodes[0].devices_dir, 'sda',
                               get_data_dir(self.policy))
        self.assertEqual(
            [['%s/./%d/%s' % (objects, part, suffix) for part in (3, 5)]],
            [sorted(arg for arg in command[:-1] if arg[0] == '/')
             for command in commands])
        self.assertEqual(
            sorted(map(str, range(PARTS))), sorted(os.listdir(
                os.path.dirname(self.path(1, 0)))))

    def test_nothing_but_suffixes_is_made_on_the_peer(self):
        self.put_all(numbers=[0])
        self.run_pass(0)
        self.assertEqual(['objects', 'tmp'], sorted(
            set(os.listdir(os.path.join(self.nodes[1].devices_dir, 'sda')))
            | {'tmp'}))
        for part in range(PARTS):
            self.assertEqual(
                self.suffix_names(0, part), self.suffix_names(1, part))
        self.assertEqual({'hashes.pkl', 'hashes.invalid', '.lock',
                          'changed.pkl'},
                         self.node_files(1))

    def suffix_names(self, number, part):
        return {name for name in os.listdir(self.path(number, part))
                if len(name) == 3}

    def node_files(self, number):
        return {name for part in range(PARTS)
                for name in os.listdir(self.path(number, part))
                if len(name) != 3}

    def test_the_peers_own_files_are_not_those_of_the_sender(self):
        self.put_all()
        self.run_pass(0), self.run_pass(1)
        self.put_all('o', 2, [0])
        for name in ('hashes.pkl', 'changed.pkl'):
            for part in range(PARTS):
                self.assertNotEqual(*[os.stat(os.path.join(self.path(
                    number, part), name)).st_ino for number in (0, 1)])
        self.run_pass(0)
        # What the peer says of itself is what is on its disk.
        for part in range(PARTS):
            said = self.nodes[1].disk._get_hashes('sda', part, self.policy)
            os.unlink(os.path.join(self.path(1, part), 'hashes.pkl'))
            self.assertEqual(said[1], self.nodes[1].disk._get_hashes(
                'sda', part, self.policy)[1])

    def test_temporary_files_of_a_sender_do_not_travel(self):
        self.put_all('o', 1, [0])
        tops = [os.path.join(top, '.o.data.A1b2C3') for top, _, names
                in os.walk(self.path(0, 2)) if any(
                    name.endswith('.data') for name in names)]
        for path in tops:
            with open(path, 'w') as temporary:
                temporary.write('half')
        self.run_pass(0)
        found = [name for _, _, names in os.walk(self.nodes[1].devices_dir)
                 for name in names if name.endswith('A1b2C3')]
        self.assertEqual((1, []), (len(tops), found))
        self.assert_converged(files=PARTS)

    def test_a_failed_rsync_is_made_up_for_one_by_one(self):
        self.put_all()
        stamp = 1
        for result in (1, 5, 10, 12, 23, 24, 30, -9,
                       FileNotFoundError('rsync'), OSError(7, 'E2BIG')):
            stamp += 1
            self.put_all('o', stamp, [0])
            with self.subTest(result=result), \
                    self.rsyncs([result]) as commands:
                stats = self.run_pass(0)
                self.assertEqual(1 + PARTS, len(commands))
                self.assert_converged(files=PARTS)
                self.assertEqual(
                    (PARTS, PARTS, 0, PARTS, PARTS, PARTS),
                    (stats.attempted, stats.success, stats.failure,
                     stats.suffix_count, stats.suffix_sync, stats.rsync))

    def test_a_file_that_vanishes_while_it_is_pushed_harms_no_other(self):
        self.put_all()
        self.put_all('o', 2, [0])
        gone = []

        def vanish(args):
            if not gone:
                gone.append(args)
                shutil.rmtree(args[-3])

        with self.rsyncs(instead=vanish):
            stats = self.run_pass(0)
        self.assertEqual(PARTS, stats.attempted)
        part = gone[0][-3].split('/./')[1].split('/')[0]
        rest = [each for each in range(PARTS) if str(each) != part]
        self.assert_converged(rest, files=PARTS - 1)

    def test_an_rsync_that_is_killed_half_way_is_made_up_for(self):
        self.put_all()
        for part in range(PARTS):
            self.put_one(0, part, 'big', 2, b'b' * 300000)
        self.daemons[0].rsync_bwlimit = '400'
        killed = []

        def kill_it(process):
            wait_for(self.temporary_files, 'a transfer under way')
            process.send_signal(signal.SIGKILL)
            self.daemons[0].rsync_bwlimit = '0'

        def spawned(*args, **kwargs):
            process = popen_green(*args, **kwargs)
            if not killed:
                killed.append(spawn(kill_it, process))
            return process

        popen_green = replicator.subprocess.Popen
        with mock.patch('swift.obj.replicator.subprocess.Popen', spawned):
            stats = self.run_pass(0)
        killed[0].wait()
        self.assert_converged(files=2 * PARTS)
        self.assertEqual((PARTS, PARTS, 0), (
            stats.attempted, stats.success, stats.failure))
        wait_for(lambda: not self.temporary_files(), 'rsyncd to clean up')

    def temporary_files(self):
        return [os.path.join(top, name) for top, _, names
                in os.walk(self.nodes[1].devices_dir) for name in names
                if name.startswith('.') and '.data.' in name]

    def test_a_dead_rsyncd_fails_each_partition_once(self):
        self.put_all()
        self.put_all('o', 2, [0])
        self.rsyncd.stop()
        stats = self.run_pass(0)
        self.assertEqual((PARTS, PARTS, 0), (
            stats.attempted, stats.failure, stats.success))


class TestPaths(ExchangeTestCase):
    """What is sent names nothing outside of a device's partitions."""

    hosts = 1

    def send(self, path, body):
        """:returns: the status of LIGHTSYNC to a path"""
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
        self.assertEqual(204, self.send(
            '/sda/rehash', exchange_message.encode_rehash(
                dict.fromkeys(strange, ['abc']))))
        self.assertEqual(before, self.everything())


class TestRehash(ExchangeTestCase):
    """The object-server's side."""

    def test_others_are_answered_during_a_long_rehash(self):
        self.put_all()
        self.put_all('o', 2, [0])
        manager = self.nodes[1].app._diskfile_router[self.policy]
        original, slow = manager._hash_suffix, threading.Event()

        def hash_suffix(*args, **kwargs):
            slow.set()
            time.sleep(0.2)
            return original(*args, **kwargs)

        client = self.daemons[0].neighbours.client
        suffix = hash_path('a', 'c', 'o')[-3:]
        longest = []

        def watch():
            while True:
                begin = time.monotonic()
                sleep(0.01)
                longest.append(time.monotonic() - begin)

        with mock.patch.object(manager, '_hash_suffix', hash_suffix):
            watcher = spawn(watch)
            rehash = spawn(client.rehash, self.ring_nodes[1], self.policy,
                           dict.fromkeys(range(PARTS), [suffix]))
            wait_for(slow.is_set, 'hashing')
            begin = time.monotonic()
            client.suffix_hashes(self.ring_nodes[1], self.policy, [99])
            self.assertLess(time.monotonic() - begin, 0.5)
            self.assertFalse(rehash.dead)
            rehash.wait()
            watcher.kill()
        self.assertLess(max(longest), 0.15)

    def test_what_is_not_hashed_in_time_is_hashed_later(self):
        self.put_all()
        self.put_all('o', 2, [0])
        with mock.patch.object(verb, 'PATIENCE', -1):
            stats = self.run_pass(0)
        self.assertEqual(PARTS, stats.attempted)
        self.run_pass(0)
        self.assert_converged(files=PARTS)


class TestManyNeighbours(RsyncTestCase):
    """Each partition has another clockwise neighbour."""

    hosts = 4

    def set_ring(self, rows=None):
        self.policy.object_ring = ring_of_parts(
            self.root, self.ring_nodes,
            [[0, 1 + part % 3] for part in range(PARTS)])

    def assert_neighbours_converged(self):
        self.hash_all()
        for part in range(PARTS):
            self.assertEqual(
                self.tree(0, [part]), self.tree(1 + part % 3, [part]))

    def test_neighbours_are_dealt_with_at_once_but_not_more_than_allowed(
            self):
        for concurrency in (1, 4):
            running, most = [], []
            original = ExchangeBatch._exchange

            def exchange(batch, node, rounds):
                running.append(node)
                most.append(len(running))
                sleep(0.05)
                try:
                    return original(batch, node, rounds)
                finally:
                    running.remove(node)

            self.put_all('o', 1 + concurrency, [0])
            self.daemons[0].concurrency = concurrency
            with mock.patch.object(ExchangeBatch, '_exchange', exchange):
                stats = self.run_pass(0)
            self.assertEqual(min(concurrency, 3), max(most))
            self.assertEqual((PARTS, PARTS, 0), (
                stats.attempted, stats.success, stats.failure))
            self.assert_neighbours_converged()

    def test_one_neighbour_that_fails_does_not_stop_the_others(self):
        self.put_all('o', 1)
        self.put_all('o', 2, [0])
        with Meddler(self.nodes[2], 'suffixes', reply=500):
            stats = self.run_pass(0)
        self.assertEqual((PARTS, PARTS, 0), (
            stats.attempted, stats.success, stats.failure))
        found = self.requests()
        self.assertEqual([False, False, True, False],
                         ['REPLICATE' in each for each in found])
        self.assert_neighbours_converged()
