# SPDX-License-Identifier: Apache-2.0
"""rsync_push: the real rsync, and what becomes of it."""

import fcntl
import os
import shutil
import signal
import tempfile
import unittest
from unittest import mock

from swift.common.concurrency import spawn
from swift.obj import replicator
from swift.obj.diskfile import get_data_dir
from swift.obj.replicator import ObjectReplicator

from swift_lightsync.sync import rsync_push
from tests.unit.sync.exchanges import PARTS, RsyncTestCase
from tests.unit.sync.fixtures import wait_for


class TestRsync(RsyncTestCase):

    def stock_command(self, daemon, part=1):
        """What stock Swift would run for a partition."""
        commands = []
        job = next(job for job in self.jobs(0, daemon)
                   if job['partition'] == str(part))
        suffixes = [name for name in os.listdir(job['path'])
                    if len(name) == 3]
        with mock.patch('swift.obj.replicator.http_connect'), \
                mock.patch.object(daemon, '_rsync', commands.append):
            ObjectReplicator.rsync(
                daemon, job['nodes'][0], job, suffixes)
        return commands[0]

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
                ours, _ = commands[0]
                flags = [arg for arg in stock[:-1] if arg[0] != '/']
                self.assertEqual(flags, ours[:len(flags)])
                added = [arg.split('=')[0] for arg in ours[len(flags):-2]]
                self.assertEqual(['--from0', '--files-from',
                                  '--ignore-missing-args'], added)
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
                               get_data_dir(self.policy)) + '/'
        self.assertEqual(
            [(objects, ['%d/%s' % (part, suffix) for part in (3, 5)])],
            [(args[-2], sorted(paths)) for args, paths in commands])
        self.assertEqual(
            sorted(map(str, range(PARTS))), sorted(os.listdir(
                os.path.dirname(self.path(1, 0)))))

    def test_the_list_of_files_does_not_stay(self):
        self.put_all('o', 1, [0])
        with self.rsyncs([1]) as commands:
            self.run_pass(0)
        name, = (arg.partition('=')[2] for arg in commands[0][0]
                 if arg.startswith('--files-from='))
        self.assertFalse(os.path.exists(name))

    def test_nothing_but_suffixes_is_made_on_the_peer(self):
        self.put_all(numbers=[0])
        self.run_pass(0)
        self.assertEqual({'objects'}, set(os.listdir(os.path.join(
            self.nodes[1].devices_dir, 'sda'))) - {'tmp'})
        own = set()
        for part in range(PARTS):
            ours, theirs = (set(os.listdir(self.path(number, part)))
                            for number in (0, 1))
            self.assertEqual(*({name for name in names if len(name) == 3}
                               for names in (ours, theirs)))
            own |= {name for name in theirs if len(name) != 3}
        self.assertEqual({'hashes.pkl', 'hashes.invalid', '.lock',
                          'changed.pkl'}, own)

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
                # What came over is found by then: the device was asked to
                # hash whatever it wanted.
                again = PARTS if isinstance(result, Exception) else 0
                self.assertEqual(1 + again, len(commands))
                self.assert_converged(files=PARTS)
                self.assert_stats(stats, attempted=PARTS, success=PARTS,
                                  failure=0, suffix_count=PARTS,
                                  suffix_sync=again, rsync=again)

    def test_a_file_that_vanishes_while_it_is_pushed_harms_no_other(self):
        self.put_newer()
        gone = []

        def vanish(args, paths):
            if not gone:
                gone.append(paths[0])
                shutil.rmtree(os.path.join(args[-2], paths[0]))

        with self.rsyncs(instead=vanish) as commands:
            stats = self.run_pass(0)
        self.assertEqual(1, len(commands))
        self.assertEqual(PARTS, stats.attempted)
        part = gone[0].split('/')[0]
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
        self.assert_stats(stats, attempted=PARTS, success=PARTS, failure=0)
        wait_for(lambda: not self.temporary_files(), 'rsyncd to clean up')

    def temporary_files(self):
        return [os.path.join(top, name) for top, _, names
                in os.walk(self.nodes[1].devices_dir) for name in names
                if name.startswith('.') and '.data.' in name]

    def test_a_dead_rsyncd_fails_each_partition_once(self):
        self.put_newer()
        self.rsyncd.stop()
        stats = self.run_pass(0)
        self.assert_stats(stats, attempted=PARTS, failure=PARTS, success=0)


class TestLists(unittest.TestCase):

    def test_only_the_lists_of_killed_replicators_are_removed(self):
        directory = self.enterContext(tempfile.TemporaryDirectory())
        left, used, other = (os.path.join(directory, name) for name in (
            'lightsync-a.list', 'lightsync-b.list', 'lightsync.recon'))
        for path in (left, used, other):
            with open(path, 'w'):
                pass
        with open(used) as locked:
            fcntl.flock(locked, fcntl.LOCK_EX)
            rsync_push.remove_lists(directory)
        self.assertEqual({os.path.basename(used), os.path.basename(other)},
                         set(os.listdir(directory)))
