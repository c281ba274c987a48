# SPDX-License-Identifier: Apache-2.0
"""What the task ``.life`` makes good: a container that is not what its record
says.
"""

import time
from unittest import mock

from swift.common import storage_policy
from swift.common.exceptions import ClientException

from swift_lightsync.versioning.proxy.container_deletion import next_life
from swift_lightsync.versioning.sites.life import LifeTask
from tests.unit.versioning.life_case import LifeCase
from tests.unit.versioning.proxies import TWO_POLICIES
from tests.unit.versioning.sites_world import CONTAINER, DEVICES


class TestLifeTask(LifeCase):

    def record_deletion(self):
        """A proxy of rome's dies between the record and the deletion."""
        self.rome.strategy.set_life(next_life(self.rome.strategy, False))

    def test_a_deletion_whose_proxy_died_after_the_record_is_finished(self):
        self.rome.create()
        self.settle()
        self.record_deletion()
        self.settle()
        self.assertEqual([], self.exist())
        self.assertEqual([False] * 3, [life.exists
                                       for life in self.records()])

    def test_what_fails_at_a_replica_is_said_and_tried_again(self):
        self.rome.create()
        self.record_deletion()
        with mock.patch(LifeTask.__module__ + '.direct_delete_container',
                        side_effect=ClientException(
                            'Unable', http_status=503)):
            self.rome.propagate()
        self.assertTrue(self.rome.has(CONTAINER))
        self.assertRegex(self.rome.logger.at('WARNING')[-1],
                         'is not as its record says: Unable')
        # One replica is gone already.
        self.rome._ask(DEVICES[1], 'DELETE', CONTAINER)
        self.rome.propagate()
        self.assertFalse(self.rome.has(CONTAINER))
        self.assertFalse(self.rome.strategy.life().exists)

    def test_it_is_undone_if_the_container_was_made_again_since(self):
        self.rome.create(X_Container_Meta_A='b')
        self.settle()
        self.record_deletion()
        self.rome.make_container()
        self.settle()
        self.settle()
        self.assertEqual(3, len(self.exist()))
        self.assertEqual(['b'] * 3, [site.metadata('X-Container-Meta-A')
                                     for site in self.sites])

    def test_so_it_is_if_the_replica_that_is_asked_does_not_know_that(self):
        self.rome.create(X_Container_Meta_A='b')
        self.settle()
        self.record_deletion()
        # The last replica is the one that its proxy asks.
        self.rome._ask(DEVICES[0], 'PUT', CONTAINER)
        self.settle()
        self.settle()
        self.assertEqual(3, len(self.exist()))
        for device in DEVICES:
            self.assertEqual('b', self.rome._ask(
                device, 'HEAD', CONTAINER).headers['X-Container-Meta-A'])
        self.assertEqual(1, len(set(self.records())))

    def test_it_is_undone_if_the_container_has_objects_of_its_own(self):
        self.rome.create()
        self.settle()
        self.record_deletion()
        self.rome.put_plain('old', b'old', time.time() - 100)
        self.settle()
        self.settle()
        self.assertEqual(3, len(self.exist()))
        self.assert_same('old')

    def test_one_of_another_storage_policy_is_not_given_versions(self):
        """Nobody would find their data. It was made at the same time."""
        self.rome.create()
        self.rome.change('DELETE')
        self.rome.put('o', b'late')
        with mock.patch.object(storage_policy, '_POLICIES', TWO_POLICIES):
            self.rome._ask_all('PUT', CONTAINER, {
                'X-Backend-Storage-Policy-Index': '1'})
            self.rome.propagate()
            self.settle()
            self.assertFalse(self.rome.has_versions(CONTAINER))
            self.assertIn('in another storage policy',
                          self.rome.logger.at('WARNING')[-1])
            self.assertEqual(3, len(self.exist()))
            self.rome._ask_all('DELETE', CONTAINER)
            self.settle()
            self.assertTrue(self.rome.has_versions(CONTAINER))
        self.assertEqual(3, len(self.exist()))
        self.assert_same('o')

    def test_it_waits_for_a_clock_that_is_ahead(self):
        self.rome.create()
        self.rome.skew = 50
        self.record_deletion()
        self.rome.skew = 0
        self.rome.propagate()
        self.assertTrue(self.rome.has(CONTAINER))

    def test_a_container_that_is_missing_is_made_again(self):
        self.rome.create()
        for device in DEVICES:
            self.rome._ask(device, 'DELETE', CONTAINER)
        self.rome.propagate()
        self.assertTrue(self.rome.has(CONTAINER))
