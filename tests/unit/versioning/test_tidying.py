# SPDX-License-Identifier: Apache-2.0
"""What the propagator finishes of purges that others have left."""

from unittest import mock

from swift_lightsync.versioning.core.row_data import version_name
from swift_lightsync.versioning.core.verb import Request
from swift_lightsync.versioning.server.row_table import record_of
from swift_lightsync.versioning.strategies.strategy import Strategy
from tests.unit.versioning.test_auditing import HIDDEN, AuditCase


class TestTidying(AuditCase):

    def nulls(self, *bodies):
        """Writers of null versions that die before they purge others."""
        with mock.patch.object(Strategy, 'replace_nulls',
                               lambda self, obj: []):
            return [self.rome.put('o', body, null=True) for body in bodies]

    def test_of_null_versions_the_newest_stays(self):
        kept = self.rome.put('o', b'kept')
        *old, last = self.nulls(b'1', b'2', b'3')
        self.assertEqual(4, len(self.rome.history('o')))
        self.rome.propagate()
        self.assertEqual([str(last.id), str(kept.id)],
                         [each[0] for each in self.rome.history('o')])
        for each in old:
            self.assertTrue(self.rome.strategy.get('o', each.id).purged)
            self.assertNotIn((HIDDEN, version_name('o', each.id)),
                             self.rome.data)
        self.assertEqual({b'3', b'kept'}, set(self.rome.bodies('o').values()))

    def test_all_sites_have_one(self):
        self.nulls(b'1', b'2')
        self.settle()
        self.assert_same('o')
        self.assertEqual(1, len(self.oslo.history('o')))

    def test_an_older_one_waits_where_a_newer_one_is_purged_later(self):
        for site in self.sites:
            site.make_container()
        older = self.rome.put('o', b'older', null=True)
        newer = self.paris.put('o', b'newer', null=True)
        self.rome.go_away()
        self.paris.propagate()
        self.assertEqual(str(newer.id), self.oslo.latest('o'))
        self.rome.listen()
        self.paris.purge('o', newer.id)
        self.rome.propagate()
        self.assertEqual(str(newer.id), self.oslo.latest('o'))
        self.assertEqual(str(older.id), self.paris.latest('o'))
        self.settle()
        self.assert_same('o')
        self.assertEqual({str(older.id): b'older'}, self.oslo.bodies('o'))

    def test_a_newer_null_marker_replaces_them_too(self):
        self.nulls(b'1')
        self.rome.delete('o', null=True)
        self.nulls(b'2')
        self.rome.propagate()
        self.assertEqual({b'2'}, set(self.rome.bodies('o').values()))
        self.assertEqual(1, len(self.rome.history('o')))


class TestNullsThatMeet(AuditCase):

    devices = ('sda',)

    def test_one_that_a_newer_one_overtakes_is_purged_at_all_sites(self):
        """Between the look for newer ones and the row of the older one."""
        for site in self.sites:
            site.make_container()
        older = self.rome.put('o', b'older', null=True)
        put_data, bodies, newer = self.paris.put_data, [b'newer'], []

        def overtaken(*args):
            response = put_data(*args)
            while bodies:
                newer.append(self.paris.put('o', bodies.pop(), null=True))
            return response
        with mock.patch.object(self.paris, 'put_data', overtaken):
            self.rome.propagate()
        self.assertEqual(str(newer[0].id), self.paris.latest('o'))
        self.paris.purge('o', newer[0].id)
        self.settle()
        for site in self.sites:
            self.assertIsNone(site.latest('o'), site.name)
            self.assertTrue(site.strategy.get('o', older.id).purged)


class TestReplicasThatWereAway(AuditCase):
    """The container-replicator brings rows without asking anybody."""

    def setUp(self):
        super().setUp()
        self.version = self.rome.put('o', b'1')
        self.rome.put('o', b'2')
        self.settle_replicas()
        self.row, = self.rome.strategy.rows.read(Request(names=(
            version_name('o', self.version.id),))).rows.values()

    def purge(self):
        self.rome.purge('o', self.version.id)
        self.settle_replicas()

    def bring_back(self, *numbers):
        """As if its deleted row were reclaimed everywhere."""
        for broker in self.rome.brokers(HIDDEN):
            with broker.get() as connection:
                connection.execute('DELETE FROM object WHERE name = ?',
                                   (self.row.name,))
                connection.commit()
        for number in numbers:
            self.rome.brokers(HIDDEN)[number].merge_items([
                record_of(self.row, 0)])

    def test_what_comes_back_beside_its_record_is_purged_again(self):
        self.purge()
        self.bring_back(0, 1, 2)
        self.assertEqual(2, len(self.rome.history('o')))
        self.rome.propagate()
        self.assertEqual(1, len(self.rome.history('o')))
        self.assertTrue(self.rome.strategy.get('o', self.version.id).purged)

    def test_the_record_stays_while_one_replica_has_the_version(self):
        self.purge()
        self.bring_back(2)
        propagator = self.rome.propagator(reclaim_age='0')
        task = propagator.upkeep['purge']
        database, *_ = self.databases(propagator)
        items = [item for _, _, item in database.items(-1)
                 if item and task.wants(item)]
        with mock.patch.object(type(database), 'shipped',
                               lambda self, peers: 10 ** 9):
            self.assertEqual([False], [
                done for _, done in task.work_on(database, items)])
            self.rome.propagate()
            self.assertEqual([True], [
                done for _, done in task.work_on(database, items)])
