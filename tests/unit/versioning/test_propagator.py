# SPDX-License-Identifier: Apache-2.0
"""The propagator and the receiver: what one site has, all get."""

import os
import signal
import time
from unittest import mock

from swift.proxy.controllers.base import get_container_info

from swift_lightsync.versioning.core.keys import (
    hidden_container,
    listing_name,
)
from swift_lightsync.versioning.core.row_data import Kind, listing_row
from swift_lightsync.versioning.core.shipping import Group, Offered
from swift_lightsync.versioning.core.stamp import TICKS, Stamp
from swift_lightsync.versioning.core.verb import Request, WireRow
from swift_lightsync.versioning.rows.rows import Rows
from swift_lightsync.versioning.sites.database import Database
from swift_lightsync.versioning.sites.peer_task import PeerTask
from tests.unit.versioning.sites_world import ACCOUNT, CONTAINER, SitesTestCase


def items(site):
    """Return the rows of versions in one database of a site."""
    propagator = site.propagator()
    propagator.databases.scan()
    database = next(each for _, each in propagator.databases if each.hidden)
    return [item for _, _, item in database.items(-1) if item]


class WhatAllModesDo:

    def test_a_version_gets_to_all_sites_with_data_and_metadata(self):
        self.rome.make_container()
        version = self.rome.put('o', b'hello', Color='blue')
        self.rome.propagate()
        self.assert_same('o')
        self.assertEqual(str(version.id), self.oslo.latest('o'))
        self.assertEqual({str(version.id): b'hello'}, self.oslo.bodies('o'))
        (_, headers, _, _), = self.oslo.data.values()
        self.assertEqual('blue', headers['x-object-meta-color'])

    def test_what_was_shipped_and_written_again_is_purged_everywhere(self):
        for site in self.sites:
            site.make_container()
        self.rome.skew = -10
        self.paris.put('o', b'ahead')
        self.paris.propagate()
        write, written = Rows.write, []

        def shipped_at_once(rows, request):
            told = write(rows, request)
            written.append(request)
            if len(written) == 1:
                self.rome.propagate()
            return told
        with mock.patch.object(Rows, 'write', shipped_at_once):
            self.rome.put('o', b'behind')
        self.assertEqual([2, 2], [len(site.history('o'))
                                  for site in (self.rome, self.oslo)])
        self.settle()
        self.assert_same('o')
        self.assertEqual(2, len(self.oslo.history('o')))

    def write_everywhere(self):
        """Concurrent updates of all kinds, at all sites."""
        for site in self.sites:
            site.make_container()
        for number, site in enumerate(self.sites):
            site.put('all', b'1 of %d' % number)
            site.put('all', b'2 of %d' % number)
            site.put('one %d' % number, b'x')
            site.put('ö/%d' % number, b'')
            site.put('raced', b'%d' % number)
        self.rome.delete('raced')

    def test_concurrent_updates_end_with_one_history_and_winner(self):
        self.write_everywhere()
        self.settle()
        self.assert_same('all', 'raced', *(
            name % number for name in ('one %d', 'ö/%d')
            for number in range(3)))
        self.assertEqual(6, len(self.oslo.history('all')))
        self.assertEqual(4, len(self.oslo.history('raced')))
        self.assertEqual({'rome', 'paris', 'oslo'}, {
            site for _, site, *_ in self.paris.history('all')})

    def test_a_purge_gets_to_all_sites_and_takes_the_data(self):
        self.rome.make_container()
        first = self.rome.put('o', b'first')
        purged = self.rome.put('o', b'purged')
        self.rome.propagate()
        self.paris.purge('o', purged.id)
        self.settle()
        self.assert_same('o')
        self.assertEqual(str(first.id), self.oslo.latest('o'))
        for site in self.sites:
            self.assertEqual([b'first'], [
                body for _, _, body, _ in site.data.values()])

    def test_an_object_of_before_is_shipped_too(self):
        self.rome.make_container()
        self.rome.put_plain('old', b'old body', 1000000000)
        self.rome.put_plain('then new', b'old', 1000000000)
        self.rome.put('then new', b'new')
        self.settle()
        self.assert_same('old', 'then new')
        self.assertEqual([b'old body'],
                         list(self.oslo.bodies('old').values()))
        self.assertEqual([b'new', b'old'],
                         list(self.oslo.bodies('then new').values()))

    def test_metadata_that_were_changed_later_are_shipped(self):
        self.rome.make_container()
        version = self.rome.put('o', b'x', Color='blue')
        self.rome.propagate()
        strategy = self.rome.strategy
        entry = strategy.get('o', version.id)
        changed = Stamp(version.id.ticks + 5)
        self.rome.post_data((hidden_container(CONTAINER), entry.data_name),
                            changed, {'X-Object-Meta-Color': 'red'})
        strategy.amend(entry, 'image/png', changed)
        self.rome.propagate()
        self.assert_same('o')
        self.assertEqual('image/png', self.oslo.history('o')[0][-1])
        for site in (self.paris, self.oslo):
            (_, headers, _, when), = site.data.values()
            self.assertEqual(('red', changed),
                             (headers['x-object-meta-color'], when))
        self.assertEqual([1, 1], [len(site.puts) for site in self.sites[1:]])


