# SPDX-License-Identifier: Apache-2.0
"""The converger as it follows a log: intents, and what changes meanwhile."""


import os
from unittest import mock

from swift.common.concurrency import listen
from swift.obj.server import ObjectController

from swift_lightsync.proar.converger.followed_log import FollowedLog
from swift_lightsync.proar.core.oplog import RECORD, eversion_of
from swift_lightsync.proar.log.segment import segment_path
from tests.unit.proar.converging import HERE, PEERS, ConvergerTestCase
from tests.unit.sync.fixtures import wait_for


class TestIntents(ConvergerTestCase):

    def test_an_intent_whose_writer_died_after_the_commit_is_pushed(self):
        for method, headers in (
                ('PUT', {}), ('POST', {'X_Object_Meta_Color': 'red'})):
            self.intend('o')
            self.ask(method, 'o', self.stamp, b'body', **headers)
            self.die()
            self.run_once()
            self.assertTrue(self.are_same())
            self.assertTrue(self.is_converged())
        self.assertEqual(2, len(self.files(PEERS[0])))

    def test_one_whose_writer_died_before_the_commit_changes_nothing(self):
        self.change('PUT', 'o', b'before')
        self.intend('o')
        self.intend('other')
        self.die()
        self.run_once()
        self.assertTrue(self.are_same())
        self.assertEqual(['CONVERGED', 'ABORTED', 'ABORTED'], self.states())

    def test_one_whose_writer_lives_is_waited_for(self):
        converger = self.running()
        intent = self.intend('o')
        self.change('PUT', 'other')
        wait_for(self.are_same, 'the other one is pushed')
        device, = converger.devices
        self.assertEqual(1, len(device.policies[0].follower.intents()))
        self.ask('PUT', 'o', self.stamp - 1, b'body')
        intent.commit()
        wait_for(lambda: len(self.files(PEERS[0])) == 2 and self.are_same(),
                 'it is pushed')

    def test_what_a_writer_leaves_to_the_disk_is_found_there(self):
        self.running()
        intent = self.intend('o')
        self.ask('PUT', 'o', self.stamp, b'body')
        intent.abandon(is_open=True)
        wait_for(self.are_same, 'it is pushed')

    def test_what_the_disk_tells_is_noted(self):
        with self.dead_peer():
            self.intend('o')
            self.ask('PUT', 'o', self.stamp, b'body')
            self.die()
            self.make_ring(1, 1)
            self.run_once()
        self.assertEqual(['COMMITTED'], self.states())


