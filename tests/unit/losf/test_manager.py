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
"""The manager: its children, the devices, the rings, and its own death."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from array import array
from unittest import mock

from swift.common import storage_policy, utils
from swift.common.concurrency import Timeout, sleep
from swift.common.ring import Ring, RingData
from swift.common.storage_policy import (
    StoragePolicy, StoragePolicyCollection)

from swift_losf import manager, mounts
from swift_losf.errors import IndexUnavailable
from swift_losf.index_client import IndexClient
from swift_losf.layout import Layout
from swift_losf.manager import IndexServerManager, Place, kv_policies
from swift_losf.mounts import Devices, parse_mounts
from swift_losf.options import ManagerOptions, OptionError
from swift_losf.supervisor import State, Supervised
from tests.unit.sync.fixtures import CapturingLogger, node

DEADLINE = 30
KV = 'egg:swift-lightsync#replication.kv'
OPTIONS = ManagerOptions(stop_timeout=1)
SLEEPER = 'import time; time.sleep(600)'
STUBBORN = ('import signal, sys, time; '
            'signal.signal(signal.SIGTERM, signal.SIG_IGN); '
            'print("x y INFO deaf", file=sys.stderr, flush=True); '
            'time.sleep(600)')


def wait_for(condition, what):
    """Poll until a condition holds, and return what it returned."""
    deadline = time.monotonic() + DEADLINE
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError('not in %d s: %s' % (DEADLINE, what))
        sleep(0.01)


def is_running(pid):
    try:
        with open('/proc/%d/stat' % pid, encoding='utf8') as stat:
            return stat.read().rpartition(')')[2].split()[0] != 'Z'
    except (FileNotFoundError, ProcessLookupError):
        return False


def mount(path):
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', path],
                   check=True)


def unmount(path):
    subprocess.run(['umount', '--lazy', path], check=True)


class DirectoryTestCase(unittest.TestCase):

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix='lm', dir='/tmp')
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        timeout = Timeout(4 * DEADLINE)
        self.addCleanup(timeout.cancel)
        self.logger = CapturingLogger()

    def make(self, *parts):
        path = os.path.join(self.root, *parts)
        os.makedirs(path)
        return path


class TestSupervised(DirectoryTestCase):

    def setUp(self):
        super().setUp()
        self.now = 1000.0

    def supervised(self, script=SLEEPER):
        self.child = Supervised('sda.1', [sys.executable, '-c', script],
                                OPTIONS, self.logger)
        self.addCleanup(self.end)
        return self.child

    def end(self):
        if self.child.pid:
            os.kill(self.child.pid, signal.SIGKILL)

    def tend(self, presence='m'):
        self.child.tend(presence, self.now)

    def let_die(self):
        """Have the running child die, and the next look see it."""
        os.kill(self.child.pid, signal.SIGKILL)
        self.wait_for_death()

    def wait_for_death(self, presence='m'):
        def dead():
            self.tend(presence)
            return not self.child.pid
        wait_for(dead, 'the child ends')

    def test_it_runs_as_long_as_its_device_is_there(self):
        child = self.supervised()
        self.tend(None)
        self.assertEqual((State.ABSENT, None), (child.state, child.pid))
        self.tend()
        pid = child.pid
        self.assertTrue(is_running(pid))
        self.assertEqual(State.RUNNING, child.state)
        self.tend()
        self.assertEqual(pid, child.pid)
        self.tend(None)
        self.assertEqual(State.STOPPING, child.state)
        self.wait_for_death(None)
        self.assertFalse(is_running(pid))
        self.assertEqual((State.ABSENT, 0), (child.state, child.restarts))
        self.assertEqual(0, self.logger.counters['index_server.death.sda.1'])

    def test_it_is_started_anew_when_something_else_is_mounted(self):
        child = self.supervised()
        self.tend('m')
        pid = child.pid

        def other():
            self.tend('n')
            return child.pid not in (None, pid)
        wait_for(other, 'another child')
        self.assertEqual((State.RUNNING, 0), (child.state, child.restarts))
        self.assertFalse(is_running(pid))

    def test_one_that_dies_is_started_again_ever_later(self):
        child = self.supervised()
        self.tend()
        for number, delay in enumerate((1, 2, 4, 8, 16, 32, 60, 60), 1):
            self.let_die()
            self.assertEqual((State.DELAYED, number),
                             (child.state, child.restarts))
            self.now += delay - 0.01
            self.tend()
            self.assertIsNone(child.pid)
            self.now += 0.01
            self.tend()
            self.assertEqual(State.RUNNING, child.state)
        self.assertEqual(8, self.logger.counters['index_server.death.sda.1'])
        self.assertEqual(9, self.logger.counters['index_server.start.sda.1'])

    def test_one_that_has_lived_is_started_again_soon(self):
        child = self.supervised()
        self.tend()
        for _ in range(4):
            self.let_die()
            self.now += 60
            self.tend()
        self.now += 10
        self.let_die()
        self.now += 1
        self.tend()
        self.assertEqual(State.RUNNING, child.state)

    def test_one_that_does_not_stop_is_killed(self):
        child = self.supervised(STUBBORN)
        self.tend()
        wait_for(lambda: self.logger.at('INFO')[-1].endswith('deaf'),
                 'it ignores SIGTERM')
        pid = child.pid
        child.stop(self.now)
        self.now += OPTIONS.stop_timeout - 0.01
        self.tend(None)
        sleep(0.1)
        self.assertTrue(is_running(pid))
        self.assertFalse(self.logger.at('ERROR'))
        self.now += 0.01
        self.wait_for_death(None)
        self.assertIn('has not ended within 1 s; killing it',
                      self.logger.at('ERROR')[0])

    def test_what_it_says_is_logged_at_its_level(self):
        self.supervised(
            'import sys; sys.stderr.write("d t ERROR torn\\nd t INFO ok\\n'
            'Traceback\\n" + "x" * 9000)')
        self.tend()
        self.wait_for_death()
        wait_for(lambda: len(self.logger.at('WARNING')) == 3, 'lines')
        self.assertEqual('index server sda.1: torn',
                         self.logger.at('ERROR')[0])
        self.assertIn('index server sda.1: ok', self.logger.at('INFO'))
        self.assertEqual('index server sda.1: Traceback',
                         self.logger.at('WARNING')[0])

    def test_one_that_cannot_be_started_is_tried_again(self):
        self.child = Supervised('sda', ['/nowhere/x'], OPTIONS, self.logger)
        self.tend()
        self.assertEqual(State.DELAYED, self.child.state)
        self.assertIn('cannot start: ', self.logger.at('ERROR')[0])
        self.tend()
        self.assertEqual(1, len(self.logger.at('ERROR')))
        self.now += 1
        self.tend()
        self.assertEqual(2, len(self.logger.at('ERROR')))

    def test_it_dies_with_its_parent_however_that_dies(self):
        parent = subprocess.Popen([sys.executable, '-W', 'ignore', '-c', '''
import logging, sys, time
from swift.common.utils.logs import SwiftLogAdapter
from swift_losf.options import ManagerOptions
from swift_losf.supervisor import Supervised
from tests.unit.sync.fixtures import CapturingLogger
child = Supervised('x', [sys.executable, '-c', %r], ManagerOptions(),
                   CapturingLogger())
child.tend('m', 0)
print(child.pid, flush=True)
time.sleep(600)
''' % SLEEPER], stdout=subprocess.PIPE, text=True)
        with parent:
            pid = int(parent.stdout.readline())
            self.assertTrue(is_running(pid))
            parent.kill()
        wait_for(lambda: not is_running(pid), 'the child ends')


class TestDevices(DirectoryTestCase):

    def test_mounts_are_read_with_their_ids_and_the_top_one_counts(self):
        self.assertEqual(
            {'/': '23', '/srv/node/sda': '101', '/srv/a b\\c': '99'},
            parse_mounts(
                '23 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n'
                '98 23 8:0 / /srv/node/sda rw - xfs /dev/sda rw\n'
                '101 98 8:16 / /srv/node/sda rw - xfs /dev/sdb rw\n'
                '99 23 8:32 / /srv/a\\040b\\134c rw - xfs /dev/sdc rw\n'))

    def test_without_mount_check_a_directory_is_a_device(self):
        devices = Devices(self.root, mount_check=False)
        devices.refresh()
        self.assertIsNone(devices.presence('sda'))
        self.make('sda')
        self.assertIsNotNone(devices.presence('sda'))

    def test_with_mount_check_a_directory_is_none_but_with_the_stub(self):
        devices = Devices(self.root, mount_check=True)
        path = self.make('sda')
        devices.refresh()
        self.assertIsNone(devices.presence('sda'))
        with open(os.path.join(path, mounts.STUB), 'w'):
            pass
        self.assertIsNotNone(devices.presence('sda'))

    @unittest.skipIf(os.geteuid(), 'mounting takes root')
    def test_what_is_mounted_anew_is_something_else(self):
        link = os.path.join(self.root, 'link')
        os.symlink(self.make('real'), link)
        devices = Devices(link, mount_check=True)
        path = self.make('real', 'sda')
        seen = []
        held = []
        for _ in range(2):
            mount(path)
            self.addCleanup(subprocess.run, ['umount', '--lazy', path],
                            stderr=subprocess.DEVNULL)
            devices.refresh()
            seen.append(devices.presence('sda'))
            # A server that still runs there.
            held.append(os.open(path, os.O_RDONLY))
            self.addCleanup(os.close, held[-1])
            unmount(path)
            devices.refresh()
            self.assertIsNone(devices.presence('sda'))
        self.assertEqual(2, len(set(seen) - {None}))


class ManagerTestCase(DirectoryTestCase):

    def setUp(self):
        super().setUp()
        self.devices = self.make('d')
        self.conf = {
            'devices': self.devices, 'mount_check': 'false',
            'swift_dir': self.root, 'recon_cache_path': self.root,
            'bind_ip': '127.0.0.1', 'bind_port': '6200',
            'stop_timeout': '5', 'restart_delay': '0.1'}

    def save_ring(self, *nodes):
        ring = os.path.join(self.root, 'object-1.ring.gz')
        nodes = [dict(each, id=number) for number, each in enumerate(nodes)]
        RingData([array('H', [number] * 2) for number in range(len(nodes))],
                 nodes, 31).save(ring)

    def client(self, device):
        return IndexClient(Layout(os.path.join(self.devices, device),
                                  1).socket)

    def answers(self, device):
        try:
            self.client(device).list_partitions()
        except IndexUnavailable:
            return False
        return True

    def wait_for_answer(self, device):
        wait_for(lambda: self.answers(device), '%s answers' % device)

    def recon(self):
        path = os.path.join(self.root, 'object.recon')
        with open(path, encoding='utf8') as text:
            return json.load(text)[manager.RECON_KEY]


class TestManager(ManagerTestCase):

    def setUp(self):
        super().setUp()
        patcher = mock.patch.object(utils, 'HASH_PATH_SUFFIX', b'x')
        patcher.start()
        self.addCleanup(patcher.stop)
        self.policies = StoragePolicyCollection([
            StoragePolicy(0, 'fs', is_default=True),
            StoragePolicy(1, 'kv', diskfile_module=KV)])

    def manager(self, *nodes, **conf):
        self.save_ring(*nodes)
        with mock.patch.object(storage_policy, '_POLICIES', self.policies):
            made = IndexServerManager({**self.conf, **conf}, self.logger)
        for policy in made.policies:
            policy.object_ring = Ring(self.root, ring_name='object-1',
                                      reload_time=0)
        self.addCleanup(made.stop)
        return made

    def tend_until(self, made, condition, what):
        def holds():
            made.tend(time.monotonic())
            return condition()
        return wait_for(holds, what)

    def test_kv_policies_are_known_by_their_diskfile(self):
        self.assertEqual([1], [int(policy) for policy
                               in kv_policies(self.policies)])

    def test_devices_are_local_by_either_address_of_theirs(self):
        away = node(0, 6200, 'away', ip='127.0.0.2')
        made = self.manager(
            node(0, 6200, 'client'), away, node(0, 6201, 'other_port'),
            dict(away, device='replication', replication_ip='127.0.0.1'))
        self.assertEqual({Place('client', 1), Place('replication', 1)},
                         made.places())

    def test_with_servers_per_port_the_address_alone_counts(self):
        made = self.manager(
            node(0, 6200, 'sda'), node(0, 6201, 'sdb'),
            node(0, 6200, 'away', ip='127.0.0.2'), servers_per_port='1')
        self.assertEqual({Place('sda', 1), Place('sdb', 1)}, made.places())

    def test_the_ring_ip_comes_before_the_bind_ip(self):
        made = self.manager(
            node(0, 6200, 'sda'), node(0, 6200, 'sdb', ip='127.0.0.2'),
            ring_ip='127.0.0.2')
        self.assertEqual({Place('sdb', 1)}, made.places())

    def test_a_ring_that_cannot_be_read_leaves_what_was(self):
        made = self.manager(node(0, 6200, 'sda'))
        self.assertEqual({Place('sda', 1)}, made.places())
        with open(os.path.join(self.root, 'object-1.ring.gz'), 'wb') as ring:
            ring.write(b'torn')
        self.assertEqual({Place('sda', 1)}, made.places())
        self.assertIn('cannot read a ring', self.logger.at('ERROR')[0])

    def test_a_device_whose_socket_has_no_place_is_said(self):
        made = self.manager(node(0, 6200, 'x' * 99), node(0, 6200, 'sda'))
        self.assertEqual({Place('sda', 1)}, made.places())
        made.places()
        line, = self.logger.at('ERROR')
        self.assertRegex(line, r'no index server for x{99}\.1: .* takes 107')

    def test_wrong_options_are_refused(self):
        for name, value in (('stop_timeout', '0'),
                            ('losf_index_timeout', 'x')):
            with self.assertRaisesRegex(OptionError, '%s = %s' % (
                    name, value)):
                self.manager(node(0, 6200), **{name: value})

    def test_servers_are_told_of_mount_check_and_volume_size(self):
        for check in (True, False):
            made = self.manager(node(0, 6200, 'sda'), mount_check=str(check),
                                losf_max_volume_size='12345678')
            argv = made.command(Place('sda', 1))
            self.assertEqual(check, '--mount-check' in argv)
            self.assertEqual('12345678',
                             argv[argv.index('--max-volume-size') + 1])

    def test_servers_follow_the_ring_and_recon_tells_of_them(self):
        for device in ('sda', 'sdb'):
            self.make('d', device)
        made = self.manager(node(0, 6200, 'sda'), node(0, 6200, 'gone'))
        self.tend_until(made, lambda: self.answers('sda'), 'sda answers')
        made.report()
        gone, sda = self.recon()['index_servers']
        self.assertEqual(
            ('gone', 1, 'unmounted', None),
            tuple(gone[each] for each in (
                'device', 'policy', 'state', 'pid')))
        self.assertEqual(('running', 0, 0, 0), tuple(
            sda[each] for each in ('state', 'restarts', 'files', 'bytes')))
        self.assertTrue(is_running(sda['pid']))
        self.save_ring(node(0, 6200, 'sdb'))
        os.utime(os.path.join(self.root, 'object-1.ring.gz'), (1, 1))

        def reported():
            made.report()
            return [each['device'] for each in self.recon()['index_servers']]
        self.tend_until(made, lambda: reported() == ['sdb'],
                        'sdb instead of sda')
        self.assertFalse(is_running(sda['pid']))
        self.tend_until(made, lambda: self.answers('sdb'), 'sdb answers')
        sdb, = self.recon()['index_servers']
        made.stop()
        self.assertFalse(is_running(sdb['pid']))
        self.assertEqual([], self.recon()['index_servers'])

    def test_recon_says_why_a_server_does_not_answer(self):
        self.make('d', 'sda')
        made = self.manager(node(0, 6200, 'sda'), losf_index_timeout='0.3')
        self.tend_until(made, lambda: self.answers('sda'), 'sda answers')
        made.report()
        sda, = self.recon()['index_servers']
        os.kill(sda['pid'], signal.SIGSTOP)
        made.report()
        os.kill(sda['pid'], signal.SIGCONT)
        self.assertIn('has not answered within 0.3 s',
                      self.recon()['index_servers'][0]['error'])


class TestDaemon(ManagerTestCase):
    """The whole of it, as a process."""

    START = ('from swift.common import utils; utils.set_swift_dir(%r); '
             'from swift_losf import manager; manager.main()')

    def setUp(self):
        super().setUp()
        for name, text in (
                ('swift.conf',
                 '[swift-hash]\nswift_hash_path_suffix = x\n'
                 '[storage-policy:0]\nname = fs\ndefault = yes\n'
                 '[storage-policy:1]\nname = kv\ndiskfile_module = %s\n'
                 % KV),
                ('object-server.conf', '[DEFAULT]\nuser = root\n%s\n'
                 '[object-losf]\n' % '\n'.join(
                     '%s = %s' % each for each in self.conf.items()))):
            with open(os.path.join(self.root, name), 'w') as conf:
                conf.write(text)
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
        with open(os.path.join(self.root, 'object-server.conf'), 'a') as conf:
            conf.write('mount_check = true\n')
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


if __name__ == '__main__':
    unittest.main()