class TestWriteRepair(WhatAllModesDo, SitesTestCase):
    """What it does by default."""


class TestReadRepair(WhatAllModesDo, SitesTestCase):

    modes = ('read-repair',) * 3


class TestMixedModes(WhatAllModesDo, SitesTestCase):

    modes = ('read-repair', 'write-repair', 'read-repair')


class TestPropagation(SitesTestCase):

    def test_what_comes_after_what_was_shipped_supersedes_it(self):
        self.rome.make_container()
        self.rome.put('o', b'rome')
        self.rome.propagate()
        version = self.oslo.put('o', b'oslo')
        self.oslo.propagate()
        self.assert_same('o')
        self.assertEqual(str(version.id), self.rome.latest('o'))

    def test_a_purged_version_is_not_shipped_again(self):
        self.rome.make_container()
        version = self.rome.put('o', b'x')
        self.oslo.make_container()
        self.rome.propagate()
        self.rome.purge('o', version.id)
        self.rome.propagate()
        # As a stale replica would: it still has the version's row.
        before = list(self.oslo.puts)
        shipped = self.paris_offers(version)
        self.assertEqual([], shipped)
        self.assertEqual(before, self.oslo.puts)

    def paris_offers(self, version):
        client = self.paris.propagator().peer_tasks[1].client
        self.assertEqual('oslo', client.peer.name)
        return list(client.offer([Group(ACCOUNT, CONTAINER, (Offered(
            'o', version.id, version.site, Kind.DATA),))]).lacking)

    def test_what_a_site_has_is_not_shipped_to_it(self):
        self.rome.make_container()
        self.rome.put('o', b'x')
        self.rome.propagate()
        self.paris.propagate()
        self.oslo.propagate()
        self.assertEqual([0, 1, 1], [len(site.puts) for site in self.sites])

    def test_each_version_is_shipped_by_one_replica(self):
        self.rome.make_container()
        for number in range(6):
            self.rome.put('o%d' % number, b'x')
        propagator = self.rome.propagate(handover_delay='1000')
        self.assertEqual([6, 6], [task.shipped
                                  for task in propagator.peer_tasks])
        self.assertEqual([6, 6], [len(site.puts)
                                  for site in self.sites[1:]])

    def test_what_one_replica_has_not_shipped_others_do(self):
        self.rome.make_container()
        for number in range(9):
            self.rome.put('o%d' % number, b'x')
        propagator = self.rome.propagator(handover_delay='1000')
        propagator.databases.scan()
        # Two of three replicas are gone.
        for directory, database in list(propagator.databases):
            if database.hidden and database.device != 'sdb':
                del propagator.databases._looked[directory]
        runner = propagator.runners[0]
        shipped = []
        for later in (0, 1000, 1000):
            now = runner._now() + later
            runner._now = lambda: now
            runner.run_all()
            shipped.append(len(self.paris.puts))
        self.assertEqual(sorted(shipped), shipped)
        self.assertLess(shipped[0], 9)
        self.assertEqual(9, shipped[-1])
        self.assertEqual(0, runner.lag().rows)

    def test_data_is_read_without_a_question_about_its_container(self):
        self.rome.make_container()
        self.rome.put('o', b'x')
        read, infos = self.rome.get_object, []

        def looked(req, *key):
            infos.append(get_container_info(req.environ, None))
            return read(req, *key)
        with mock.patch.object(self.rome, 'get_object', looked):
            self.rome.propagate()
        self.assertTrue(infos)
        self.assertEqual({(200, '0')}, {
            (info['status'], str(info['storage_policy'])) for info in infos})

    def test_large_data_arrives_whole(self):
        self.rome.make_container()
        body = bytes(range(256)) * 5000
        self.rome.put('o', body)
        self.rome.propagate()
        self.assertEqual([body], list(self.oslo.bodies('o').values()))


