# SPDX-License-Identifier: Apache-2.0
"""What the propagator does about sites, clocks and data that fail it."""

import time

from tests.unit.versioning.sites_world import SitesTestCase


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
                          if item and item.entry and
                          item.entry.version.id == held.id]
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
