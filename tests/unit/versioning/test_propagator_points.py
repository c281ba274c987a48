# SPDX-License-Identifier: Apache-2.0
"""What the propagator knows of its databases, also after it has ended."""

import os
import signal
from unittest import mock

from swift_lightsync.versioning.core.row_data import hidden_container
from swift_lightsync.versioning.sites.database import Database
from swift_lightsync.versioning.sites.peer_task import PeerTask
from tests.unit.versioning.sites_world import CONTAINER, DEVICES, SitesTestCase


class TestPoints(SitesTestCase):

    def setUp(self):
        super().setUp()
        self.rome.make_container()

    def test_a_propagator_that_died_anywhere_is_made_up_for(self):
        for number in range(4):
            self.rome.put('o%d' % number, b'x')
        real = Database.save_point
        calls = []

        def dies(database, task, point):
            calls.append(task)
            if len(calls) in (2, 5):
                raise SystemExit('killed')
            real(database, task, point)
        Database.save_point = dies
        self.addCleanup(setattr, Database, 'save_point', real)
        for _ in range(3):
            try:
                self.rome.propagate(batch_size='1')
            except SystemExit:
                pass
        Database.save_point = real
        self.rome.propagate()
        self.assert_same(*('o%d' % number for number in range(4)))
        self.assertEqual([4, 4], [len(set(site.puts))
                                  for site in self.sites[1:]])

    def test_a_copy_of_a_database_begins_anew(self):
        self.rome.put('o', b'x')
        self.rome.propagate()
        broker = self.rome.brokers(hidden_container(CONTAINER))[0]
        broker.newid(broker.get_info()['id'])
        propagator = self.rome.propagator()
        propagator.databases.scan()
        points = sorted(database.point('paris')
                        for _, database in propagator.databases
                        if database.hidden)
        self.assertEqual(-1, points[0])
        self.assertLess(0, points[1])

    def test_one_that_is_told_to_end_stores_its_points(self):
        self.rome.put('o', b'x')
        told = []
        before = signal.signal(signal.SIGTERM,
                               lambda *args: told.append(args))
        self.addCleanup(signal.signal, signal.SIGTERM, before)
        propagator = self.rome.propagator(interval='0.01')
        report = propagator.report

        def reported():
            report()
            if all(task.shipped for task in propagator.peer_tasks):
                os.kill(os.getpid(), signal.SIGTERM)
        with mock.patch.object(propagator, 'report', reported):
            propagator.run_forever()
        self.assertEqual(1, len(told))
        with mock.patch.object(PeerTask, 'run') as run:
            self.rome.propagate()
        run.assert_not_called()

    def test_points_are_kept(self):
        self.rome.put('o', b'x')
        # The first pass makes the record of a container that has none.
        for _ in range(2):
            self.rome.propagate()
        with mock.patch.object(PeerTask, 'run') as run:
            self.rome.propagate()
        run.assert_not_called()

    def test_a_container_that_is_not_versioned_is_not_followed(self):
        for device in DEVICES:
            self.rome._ask(device, 'PUT', 'stock')
        propagator = self.rome.propagate()
        self.assertEqual({CONTAINER}, {
            database.container for _, database in propagator.databases})
        self.assertEqual(6, sum(1 for _ in propagator.databases))

    def test_a_container_that_is_enabled_later_is_found(self):
        propagator = self.rome.propagate()
        for device in DEVICES:
            self.rome._ask(device, 'PUT', 'later')
        propagator.run_once()
        self.rome.make_container('later')
        propagator.run_once()
        self.assertEqual(12, sum(1 for _ in propagator.databases))