class TestTrouble(SitesTestCase):

    def setUp(self):
        super().setUp()
        self.rome.make_container()

    def lag(self, propagator, name):
        runner, = [runner for runner in propagator.runners
                 if runner.task.name == name]
        return runner.lag()

    def test_a_site_that_is_away_holds_nobody_up_and_gets_all_later(self):
        self.paris.go_away()
        start = time.time()
        self.rome.put('o', b'1')
        self.rome.put('o', b'2')
        propagator = self.rome.propagate(
            retry_delay='3600', max_retry_delay='3600')
        self.assertEqual(2, len(self.oslo.puts))
        paris, oslo = propagator.state().peers
        self.assertEqual(('paris', 1, 0), (
            paris.site, paris.failures, paris.shipped))
        self.assertIn('paris', paris.error)
        self.assertGreater(paris.rows, 0)
        self.assertTrue(start <= paris.oldest <= time.time())
        self.assertEqual((0, None, 0), (oslo.rows, oslo.oldest,
                                        oslo.failures))
        self.paris.listen()
        self.rome.propagate()
        self.assert_same('o')

    def test_a_site_that_is_away_is_asked_once_and_left_alone(self):
        for number in range(5):
            self.rome.put('o%d' % number, b'x')
        self.paris.go_away()
        propagator = self.rome.propagate(
            3, retry_delay='3600', max_retry_delay='3600', batch_size='1')
        self.assertEqual(1, propagator.peer_tasks[0].backoff.failures)

    def test_a_site_that_is_added_later_is_filled(self):
        self.rome.introduce([self.paris])
        for number in range(5):
            self.rome.put('o%d' % number, b'x')
        self.rome.propagate()
        self.assertEqual(0, len(self.oslo.puts))
        self.rome.introduce([self.paris, self.oslo])
        self.rome.propagate()
        self.assert_same(*('o%d' % number for number in range(5)))

    def test_a_clock_that_is_ahead_owns_no_object_elsewhere(self):
        self.paris.make_container()
        self.rome.skew = 200
        self.rome.put('o', b'ahead')
        propagator = self.rome.propagate()
        self.assertEqual([], self.paris.puts)
        self.assertGreater(self.lag(propagator, 'paris').rows, 0)
        self.assertIn('ahead', propagator.state().peers[0].error)
        later = self.paris.put('p', b'x')
        self.assertLess(later.id.seconds, time.time() + 60)
        # Some minutes later.
        self.paris.skew = self.oslo.skew = 200
        propagator.run_once()
        self.assertEqual('', propagator.state().peers[0].error)
        self.assertEqual(0, self.lag(propagator, 'paris').rows)
        self.assert_same('o')

    def test_one_version_that_is_held_lets_others_pass(self):
        self.rome.skew = 200
        held = self.rome.put('held', b'ahead')
        self.rome.skew = 0
        self.rome.put('o', b'x')
        propagator = self.rome.propagate()
        self.assert_same('o')
        self.assertIsNone(self.oslo.latest('held'))
        for _, database in propagator.databases:
            if database.hidden:
                rowid, = [rowid for rowid, _, item in database.items(-1)
                          if item and item.entry.version.id == held.id]
                self.assertLess(database.point('oslo'), rowid)

    def test_data_that_was_not_stored_leaves_no_row(self):
        self.paris.broken.add('data')
        self.rome.put('o', b'x')
        self.rome.propagate()
        self.assertIsNone(self.paris.latest('o'))
        self.paris.broken.clear()
        self.rome.propagate()
        self.assert_same('o')

    def test_a_row_that_was_not_written_is_shipped_again(self):
        self.paris.make_container()
        self.rome.put('o', b'x')
        broken = self.paris.container_server
        self.paris.ring.devs  # the ring is loaded
        nodes = [dict(each, port=1) for each in self.paris.ring.devs]
        good, self.paris.ring._devs = self.paris.ring._devs, nodes
        self.rome.propagate()
        self.paris.ring._devs = good
        self.assertIsNone(self.paris.latest('o'))
        self.assertIs(broken, self.paris.container_server)
        self.rome.propagate()
        self.assert_same('o')

    def test_data_that_is_missing_here_is_waited_for(self):
        self.rome.put('o', b'x')
        (key, data), = self.rome.data.items()
        self.rome.data.clear()
        propagator = self.rome.propagate()
        self.assertIsNone(self.paris.latest('o'))
        self.rome.data[key] = data
        propagator.run_once()
        self.assert_same('o')

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
        self.rome.propagate()
        with mock.patch.object(PeerTask, 'run') as run:
            self.rome.propagate()
        run.assert_not_called()

    def test_a_container_that_is_not_versioned_is_not_followed(self):
        for device in ('sda', 'sdb', 'sdc'):
            self.rome._ask(device, 'PUT', 'stock')
        propagator = self.rome.propagate()
        self.assertEqual({CONTAINER}, {
            database.container for _, database in propagator.databases})
        self.assertEqual(6, sum(1 for _ in propagator.databases))

    def test_a_container_that_is_enabled_later_is_found(self):
        propagator = self.rome.propagate()
        for device in ('sda', 'sdb', 'sdc'):
            self.rome._ask(device, 'PUT', 'later')
        propagator.run_once()
        self.rome.make_container('later')
        propagator.run_once()
        self.assertEqual(12, sum(1 for _ in propagator.databases))


