# SPDX-License-Identifier: Apache-2.0
"""A node of files and a node of volumes replicate to each other by ssync."""

import os
import tempfile
from types import SimpleNamespace

import eventlet
from eventlet import wsgi
from swift.common.concurrency import spawn
from swift.common.exceptions import DiskFileDeleted, DiskFileNotExist
from swift.obj import diskfile
from swift.obj.ssync_sender import Sender

from tests.unit.losf.kv_world import (
    DEADLINE,
    LONG,
    PARTITION,
    KVTest,
    bytes_of,
    with_devices,
)
from tests.unit.losf.test_fragments import FragmentTest

setUpModule, tearDownModule = with_devices('d1')


class MixedNodes(KVTest):
    """A server for each manager: that of the files has a disk of its own."""

    stock_class = diskfile.DiskFileManager

    def setUp(self):
        super().setUp()
        root = self.enterContext(tempfile.TemporaryDirectory())
        os.mkdir(os.path.join(root, 'd1'))
        self.stock = self.stock_class(self.conf(devices=root), self.logger)
        self.nodes = {manager: self.serve(manager)
                      for manager in (self.stock, self.manager)}

    def serve(self, manager):
        """Serve a manager's objects, and return its node."""
        controller = self.controller(devices=manager.devices)
        controller._diskfile_router = {self.policy: manager}
        listener = eventlet.listen(('127.0.0.1', 0))
        self.addCleanup(listener.close)
        thread = spawn(wsgi.server, listener, controller, self.logger,
                       log_output=False)
        self.addCleanup(thread.kill)
        return {'replication_ip': '127.0.0.1', 'device': 'd1',
                'replication_port': listener.getsockname()[1]}

    def send(self, source, target, frag_index=None):
        """Have the node of one manager push to that of the other."""
        suffixes = self.suffix_hashes(source)
        daemon = SimpleNamespace(
            _df_router={self.policy: source}, logger=self.logger,
            conn_timeout=DEADLINE, node_timeout=DEADLINE,
            http_timeout=DEADLINE, network_chunk_size=65536)
        done, objects = Sender(daemon, self.nodes[target], {
            'device': 'd1', 'partition': PARTITION, 'policy': self.policy,
            'frag_index': frag_index}, list(suffixes))()
        self.assertTrue(done)
        return objects


class TestObjects(MixedNodes):

    def seen(self, manager, names):
        """Return what a manager gives of objects, and all its hashes."""
        found = {}
        for name in names:
            try:
                with self.diskfile(name=name, manager=manager).open() as df:
                    found[name] = b''.join(df.reader()), df.get_metadata()
            except DiskFileDeleted as err:
                found[name] = err.timestamp.internal
            except DiskFileNotExist:
                found[name] = None
        return found, self.suffix_hashes(manager)

    def test_both_get_what_the_other_has_again_and_again(self):
        names = ['o%d' % number for number in range(8)]
        managers = self.stock, self.manager
        for turn in range(3):
            for number, name in enumerate(names):
                manager = managers[(turn + number) % 2]
                length = (0, 1, 70000, LONG)[number % 4]
                self.write(bytes_of(length, turn), self.now(), name, manager,
                           **{'X-Object-Meta-Turn': 't\u00fcrn %d' % turn})
                other = managers[number % 2]
                if number in (2, 3) and other is manager:
                    self.diskfile(name=name, manager=other).write_metadata({
                        'X-Timestamp': self.now().internal,
                        'X-Object-Meta-Color': 'red'})
                if number > 5:
                    self.diskfile(name=name, manager=other).delete(self.now())
            self.send(*managers)
            self.send(*managers[::-1])
            seen, hashes = self.seen(self.stock, names)
            self.assertEqual((seen, hashes), self.seen(self.manager, names))
            self.assertNotIn(None, seen.values())
            self.assertIsInstance(seen['o7'], str)


class TestFragments(MixedNodes, FragmentTest):

    stock_class = diskfile.ECDiskFileManager

    def check(self, source, target):
        stamp = self.now()
        self.put(1, stamp, manager=source)
        self.assertIn(self.hash(), self.send(source, target, 1))
        df = self.diskfile(manager=target)
        with df.open():
            self.assertEqual(stamp, df.durable_timestamp)
            self.assertEqual('1', df.get_metadata()[
                'X-Object-Sysmeta-Ec-Frag-Index'])
            self.assertEqual(self.fragment(1), b''.join(df.reader()))
        # As the reconstructor does when it has reverted a hand-off.
        df = self.diskfile(manager=source)
        df.purge(stamp, 1)
        with self.assertRaises(DiskFileNotExist):
            df.open()

    def test_a_fragment_of_files_is_sent_to_volumes(self):
        self.check(self.stock, self.manager)

    def test_a_fragment_of_volumes_is_sent_to_files(self):
        self.check(self.manager, self.stock)
