# SPDX-License-Identifier: Apache-2.0
"""What the auditor of listing rows looks at, and how objects are adopted."""

import time
from unittest import mock

from swift.common.utils import ShardRange, Timestamp

from swift_lightsync.versioning.core.row_data import (
    VERSIONS,
    Row,
    hidden_container,
    listed_of,
    listing_name,
    listing_row,
    version_name,
)
from swift_lightsync.versioning.core.shipment import DELETE_AT
from swift_lightsync.versioning.core.stamp import TICKS, Stamp
from swift_lightsync.versioning.rows.replicas import Replicas
from swift_lightsync.versioning.server.row_table import record_of
from tests.unit.sync.fixtures import wait_for
from tests.unit.versioning.sites_world import (
    ACCOUNT,
    CONTAINER,
    DEVICES,
    SitesTestCase,
)

HIDDEN = hidden_container(CONTAINER)


class AuditCase(SitesTestCase):

    def setUp(self):
        super().setUp()
        self.rome.make_container()

    def databases(self, propagator, hidden=True):
        """Return the ``Database`` of each replica."""
        propagator.databases.scan()
        return [each for _, each in propagator.databases.followed(hidden)]

    def settle_replicas(self):
        """Wait until all replicas have what a majority was enough for."""
        def rows(broker):
            return {(record['name'], record['created_at'])
                    for record in broker.get_items_since(-1, 10000)
                    if record['name'].startswith(VERSIONS)}
        first, *others = self.rome.brokers(HIDDEN)
        wait_for(lambda: all(rows(each) == rows(first) for each in others),
                 'all have all')

    def audit(self, done=True):
        """Each replica's server looks at all rows.

        :param done: whether all are right in the end
        :returns: (the RepairTask, (device, request) of what was asked)
        """
        propagator = self.rome.propagator()
        task = propagator.upkeep['repair']
        runner, = (each for each in propagator.runners if each.task is task)
        databases = self.databases(propagator)
        with mock.patch.object(Replicas, 'request', autospec=True,
                               side_effect=Replicas.request) as request:
            for _ in range(20):
                runner.run_all()
                if not runner.lag().rows:
                    break
        self.assertEqual(done, all(
            database.point(task.name) >= max(
                (row for row, _, item in database.items(-1) if item),
                default=-1) for database in databases))
        # Others are of tests that are over.
        port = self.rome.ring.devs[0]['port']
        return task, [(call.args[1]['device'], call.args[3])
                      for call in request.call_args_list
                      if call.args[1]['port'] == port]


class TestAuditor(AuditCase):

    def setUp(self):
        super().setUp()
        self.first = self.rome.put('o', b'1')
        self.second = self.rome.put('o', b'2')
        self.settle_replicas()

    def write_at(self, device, *rows):
        number = DEVICES.index(device)
        self.rome.brokers(HIDDEN)[number].merge_items([
            record_of(row, 0) for row in rows])

    def shows(self, number, obj):
        """Return the id that one replica's listing row has."""
        record, = [each for each in self.rome.brokers(HIDDEN)[
            number].get_items_since(-1, 1000)
            if each['name'] == listing_name(obj)]
        found = listed_of(record['etag'])
        return found and found.id

    def wrong(self, obj, version, newest):
        """A listing row that tells of the version before."""
        return listing_row(self.rome.strategy.get(obj, version.id), obj,
                           Stamp(newest.id.ticks, 1 << 50))

    def test_where_all_is_right_nobody_is_asked(self):
        self.rome.put('p', b'')
        self.rome.delete('p')
        self.settle_replicas()
        task, requests = self.audit()
        self.assertEqual([], requests)
        self.assertEqual(0, task.repaired)

    def test_what_one_replica_says_wrong_its_own_server_repairs(self):
        for number, device in enumerate(DEVICES):
            with self.subTest(device):
                obj = 'o-' + device
                first, second = (self.rome.put(obj, body)
                                 for body in (b'', b'2'))
                self.settle_replicas()
                self.write_at(device, self.wrong(obj, first, second))
                self.assertEqual(first.id, self.shows(number, obj))
                task, requests = self.audit()
                self.assertEqual(1, task.repaired)
                self.assertEqual([(device, (ACCOUNT, HIDDEN))], requests)
                self.assertEqual(second.id, self.shows(number, obj))

    def test_a_version_that_only_the_replicator_has_brought_is_listed(self):
        late = self.rome.put('late', b'1')
        self.settle_replicas()
        with self.rome.brokers(HIDDEN)[1].get() as connection:
            connection.execute('DELETE FROM object WHERE name = ?',
                               (listing_name('late'),))
            connection.commit()
        task, requests = self.audit()
        self.assertEqual(['sdb'], [device for device, _ in requests])
        self.assertEqual(late.id, self.shows(1, 'late'))
        self.assertEqual(1, task.repaired)

    def test_one_audit_of_an_object_stands_for_all_its_versions(self):
        for number in range(5):
            last = self.rome.put('o', b'%d' % number)
        self.settle_replicas()
        self.write_at('sda', self.wrong('o', self.first, last))
        _task, requests = self.audit()
        self.assertEqual(1, len(requests))

    def test_read_repair_has_no_listing_rows_to_look_at(self):
        self.rome.mode = 'read-repair'
        self.rome.make_container()
        self.write_at('sda', self.wrong('o', self.first, self.second))
        task, requests = self.audit()
        self.assertEqual(([], 0), (requests, task.repaired))

    def shard(self):
        for broker in self.rome.brokers(HIDDEN):
            own = ShardRange(broker.path, Timestamp.now(), '', '',
                             state=ShardRange.SHARDING, epoch=Timestamp.now())
            broker.merge_shard_ranges([own])
            self.assertTrue(broker.set_sharding_state())

    def test_a_database_that_lacks_what_shards_have_is_not_relied_on(self):
        self.shard()
        _task, requests = self.audit()
        # Each replica's server asks a majority, at least.
        self.assertGreaterEqual(len(requests), 6)

    def test_a_database_is_not_whole_from_when_its_container_is_sharded(self):
        """Not even one that was followed before."""
        propagator = self.rome.propagator()
        database = self.databases(propagator)[0]
        self.assertTrue(database.is_whole)
        self.shard()
        propagator.databases.scan()
        self.assertFalse(database.is_whole)

    def test_a_row_that_cannot_be_read_holds_up_no_other(self):
        self.write_at('sda', Row(version_name('x', Stamp(TICKS)),
                                 Stamp(TICKS), 0, 'text/plain', 'e'))
        last = self.rome.put('p', b'')
        self.audit()
        wait_for(lambda: self.shows(0, 'p') == last.id, 'it is there')

    def test_a_server_that_does_not_answer_is_asked_again(self):
        self.write_at('sda', self.wrong('o', self.first, self.second))
        server = self.container_servers[int(self.rome.conf['bind_port'])]
        server.fail()
        task, requests = self.audit(done=False)
        self.assertEqual(0, task.repaired)
        self.assertGreater(len(requests), 1)
        server.recover()
        task, _ = self.audit()
        self.assertEqual(1, task.repaired)
        self.assertEqual(self.second.id, self.shows(0, 'o'))


