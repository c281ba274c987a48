# SPDX-License-Identifier: Apache-2.0
"""role_nodes: where an object belongs, and Swift's view of it."""

import os
from array import array
from unittest import mock

from swift.common.ring import Ring, RingData
from swift.common.swob import Request
from swift.proxy import server

from swift_lightsync.proar.core import epochs
from swift_lightsync.proar.names import LAG, REFUSED_HEADER
from swift_lightsync.proar.proxy.role_application import RoleApplication
from swift_lightsync.proar.proxy.role_nodes import (
    RoleNodeIter,
    RoleRing,
    Roles,
)
from tests.unit.sync.fixtures import SwiftTestCase, node

#: Rows of a ring of two partitions and 2.5 replicas; device 1 is in the
#: second partition twice.
ROWS = ((0, 1), (1, 2), (2,))


def ids(nodes):
    return [each['id'] for each in nodes]


class RingCase(SwiftTestCase):

    def ring(self, rows=ROWS, nodes=4):
        RingData([array('H', row) for row in rows],
                 [node(number, 6200 + number) for number in range(nodes)],
                 31).save(os.path.join(self.root, 'object.ring.gz'))
        return Ring(self.root, ring_name='object', reload_time=15)


class TestRoles(RingCase):

    def by_slot(self, ring, partition):
        """Return dict of slot -> ids of the devices of its objects"""
        found = {}
        for number in range(200):
            roles = Roles.of(ring, self.policy, 'a', 'c', 'o%d' % number)
            if roles.partition == partition:
                found.setdefault(roles.slot, ids(roles.nodes))
        return found

    def test_they_begin_with_the_row_of_the_slot(self):
        for rows, partition, wanted in (
                (ROWS, 0, {0: [0, 1, 2], 1: [1, 2, 0], 2: [2, 0, 1]}),
                # A partition that fewer rows hold has fewer slots.
                (ROWS, 1, {0: [1, 2], 1: [2, 1]}),
                # A device in two rows is one role of two slots.
                (((0, 0), (3, 1), (0, 2)), 0,
                 {0: [0, 3], 1: [3, 0], 2: [0, 3]}),
                # One that takes another's place inherits its slots.
                (((0, 1), (3, 2), (2,)), 0,
                 {0: [0, 3, 2], 1: [3, 2, 0], 2: [2, 0, 3]})):
            self.assertEqual(wanted, self.by_slot(self.ring(rows), partition))

    def test_they_are_annotated_as_nodes_of_a_ring(self):
        roles = Roles.of(self.ring(), self.policy, 'a', 'c', 'o')
        stock = roles.ring.get_part_nodes(roles.partition)
        self.assertEqual(sorted(stock[0]), sorted(roles.nodes[0]))
        self.assertEqual(list(range(len(roles.nodes))),
                         [each['index'] for each in roles.nodes])


class TestRoleRing(RingCase):

    def test_it_has_some_of_the_roles_and_no_hand_offs(self):
        roles = Roles.of(self.ring(), self.policy, 'a', 'c', 'o')
        ring = roles.some(0, 2)
        self.assertEqual(2, ring.replica_count)
        self.assertEqual((roles.partition, list(roles.nodes[:2])),
                         ring.get_nodes('a', 'c', 'o'))
        self.assertEqual(list(roles.nodes[:2]),
                         ring.get_part_nodes(roles.partition))
        self.assertEqual([], list(ring.get_more_nodes(roles.partition)))
        self.assertEqual(roles.partition, ring.get_part('a', 'c', 'o'))

    def test_a_part_power_increase_is_the_ring_s(self):
        stock = self.ring()
        stock._next_part_power = 2
        self.assertEqual(2, RoleRing(stock, 0, []).next_part_power)

    def test_callers_may_change_the_lists_that_they_get(self):
        ring = Roles.of(self.ring(), self.policy, 'a', 'c', 'o').some(0, 2)
        ring.get_part_nodes(0).clear()
        ring.get_nodes('a')[1].clear()
        self.assertEqual(2, ring.replica_count)


class TestRoleNodeIter(RingCase):

    def iterator(self, limited=()):
        roles = Roles.of(self.ring(), self.policy, 'a', 'c', 'o')
        self.roles = ids(roles.nodes)
        app = mock.Mock()
        app.request_node_count = lambda replicas: 2 * replicas
        app.sort_nodes = lambda nodes, policy=None: nodes
        app.error_limited = lambda each: each['id'] in [
            self.roles[number] for number in limited]
        return RoleNodeIter('object', app, roles.some(0, 1), roles.partition,
                            self.logger, Request.blank('/'),
                            node_iter=iter(roles.nodes))

    def test_the_primary_role_comes_alone_and_then_the_others(self):
        nodes = self.iterator()
        self.assertEqual(self.roles[:1], ids(nodes))
        self.assertEqual(self.roles[1:], ids(nodes))
        self.assertEqual([], ids(nodes))

    def test_an_error_limited_node_is_left_out(self):
        nodes = self.iterator(limited=[0, 1])
        self.assertEqual([], ids(nodes))
        self.assertEqual(self.roles[2:], ids(nodes))


