# SPDX-License-Identifier: Apache-2.0
"""The manager as a process: signals, mounts, and its own death."""

import os
import signal
import subprocess
import sys
import time
import unittest

from tests.unit.losf.kv_world import DEADLINE, wait_for
from tests.unit.losf.manager_world import KV, ManagerTestCase, mount, unmount
from tests.unit.sync.fixtures import node
from tests.waiting import is_running


class TestDaemon(ManagerTestCase):
    """The whole of it, as a process."""

    START = ('from swift.common import utils; utils.set_swift_dir(%r); '
             'from swift_losf.daemon import manager; manager.main()')

    def setUp(self):
        super().setUp()
        with open(os.path.join(self.root, 'swift.conf'), 'w') as conf:
            conf.write('[swift-hash]\nswift_hash_path_suffix = x\n'
                       '[storage-policy:0]\nname = fs\ndefault = yes\n'
                       '[storage-policy:1]\nname = kv\n'
                       'diskfile_module = %s\n' % KV)
        self.conf['user'] = 'root'
        self.conf_file()
        self.save_ring(node(0, 6200, 'sda'), node(0, 6200, 'sdb'))

    def start(self, *args):
        process = subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-c', self.START % self.root,
             os.path.join(self.root, 'object-server.conf'), *args],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=dict(os.environ, TMPDIR=self.root), start_new_session=True)

        def end():
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=DEADLINE)
        self.addCleanup(end)
        return process

    def children(self, process):
        with open('/proc/%d/task/%d/children' % (process.pid, process.pid),
                  encoding='ascii') as pids:
            return [int(pid) for pid in pids.read().split()]

    def test_sigterm_ends_it_and_its_servers(self):
        for device in ('sda', 'sdb'):
            self.make('d', device)
        process = self.start()
        for device in ('sda', 'sdb'):
            self.wait_for_answer(device)
        children = self.children(process)
        self.assertEqual(2, len(children))
        process.terminate()
        self.assertEqual(0, process.wait(DEADLINE))
        self.assertFalse([pid for pid in children if is_running(pid)])
        self.assertFalse(os.path.exists(self.client('sda')._channel.path))

    def test_killed_itself_it_leaves_the_field_to_its_successor(self):
        self.make('d', 'sda')
        process = self.start()
        self.wait_for_answer('sda')
        child, = self.children(process)
        process.kill()
        process.wait()
        successor = self.start()
        wait_for(lambda: not is_running(child), 'the child ends')
        self.wait_for_answer('sda')
        self.assertNotIn(child, self.children(successor))

    def test_when_it_is_killed_recon_does_not_stay_valid(self):
        self.conf_file('report_interval = 0.2', 'losf_index_timeout = 1')
        self.make('d', 'sda')
        process = self.start()
        self.wait_for_answer('sda')
        for _ in range(2):
            seen = time.time()
            wait_for(lambda: self.recon()['updated'] > seen, 'it reports')
        wait_for(lambda: self.recon()['valid_until'] > time.time(),
                 'what it reports is valid')
        process.kill()
        process.wait()
        last = self.recon()
        self.assertEqual('running', last['index_servers'][0]['state'])
        self.assertAlmostEqual(2 * 0.2 + 1,
                               last['valid_until'] - last['updated'], 3)
        wait_for(lambda: time.time() > last['valid_until'], 'time passes')
        self.assertEqual(last, self.recon())

    def test_a_server_that_was_killed_is_back_soon(self):
        self.make('d', 'sda')
        process = self.start()
        self.wait_for_answer('sda')
        child, = self.children(process)
        os.kill(child, signal.SIGKILL)
        wait_for(lambda: not is_running(child), 'it is dead')
        self.wait_for_answer('sda')
        self.assertNotEqual([child], self.children(process))

    def test_no_once(self):
        process = self.start('once')
        said, _ = process.communicate(timeout=DEADLINE)
        self.assertIn('serves for ever', said)
        self.assertEqual(1, process.returncode)

    @unittest.skipIf(os.geteuid(), 'mounting takes root')
    def test_servers_come_and_go_with_mounts(self):
        self.conf_file('mount_check = true')
        path = self.make('d', 'sda')
        self.make('d', 'sdb')
        mount(path)
        self.addCleanup(subprocess.run, ['umount', '--lazy', path],
                        stderr=subprocess.DEVNULL)
        process = self.start()
        self.wait_for_answer('sda')
        child, = self.children(process)
        unmount(path)
        wait_for(lambda: not is_running(child), 'the server leaves')
        self.assertEqual([], os.listdir(path))
        self.assertEqual([], os.listdir(os.path.join(self.devices, 'sdb')))
        mount(path)
        self.wait_for_answer('sda')
        unmount(path)