class TestUpkeep(SitesTestCase):

    def setUp(self):
        super().setUp()
        self.rome.make_container()

    def test_a_wrong_listing_row_is_repaired(self):
        self.rome.put('o', b'1')
        entry = self.rome.strategy.latest('o')
        second = self.rome.put('o', b'2')
        wrong = listing_row(entry, 'o', Stamp(second.id.ticks + TICKS))
        rows = self.rome.strategy.rows
        rows.write(Request(rows=(WireRow.of(wrong),)))
        propagator = self.rome.propagate()
        row = rows.read(Request(names=(listing_name('o'),))).rows[
            listing_name('o')]
        self.assertIn(str(second.id), row.etag)
        self.assertGreater(propagator.state().repaired, 0)

    def purge_one(self):
        version = self.rome.put('o', b'x')
        self.rome.propagate()
        self.rome.purge('o', version.id)
        return version

    def records(self, site):
        return [item for item in items(site)
                if item.entry and item.entry.purged]

    def test_what_a_purged_null_version_has_overwritten_goes_everywhere(self):
        self.rome.put('o', b'old', null=True)
        self.settle()
        self.assertIsNotNone(self.oslo.latest('o'))
        new = self.rome.put('o', b'new', null=True)
        self.rome.purge('o', new.id)
        self.settle()
        self.assert_same('o')
        self.assertIsNone(self.oslo.latest('o'))
        self.assertEqual({}, self.oslo.data)
        self.rome.propagate(2, reclaim_age='0')
        self.assertEqual([], self.records(self.rome))

    def test_a_purge_record_goes_when_it_is_old_and_all_have_it(self):
        self.purge_one()
        propagator = self.rome.propagate(2, reclaim_age='0')
        self.assertEqual([], self.records(self.rome))
        self.assertGreater(propagator.state().purged, 0)
        self.assertEqual([], self.rome.history('o'))

    def test_a_purge_record_stays_while_it_is_young(self):
        self.purge_one()
        self.rome.propagate(2, reclaim_age='1000')
        self.assertEqual(1, len(self.records(self.rome)))

    def test_a_purge_record_stays_while_a_site_lacks_it(self):
        self.purge_one()
        self.paris.go_away()
        self.rome.propagate(2, reclaim_age='0')
        self.assertEqual(1, len(self.records(self.rome)))
        self.paris.listen()
        self.rome.propagate(2, reclaim_age='0')
        self.assertEqual([], self.records(self.rome))

    def test_a_purge_record_stays_while_a_replica_lacks_it(self):
        self.purge_one()
        broker = self.rome.brokers(hidden_container(CONTAINER))[1]
        record, = self.records(self.rome)
        with broker.get() as connection:
            connection.execute('DELETE FROM object WHERE name = ?',
                               (record.row.name,))
            connection.commit()
        # Who reads the rows would mend it.
        propagator = self.rome.propagate(2, reclaim_age='0',
                                         repair_delay='3600')
        self.assertEqual(0, propagator.state().purged)
