# SPDX-License-Identifier: Apache-2.0
"""Rows that the propagator repairs, and records of purges that it drops."""

from swift_lightsync.versioning.core.row_data import (
    hidden_container,
    listing_name,
    listing_row,
)
from swift_lightsync.versioning.core.stamp import TICKS, Stamp
from swift_lightsync.versioning.core.verb import Request, WireRow
from tests.unit.versioning.sites_world import CONTAINER, SitesTestCase


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

    def records(self):
        """Return the records of purges in one database of Rome."""
        propagator = self.rome.propagator()
        propagator.databases.scan()
        database = next(each for _, each in propagator.databases
                        if each.hidden)
        return [item for _, _, item in database.items(-1)
                if item and item.entry and item.entry.purged]

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
        self.assertEqual([], self.records())

    def test_a_purge_record_goes_when_it_is_old_and_all_have_it(self):
        self.purge_one()
        propagator = self.rome.propagate(2, reclaim_age='0')
        self.assertEqual([], self.records())
        self.assertGreater(propagator.state().purged, 0)
        self.assertEqual([], self.rome.history('o'))

    def test_a_purge_record_stays_while_it_is_young(self):
        self.purge_one()
        self.rome.propagate(2, reclaim_age='1000')
        self.assertEqual(1, len(self.records()))

    def test_a_purge_record_stays_while_a_site_lacks_it(self):
        self.purge_one()
        self.paris.go_away()
        self.rome.propagate(2, reclaim_age='0')
        self.assertEqual(1, len(self.records()))
        self.paris.listen()
        self.rome.propagate(2, reclaim_age='0')
        self.assertEqual([], self.records())

    def test_a_purge_record_stays_while_a_replica_lacks_it(self):
        self.purge_one()
        broker = self.rome.brokers(hidden_container(CONTAINER))[1]
        record, = self.records()
        with broker.get() as connection:
            connection.execute('DELETE FROM object WHERE name = ?',
                               (record.row.name,))
            connection.commit()
        # Who reads the rows would mend it.
        propagator = self.rome.propagate(2, reclaim_age='0',
                                         repair_delay='3600')
        self.assertEqual(0, propagator.state().purged)
