# SPDX-License-Identifier: Apache-2.0
"""logged_diskfile: of a policy whose objects are in volumes."""

import shutil
from unittest import mock

from swift_lightsync.object_server import ObjectController
from swift_lightsync.proar.log.segment import Segment, logs_path
from swift_lightsync.proar.names import SLOT_HEADER
from swift_losf.diskfile.store import Store
from swift_losf.volumes.writable import WritableVolume
from tests.unit.losf.kv_world import KVTest, World
from tests.unit.proar.logs import entries_of, side_by_side
from tests.unit.sync.fixtures import wait_for


def setUpModule():
    KVTest.world = World('d1')


def tearDownModule():
    KVTest.world.close()


class TestLoggedVolumes(KVTest):

    def controller(self, **options):
        return ObjectController(self.conf(**options), self.logger)

    def setUp(self):
        super().setUp()
        shutil.rmtree(logs_path(self.world.path('d1')), True)

    def write(self, verb, status, **headers):
        self.assert_status(status, verb, **{
            SLOT_HEADER.replace('-', '_'): '1', **headers})

    def operations(self):
        return [(entry.op.name, entry.state.name)
                for entry in entries_of(self.world.path('d1'))]

    def ended(self):
        """:returns: the operations when all outcomes are noted"""
        wait_for(lambda: 'INTENT' not in dict(
            map(reversed, self.operations())), 'all outcomes are noted')
        return self.operations()

    def test_put_post_and_delete_are_logged(self):
        self.write('PUT', 201, body=b'x')
        self.write('POST', 202)
        self.write('DELETE', 204)
        self.assertEqual([('MODIFY', 'COMMITTED'), ('MODIFY', 'COMMITTED'),
                          ('DELETE', 'COMMITTED')], self.ended())

    def test_the_intent_is_durable_before_the_operation_is(self):
        seen, flushes = [], []
        register, sync = Store.register, Segment.sync

        def look_and_register(*args, **kwargs):
            seen.append((self.operations(), list(flushes)))
            return register(*args, **kwargs)

        def counted(segment):
            sync(segment)
            flushes.append(segment.number)

        with mock.patch.object(Store, 'register', look_and_register), \
                mock.patch.object(Segment, 'sync', counted):
            self.write('PUT', 201, body=b'x')
        self.assertEqual([([('MODIFY', 'INTENT')], [1])], seen)

    def test_the_log_and_the_volume_are_flushed_at_the_same_time(self):
        with side_by_side(WritableVolume, 'sync'):
            self.write('PUT', 201, body=b'x')

    def test_what_fails_is_undecided(self):
        with mock.patch.object(WritableVolume, 'sync',
                               side_effect=OSError(5, 'EIO')):
            self.write('PUT', 500, body=b'x')
        self.assertEqual([('MODIFY', 'UNDECIDED')], self.ended())
