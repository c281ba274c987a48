# SPDX-License-Identifier: Apache-2.0
"""logged_diskfile: of a policy whose objects are in volumes."""

from unittest import mock

from swift_lightsync.object_server import ObjectController
from swift_lightsync.proar.log.oplog_file import Oplog
from swift_lightsync.proar.names import SLOT_HEADER, cursors_path, log_path
from swift_losf.volumes.writable import WritableVolume
from tests.unit.losf.kv_world import PARTITION, KVTest, World


def setUpModule():
    KVTest.world = World('d1')


def tearDownModule():
    KVTest.world.close()


class TestLoggedVolumes(KVTest):

    def controller(self, **options):
        return ObjectController(self.conf(**options), self.logger)

    def setUp(self):
        super().setUp()
        paths = [path(self.world.path('d1'), self.policy, PARTITION)
                 for path in (log_path, cursors_path)]
        self.oplog = Oplog(*paths)
        self.oplog.compact(self.oplog.read().last_update)

    def write(self, verb, status, **headers):
        self.assert_status(status, verb, **{
            SLOT_HEADER.replace('-', '_'): '1', **headers})

    def operations(self):
        return [(entry.op.name, entry.state.name)
                for entry in self.oplog.read().entries]

    def test_put_post_and_delete_are_logged(self):
        self.write('PUT', 201, body=b'x')
        self.write('POST', 202)
        self.write('DELETE', 204)
        self.assertEqual([('MODIFY', 'COMMITTED'), ('MODIFY', 'COMMITTED'),
                          ('DELETE', 'COMMITTED')], self.operations())

    def test_the_intent_is_there_before_the_volume_is_synced(self):
        seen = []
        sync = WritableVolume.sync

        def look_and_sync(volume):
            seen.append((self.operations(), dict(self.files())))
            sync(volume)

        with mock.patch.object(WritableVolume, 'sync', look_and_sync):
            self.write('PUT', 201, body=b'x')
        self.assertIn(([('MODIFY', 'INTENT')], {}), seen)

    def test_what_fails_is_undecided(self):
        with mock.patch.object(WritableVolume, 'sync',
                               side_effect=OSError(5, 'EIO')):
            self.write('PUT', 500, body=b'x')
        self.assertEqual([('MODIFY', 'INTENT')], self.operations())
        self.assertFalse(self.oplog.in_progress(1))