class TestRegions(RingCase):
    """Devices 0 to 5, in regions 1, 2, 1, 2, 3, 3."""

    def roles_of(self, regions, row):
        """:returns: slot -> ids of the devices of objects with that slot"""
        nodes = [node(number, 6200 + number, region=region) for number, region
                 in enumerate((1, 2, 1, 2, 3, 3))]
        RingData([array('H', [each, each]) for each in row], nodes, 31).save(
            os.path.join(self.root, 'object.ring.gz'))
        ring = Ring(self.root, ring_name='object')
        with mock.patch('swift_lightsync.proar.vouching.places.regions_of',
                        return_value=frozenset(regions)):
            found = [Roles.of(ring, self.policy, 'a', 'c', 'o%d' % number)
                     for number in range(100)]
        return {each.slot: ids(each.nodes) for each in found}

    def test_slots_are_the_rows_in_these_regions_only(self):
        for regions, row, wanted in (
                ((1,), (0, 1, 2), {0: [0, 2, 1], 2: [2, 0, 1]}),
                ((2,), (0, 1, 2), {1: [1, 2, 0]}),
                ((1, 2), (4, 0, 1), {1: [0, 1, 4], 2: [1, 0, 4]}),
                ((), (4, 0, 1), {0: [4, 0, 1], 1: [0, 1, 4], 2: [1, 4, 0]}),
                # None of its devices is in one of them: any may be.
                ((3,), (0, 1), {0: [0, 1], 1: [1, 0]})):
            with self.subTest(regions=regions):
                self.assertEqual(wanted, self.roles_of(regions, row))

    def test_the_epoch_names_the_regions(self):
        for version, regions, number, text in (
                (7, (), 7, 'ring 7'),
                (7, (0, 2), 7 + (5 << 20),
                 'ring 7, primary roles in regions 0+2')):
            self.assertEqual(number, epochs.epoch_number(version, regions))
            self.assertEqual((version, set(regions), text), (
                epochs.version_in(number), epochs.regions_in(number),
                epochs.epoch_text(number)))
        self.assertTrue(epochs.is_newer(8, 7 + (1 << 20)))
        self.assertFalse(epochs.is_newer(7 + (1 << 20), 7))


class TestRoleApplication(RingCase):

    def setUp(self):
        super().setUp()
        self.app = RoleApplication.__new__(RoleApplication)
        self.app.logger = self.logger
        self.view = self.app.with_roles(
            Roles.of(self.ring(), self.policy, 'a', 'c', 'o').some(0, 1))
        self.stock = {name: self.enterContext(mock.patch.object(
            server.Application, name)) for name in (
                'check_response', 'error_occurred', 'sort_nodes',
                'get_object_ring')}

    def response(self, **headers):
        return mock.Mock(status=503, getheader=lambda name: headers.get(
            name.replace('-', '_')))

    def test_it_is_the_application_with_another_ring(self):
        self.assertIs(self.view._role_ring, self.view.get_object_ring(7))
        self.assertIs(self.app.logger, self.view.logger)
        self.assertIs(self.stock['get_object_ring'].return_value,
                      self.app.get_object_ring(7))

    def test_nodes_of_roles_keep_their_order(self):
        nodes = list(range(50))
        self.assertEqual(list(range(50)), self.view.sort_nodes(nodes))
        self.assertIs(self.stock['sort_nodes'].return_value,
                      self.app.sort_nodes(nodes))

    def test_a_refusal_is_a_failure_that_is_not_counted(self):
        refusal = self.response(**{REFUSED_HEADER.replace('-', '_'): LAG})
        for app in self.app, self.view:
            self.assertFalse(app.check_response({}, 'Object', refusal,
                                                'POST', '/'))
        self.assertFalse(self.stock['check_response'].called)

    def test_other_answers_are_judged_by_swift(self):
        answer = self.view.check_response({}, 'Object', self.response(),
                                          'POST', '/', b'body')
        self.assertIs(self.stock['check_response'].return_value, answer)

    def test_an_error_that_may_be_a_refusal_is_logged_not_counted(self):
        self.view.error_occurred(node(0, 6200), 'ERROR 503')
        self.assertFalse(self.stock['error_occurred'].called)
        self.assertIn('ERROR 503', str(self.logger.at('WARNING')))
        self.app.error_occurred(node(0, 6200), 'ERROR 503')
        self.assertTrue(self.stock['error_occurred'].called)
