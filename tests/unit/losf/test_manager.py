# SPDX-License-Identifier: Apache-2.0
"""The manager: its rings, its servers, what it tells recon."""

import os
import signal

from swift_lightsync.common.options import OptionError
from swift_losf.daemon.manager import ServerKey, kv_policies
from tests.unit.losf.manager_world import InProcessTestCase
from tests.unit.sync.fixtures import node
from tests.waiting import is_running, stop


class TestManager(InProcessTestCase):

    def test_kv_policies_are_known_by_their_diskfile(self):
        self.assertEqual([1], [int(policy) for policy
                               in kv_policies(self.policies)])

    def test_devices_are_local_by_either_address_of_theirs(self):
        away = node(0, 6200, 'away', ip='127.0.0.2')
        made = self.manager(
            node(0, 6200, 'client'), away, node(0, 6201, 'other_port'),
            dict(away, device='replication', replication_ip='127.0.0.1'))
        self.assertEqual({ServerKey('client', 1), ServerKey('replication', 1)},
                         made.server_keys())

    def test_with_servers_per_port_the_address_alone_counts(self):
        made = self.manager(
            node(0, 6200, 'sda'), node(0, 6201, 'sdb'),
            node(0, 6200, 'away', ip='127.0.0.2'), servers_per_port='1')
        self.assertEqual({ServerKey('sda', 1), ServerKey('sdb', 1)},
                         made.server_keys())

    def test_the_ring_ip_comes_before_the_bind_ip(self):
        made = self.manager(
            node(0, 6200, 'sda'), node(0, 6200, 'sdb', ip='127.0.0.2'),
            ring_ip='127.0.0.2')
        self.assertEqual({ServerKey('sdb', 1)}, made.server_keys())

    def test_a_ring_that_cannot_be_read_leaves_what_was(self):
        made = self.manager(node(0, 6200, 'sda'))
        self.assertEqual({ServerKey('sda', 1)}, made.server_keys())
        with open(os.path.join(self.root, 'object-1.ring.gz'), 'wb') as ring:
            ring.write(b'torn')
        self.assertEqual({ServerKey('sda', 1)}, made.server_keys())
        self.assertIn('cannot read a ring', self.logger.at('ERROR')[0])

    def test_a_device_whose_socket_has_no_place_is_said(self):
        made = self.manager(node(0, 6200, 'x' * 99), node(0, 6200, 'sda'))
        self.assertEqual({ServerKey('sda', 1)}, made.server_keys())
        made.server_keys()
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
            argv = made.command(ServerKey('sda', 1))
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

    def test_a_server_that_runs_is_told_the_part_power_of_a_new_ring(self):
        self.make('d', 'sda')
        sda = node(0, 6200, 'sda')
        made, pids = self.manager(sda), set()
        for power in (1, 2):
            self.save_ring(sda, part_power=power)
            os.utime(os.path.join(self.root, 'object-1.ring.gz'),
                     (power, power))
            self.tend_until(
                made, lambda power=power: self.answers('sda') and
                self.answers('sda').part_power == power,
                'it goes by part power %d' % power)
            made.report()
            pids.add(self.recon()['index_servers'][0]['pid'])
        self.assertEqual(1, len(pids))

    def test_recon_says_why_a_server_does_not_answer(self):
        made = self.serve('sda', losf_index_timeout='0.3')
        made.report()
        sda, = self.recon()['index_servers']
        stop(sda['pid'])
        made.report()
        os.kill(sda['pid'], signal.SIGCONT)
        self.assertIn('has not answered within 0.3 s',
                      self.recon()['index_servers'][0]['error'])