class TestAdoption(AuditCase):

    def adopt(self):
        self.rome.propagate()

    def own(self, obj):
        """What the user's container itself has of an object."""
        return [(record['name'], record['deleted']) for broker
                in self.rome.brokers() for record
                in broker.get_items_since(-1, 1000) if record['name'] == obj]

    def test_an_object_becomes_a_null_version_and_is_deleted(self):
        made = 1000000000
        self.rome.put_plain('old', b'old body', made)
        key = CONTAINER, 'old'
        stamp, _, body, _ = self.rome.data[key]
        self.rome.data[key] = stamp, {
            'X-Object-Meta-Color': 'blue', 'X-Delete-At': '4000000000',
            'Content-Type': 'image/png'}, body, stamp
        self.adopt()
        entry, = self.rome.strategy.history('old')
        self.assertEqual((stamp, True, 8, 'image/png', 'rome'), (
            entry.version.id, entry.null, entry.size, entry.content_type,
            entry.version.site))
        _, headers, body, _ = self.rome.data[HIDDEN, entry.data_name]
        self.assertEqual((b'old body', 'blue', '4000000000'), (
            body, headers['x-object-meta-color'], headers[DELETE_AT]))
        self.assertNotIn('x-delete-at', headers)
        self.assertEqual([('old', 1)] * 3, self.own('old'))
        self.assertEqual(Stamp(stamp.ticks, 1), self.rome.tombstones[key])

    def test_who_dies_between_two_steps_loses_nothing(self):
        self.rome.put_plain('old', b'old body', 1000000000)
        app = self.rome.app
        for step in range(2):
            calls = []

            def die(env, start_response, calls=calls, step=step):
                if env['REQUEST_METHOD'] in ('PUT', 'DELETE'):
                    calls.append(env['PATH_INFO'])
                if len(calls) > step:
                    raise RuntimeError('killed')
                return app(env, start_response)
            with mock.patch.object(self.rome, 'app', die):
                self.adopt()
            self.assertGreater(len(calls), step)
            self.assertIn((CONTAINER, 'old'), self.rome.data)
        self.adopt()
        self.assertEqual([b'old body'],
                         list(self.rome.bodies('old').values()))
        self.assertEqual([('old', 1)] * 3, self.own('old'))

    def test_a_newer_object_is_adopted_in_place_of_the_older_one(self):
        """A proxy that does not know of versions yet has written it."""
        self.rome.put_plain('old', b'first', 1000000000)
        self.adopt()
        self.rome.put_plain('old', b'second', 1000000001)
        self.adopt()
        self.assertEqual([b'second'], list(self.rome.bodies('old').values()))
        self.assertEqual([b'second'], [
            data[2] for data in self.rome.data.values()])

    def test_an_object_that_is_gone_is_left_alone(self):
        self.rome.put_plain('old', b'first', 1000000000)
        del self.rome.data[CONTAINER, 'old']
        self.adopt()
        self.assertEqual([], self.rome.strategy.history('old'))

    def test_a_version_that_was_made_after_it_stays_the_latest(self):
        self.rome.put_plain('o', b'old', time.time() - 100)
        version = self.rome.put('o', b'new')
        self.adopt()
        self.assertEqual(str(version.id), self.rome.latest('o'))
        self.assertEqual({b'new', b'old'},
                         set(self.rome.bodies('o').values()))

    def test_data_that_cannot_be_stored_is_tried_again(self):
        self.rome.put_plain('old', b'old', 1000000000)
        with mock.patch.object(self.rome, 'get_object',
                               side_effect=RuntimeError('down')):
            self.adopt()
        self.assertEqual([('old', 0)] * 3, self.own('old'))
        self.adopt()
        self.assertEqual([b'old'], list(self.rome.bodies('old').values()))
