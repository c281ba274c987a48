# SPDX-License-Identifier: Apache-2.0
"""What the tests of exchanges share: two nodes, rsyncd, a meddler."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from unittest import mock

from swift.common.utils import Timestamp
from swift.obj import ssync_sender
from swift.obj.diskfile import get_part_path, read_metadata

from swift_lightsync.sync.core.engine.exchanging import Exchanging
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
    """A real rsyncd with a module for each node.

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
    """A node's object-server, with something in the way of some messages.

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
    # A partition's turn for a full exchange would come at random.
    daemon_options = {'full_exchange_interval': '1e9'}

    def setUp(self):
        super().setUp()
        # No power fails here, and most of the time would go to it.
        for name in ('os.fsync', 'os.fdatasync'):
            self.enterContext(mock.patch(name))
        self.start(self.hosts)

    def set_ring(self, rows=None):
        rows = rows or list(range(self.hosts))
        self.policy.object_ring = ring_of_parts(
            self.root, self.ring_nodes, [rows] * PARTS)

    def put_one(self, number, part, name='o', stamp=1, body=b'x'):
        """Return the suffix."""
        return self.put(self.nodes[number].disk, 'sda', name, NOW + stamp,
                        body, partition=part)

    def put_all(self, name='o', stamp=1, numbers=None, parts=range(PARTS)):
        for number in range(self.hosts) if numbers is None else numbers:
            for part in parts:
                self.put_one(number, part, name, stamp)

    def put_newer(self):
        """Put an object everywhere, and a newer one of it on node 0."""
        self.put_all()
        self.put_all('o', 2, [0])

    def path(self, number, part):
        return get_part_path(
            os.path.join(self.nodes[number].devices_dir, 'sda'),
            self.policy, part)

    def tree(self, number, parts=range(PARTS)):
        """Return a dict, path of each file of an object to its contents."""
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
        """Hash what is queued: as in stock Swift, superseded files of a
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

    def errors(self, number=0):
        return self.daemons[number].logger.at('ERROR')

    @contextlib.contextmanager
    def one_by_one(self):
        with mock.patch.object(Exchanging, 'running',
                               side_effect=lambda *args: iter(())):
            yield

    def make_a_bit_of_everything(self):
        """Differences of all kinds.

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


class SsyncTestCase(ExchangeTestCase):
    method = 'ssync'
    #: What the peer is sent after its suffix hashes.
    after_hashes = ['rehash']

    @contextlib.contextmanager
    def pushes(self):
        found = {}
        original = ssync_sender.Sender.__init__

        def sender(sender, daemon, node, job, suffixes, *args, **kwargs):
            found.setdefault(job['partition'], set()).update(suffixes)
            original(sender, daemon, node, job, suffixes, *args, **kwargs)

        with mock.patch.object(ssync_sender.Sender, '__init__', sender):
            yield found


class RsyncTestCase(ExchangeTestCase):
    method = 'rsync'
    after_hashes = ['missing', 'rehash']

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
        """The commands of node 0, and what each pushes: tuples of a list of
        arguments and a list of paths. The first ones end with these results.

        :param instead: called with both before it is run
        """
        commands, results = [], list(results)
        original = LightSyncReplicator._rsync

        def rsync(daemon, args):
            commands.append((args, self.listed(args)))
            if instead:
                instead(*commands[-1])
            if results and isinstance(results[0], Exception):
                raise results.pop(0)
            done = original(daemon, args)
            return results.pop(0) if results else done

        with mock.patch.object(LightSyncReplicator, '_rsync', rsync):
            yield commands

    @staticmethod
    def listed(args):
        """Return the paths below objects/ that a command pushes."""
        for arg in args:
            if arg.startswith('--files-from='):
                with open(arg.partition('=')[2]) as paths:
                    return paths.read().split('\0')[:-1]
        return ['/'.join(path.split('/')[-2:]) for path in args[1:-1]
                if path.startswith('/')]

    @contextlib.contextmanager
    def pushes(self):
        found = {}
        with self.rsyncs() as commands:
            yield found
        for _, paths in commands:
            for path in paths:
                part, suffix = path.split('/')[:2]
                found.setdefault(part, set()).add(suffix)
