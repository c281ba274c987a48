# SPDX-License-Identifier: Apache-2.0
"""What the tests of audits share: a real index, and Swift's auditor."""

import os
from contextlib import closing
from unittest import mock

from swift.obj import diskfile
from swift.obj.auditor import AuditorWorker

from swift_losf.diskfile import audit_order
from tests.unit.losf.kv_world import KVTest, World, bytes_of

LATER = 2000000000
UNLIMITED = 10 ** 9


class AuditTest(KVTest):
    """A device of its own for each test; nothing is given back meanwhile."""

    def setUp(self):
        self.world = self.enterContext(closing(World()))
        self.add_device('d1')
        super().setUp()
        self.enterContext(mock.patch.object(
            diskfile, 'MIN_TIME_UPDATE_AUDITOR_STATUS', 0))

    def add_device(self, device):
        os.mkdir(self.world.path(device))
        self.world.serve(device, '--sweep-interval', '1000')

    def fill(self, count, length=10):
        """:returns: names of objects, in the order of their places"""
        names = ['%s-%d' % (self.object, number) for number in range(count)]
        for number, name in enumerate(names):
            self.write(bytes_of(length, number), 1, name)
        return names

    def locations(self, auditor_type='ALL', **kwargs):
        return self.manager.object_audit_location_generator(
            self.policy, auditor_type=auditor_type, **kwargs)

    def hashes(self, *args, **kwargs):
        return [os.path.basename(each.path)
                for each in self.locations(*args, **kwargs)]

    def hashes_of(self, names):
        return [self.hash(name) for name in names]

    def short_stretches(self, hashes):
        self.enterContext(mock.patch.object(
            audit_order, 'STRETCH_HASHES', hashes))

    def worker(self, zero_byte=False, **options):
        return AuditorWorker(
            self.conf(files_per_second=UNLIMITED,
                      bytes_per_second=UNLIMITED,
                      recon_cache_path=self.world.root, **options),
            self.logger, os.path.join(self.world.root, 'recon'), None,
            zero_byte_only_at_fps=UNLIMITED if zero_byte else 0)

    def audit(self, locations=None, **kwargs):
        """:param locations: audited, or None: all, as the auditor does
        :returns: the worker, with its counts
        """
        worker = self.worker(**kwargs)
        if locations is None:
            locations = worker.diskfile_router[
                self.policy].object_audit_location_generator(
                    self.policy, auditor_type=worker.auditor_type)
        for each in locations:
            worker.failsafe_object_audit(each)
        return worker

    def assert_sound(self, worker, passes):
        self.assertEqual((passes, 0, 0), (
            worker.passes, worker.quarantines, worker.errors))
        self.assertEqual(0, self.store().index.statistics().quarantined)
