# SPDX-License-Identifier: Apache-2.0
"""role_nodes: where an object belongs, and Swift's view of it."""

import os
from array import array
from unittest import mock

from swift.common.ring import Ring, RingData
from swift.common.swob import Request

from swift_lightsync.proar.names import LAG, REFUSED_HEADER
from swift_lightsync.proar.proxy.role_nodes import (
    RoleApplication,
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
            roles = Roles.of(ring, 'a', 'c', 'o%d' % number)
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
        roles = Roles.of(self.ring(), 'a', 'c', 'o')
        stock = roles.ring.get_part_nodes(roles.partition)
        self.assertEqual(sorted(stock[0]), sorted(roles.nodes[0]))
        self.assertEqual(list(range(len(roles.nodes))),
                         [each['index'] for each in roles.nodes])


class TestRoleRing(RingCase):

    def test_it_has_some_of_the_roles_and_no_hand_offs(self):
        roles = Roles.of(self.ring(), 'a', 'c', 'o')
        ring = roles.some(0, 2)
        self.assertEqual(2, ring.replica_count)
        self.assertEqual((roles.partition, list(roles.nodes[:2])),
                         ring.get_nodes('a', 'c', 'o'))
        self.assertEqual(list(roles.nodes[:2]),
                         ring.get_part_nodes(roles.partition))
        self.assertEqual([], list(ring.get_more_nodes(roles.partition)))
        self.assertEqual(roles.partition, ring.get_part('a', 'c', 'o'))

    def test_all_else_is_the_ring_s(self):
        stock = self.ring()
        ring = RoleRing(stock, 0, [])
        self.assertEqual((stock.next_part_power, stock.partition_count),
                         (ring.next_part_power, ring.partition_count))

    def test_callers_may_change_the_lists_that_they_get(self):
        ring = Roles.of(self.ring(), 'a', 'c', 'o').some(0, 2)
        ring.get_part_nodes(0).clear()
        ring.get_nodes('a')[1].clear()
        self.assertEqual(2, ring.replica_count)


class TestRoleNodeIter(RingCase):

    def iterator(self, limited=()):
        roles = Roles.of(self.ring(), 'a', 'c', 'o')
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


class TestRoleApplication(RingCase):

    def setUp(self):
        super().setUp()
        self.stock = mock.Mock()
        self.view = RoleApplication(self.stock, mock.sentinel.ring)

    def response(self, **headers):
        return mock.Mock(getheader=lambda name: headers.get(
            name.replace('-', '_')))

    def test_it_is_the_application_with_another_ring(self):
        self.assertIs(mock.sentinel.ring, self.view.get_object_ring(7))
        self.assertIs(self.stock.watchdog, self.view.watchdog)
        self.assertIs(self.stock.return_value, self.view({}, None))

    def test_nodes_keep_their_order(self):
        nodes = list(range(50))
        self.assertEqual(list(range(50)), self.view.sort_nodes(nodes))

    def test_a_refusal_is_a_failure_that_is_not_counted(self):
        refusal = self.response(**{REFUSED_HEADER.replace('-', '_'): LAG})
        self.assertFalse(self.view.check_response({}, 'Object', refusal,
                                                  'POST', '/'))
        self.assertFalse(self.stock.check_response.called)

    def test_other_answers_are_judged_by_the_application(self):
        answer = self.view.check_response({}, 'Object', self.response(),
                                          'POST', '/', b'body')
        self.assertIs(self.stock.check_response.return_value, answer)

    def test_an_error_that_may_be_a_refusal_is_logged_not_counted(self):
        self.view.error_occurred(node(0, 6200), 'ERROR 503')
        self.assertFalse(self.stock.error_occurred.called)
        self.assertIn('ERROR 503', str(self.stock.logger.mock_calls))
