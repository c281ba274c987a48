# SPDX-License-Identifier: Apache-2.0
"""How long noncurrent versions are kept."""

from unittest import mock

from swift_lightsync.versioning.core.life import EXPIRE, KEEP
from swift_lightsync.versioning.core.row_data import Entry, hidden_container
from swift_lightsync.versioning.core.stamp import TICKS, Stamp
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.sites import lifecycle
from swift_lightsync.versioning.sites.lifecycle import over
from tests.unit.versioning.sites_world import CONTAINER, SitesTestCase

DAY = 86400


class TestLifecycle(SitesTestCase):

    def setUp(self):
        super().setUp()
        self.rome.create()

    def limit(self, **headers):
        self.rome.change('POST', **headers)

    def put(self, days, obj='o', body=b'x'):
        """Write a version some days ago."""
        self.rome.skew = -days * DAY
        try:
            return self.rome.put(obj, body)
        finally:
            self.rome.skew = 0

    def look(self):
        propagator = self.rome.propagator()
        propagator.databases.scan()
        propagator.lifecycle.run_pass()

    def left(self, obj='o'):
        return [each[0] for each in self.rome.history(obj)]

    def test_without_limits_all_stay(self):
        for days in 400, 300, 0:
            self.put(days)
        self.look()
        self.assertEqual(3, len(self.left()))

    def test_the_newest_noncurrent_ones_are_kept(self):
        versions = [self.put(days) for days in (5, 4, 3, 2, 1)]
        other = self.put(5, 'p')
        self.limit(**{KEEP: '2'})
        self.look()
        self.assertEqual([str(each.id) for each in versions[:1:-1]],
                         self.left())
        self.assertEqual([str(other.id)], self.left('p'))
        self.assertEqual({hidden_container(CONTAINER)},
                         {key[0] for key in self.rome.data})
        self.assertEqual(4, len(self.rome.data))

    def test_none_may_be_kept_but_the_latest(self):
        self.put(2)
        last = self.put(1)
        self.limit(**{KEEP: '0'})
        self.look()
        self.assertEqual([str(last.id)], self.left())

    def test_days_count_from_when_a_version_became_noncurrent(self):
        self.put(100)
        kept, last = self.put(50), self.put(5)
        self.limit(**{EXPIRE: '30'})
        self.look()
        self.assertEqual([str(last.id), str(kept.id)], self.left())

    def test_the_days_of_a_version_have_to_be_over(self):
        old, new = (Entry('o', Version(Stamp(at * TICKS), 'rome', Vector()))
                    for at in (1000, 2000))
        for now, gone in (2000 + 3 * DAY, []), (2001 + 3 * DAY, [old]):
            self.assertEqual(gone, list(over([new, old], None, 3, now)))

    def test_it_looks_after_each_interval(self):
        propagator = self.rome.propagator(compare_interval='7')
        done = mock.Mock()
        done.sleep.side_effect = 0, 0, KeyboardInterrupt
        with mock.patch.object(lifecycle, 'sleep', done.sleep), \
                mock.patch.object(propagator.lifecycle, 'run_pass',
                                  done.look), \
                self.assertRaises(KeyboardInterrupt):
            propagator.lifecycle.run_forever()
        self.assertEqual([mock.call.sleep(7), mock.call.look()] * 2 +
                         [mock.call.sleep(7)], done.mock_calls)

    def test_a_version_that_either_limit_keeps_stays(self):
        versions = [self.put(days) for days in (100, 90, 80, 70, 2, 1)]
        self.limit(**{EXPIRE: '30', KEEP: '2'})
        self.look()
        self.assertEqual([str(each.id) for each in versions[:2:-1]],
                         self.left())
        self.limit(**{EXPIRE: '30', KEEP: '0'})
        self.look()
        # The older of these became noncurrent two days ago.
        self.assertEqual([str(each.id) for each in versions[:2:-1]],
                         self.left())

    def test_the_latest_stays_however_old_it_is(self):
        last = self.put(1000)
        self.limit(**{EXPIRE: '1', KEEP: '0'})
        self.look()
        self.assertEqual([str(last.id)], self.left())

    def test_a_delete_marker_makes_data_noncurrent(self):
        self.put(10, body=b'old')
        self.rome.skew = -5 * DAY
        marker = self.rome.delete('o')
        self.rome.skew = 0
        self.limit(**{EXPIRE: '3'})
        self.look()
        self.assertEqual([str(marker.id)], self.left())
        self.assertEqual({}, self.rome.data)

    def test_all_pages_are_looked_at(self):
        for obj in 'opq':
            for days in 3, 2, 1:
                self.put(days, obj)
        self.limit(**{KEEP: '0'})
        with mock.patch.object(lifecycle, 'MAX_ROWS', 2):
            self.look()
        self.assertEqual([1] * 3, [len(self.left(obj)) for obj in 'opq'])

    def test_purges_reach_the_other_sites(self):
        for days in 2, 1:
            self.put(days)
        self.settle()
        self.assertEqual(2, len(self.paris.history('o')))
        self.limit(**{KEEP: '0'})
        self.look()
        self.settle()
        self.assert_same('o')
        self.assertEqual(1, len(self.paris.data))

    def test_what_cannot_be_looked_at_stays_for_the_next_time(self):
        for days in 2, 1:
            self.put(days)
        self.limit(**{KEEP: '0'})
        server = self.container_servers[int(self.rome.conf['bind_port'])]
        server.fail()
        self.look()
        server.recover()
        self.assertEqual(2, len(self.left()))
        self.look()
        self.assertEqual(1, len(self.left()))