class TestForever(ConvergerTestCase):

    def test_a_write_is_pushed_long_before_the_next_look(self):
        self.running(rescan_interval='1000')
        for body in b'first', b'second':
            self.change('PUT', 'o', body)
            wait_for(self.are_same, 'it is pushed')
        wait_for(self.is_converged, 'that is on record')

    def test_what_cannot_be_noted_is_noted_when_it_can(self):
        self.running()
        note = FollowedLog.note
        with mock.patch.object(FollowedLog, 'note', autospec=True,
                               side_effect=OSError(5, 'EIO')) as broken:
            self.change('PUT', 'o')
            wait_for(lambda: self.are_same() and broken.called,
                     'it is pushed')
            self.assertFalse(self.is_converged())
        self.assertIs(note, FollowedLog.note)
        wait_for(self.is_converged, 'it is noted')

    def test_a_log_in_the_place_of_one_that_was_removed_is_seen(self):
        self.running(rescan_interval='1000')
        self.change('PUT', 'o', b'first')
        wait_for(self.are_same, 'all hold it')
        os.unlink(segment_path(self.log.directory, 1))
        wait_for(lambda: any('is lost' in line for line
                             in self.logger.at('WARNING')), 'it is noticed')
        self.change('PUT', 'o', b'second')
        wait_for(self.are_same, 'it is pushed')

    def test_a_peer_that_comes_back_gets_what_it_missed(self):
        listener = listen(('127.0.0.1', 0))
        port = listener.getsockname()[1]
        listener.close()
        self.make_ring(port, self.ports[1])
        self.running(rescan_interval='1000')
        self.change_some()
        wait_for(lambda: self.are_same(PEERS[1:]), 'the other peer has it')
        self.assertEqual({}, self.files(PEERS[0]))
        with self.served(port=port):
            wait_for(self.are_same, 'it has all')
        self.assertEqual(1, len([line for line in self.logger.at('WARNING')
                                 if 'Unable to push to' in line]))

    def test_a_device_that_is_mounted_again_is_followed_again(self):
        device, = self.running().devices
        self.change('PUT', 'o', b'before')
        wait_for(self.are_same, 'it is pushed')
        mount, away = (os.path.join(self.devices_dir, name)
                       for name in (HERE, 'away'))
        os.rename(mount, away)
        wait_for(lambda: not device.log.read_numbers(), 'it is forgotten')
        os.rename(away, mount)
        self.change('PUT', 'o', b'after')
        wait_for(self.are_same, 'it is pushed')
        self.assertEqual([], self.logger.at('ERROR'))

    def test_a_change_of_the_ring_is_followed(self):
        converger = self.running(rescan_interval='1000')
        intent = self.intend('o', ring_version=1)
        self.ask('PUT', 'o', self.stamp, b'body')
        intent.commit()
        os.mkdir(os.path.join(self.devices_dir, 'sdd'))
        self.make_ring(*self.ports, self.ports[0], devices=(*PEERS, 'sdd'))
        wait_for(lambda: self.states() == ['HELD'], 'all of this ring do')
        self.load_ring(converger)
        wait_for(lambda: self.are_same((*PEERS, 'sdd')),
                 'the new device has it')

    def test_an_object_that_a_peer_refuses_holds_no_other_up(self):
        self.change('PUT', 'bad', b'body', X_Object_Meta_Color='x' * 200)
        self.change('PUT', 'good', b'body')
        refusing = ObjectController(self.conf, logger=self.logger)

        def app(env, start_response):
            if env['PATH_INFO'].endswith('bad') and not self.repaired:
                start_response('422 Unprocessable', [('Content-Length', '0')])
                return []
            return refusing(env, start_response)
        self.repaired = False
        self.make_ring(self.enterContext(self.served(app)), self.ports[1])
        self.running()
        wait_for(lambda: len(self.files(PEERS[0])) == 1, 'one is pushed')
        self.assertEqual(2, len(self.files(HERE)))
        self.repaired = True
        wait_for(self.are_same, 'the other is pushed later')

    def test_a_damaged_entry_is_told_of_and_holds_no_other_up(self):
        self.change('PUT', 'first')
        intent = self.intend('lost')
        self.overwrite(b'damage', 2 * RECORD + 20)
        intent.commit()
        self.change('PUT', 'third')
        self.running()
        wait_for(self.are_same, 'the others are pushed')
        wait_for(self.is_converged, 'all is held')
        said, = (line for line in self.logger.at('ERROR') if 'Entry' in line)
        self.assertIn('Entry %d of %s' % (
            eversion_of(1, 2), segment_path(self.log.directory, 1)), said)

    def test_a_damaged_log_is_told_of_and_holds_no_other_up(self):
        self.change('PUT', 'o')
        self.overwrite(b'x')
        self.running()
        wait_for(lambda: self.logger.at('ERROR'), 'it is told of')
        self.assertIn(segment_path(self.log.directory, 1),
                      self.logger.at('ERROR')[0])
        self.die()
        self.change('PUT', 'o')
        wait_for(self.are_same, 'the next is pushed')

    def test_a_log_that_cannot_be_listed_is_told_of_once(self):
        with open(self.log.directory, 'w'):
            converger = self.running(rescan_interval='0.1')
        device, = converger.devices
        for _ in range(3):
            scan = device.next_scan
            wait_for(lambda: device.next_scan > scan, 'it looks again')
        said = self.logger.at('ERROR')
        self.assertEqual(sorted(set(said)), sorted(said))
        self.assertTrue(said)
