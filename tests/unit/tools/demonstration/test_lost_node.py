# SPDX-License-Identifier: Apache-2.0
"""Node, copy and replicators are what the first act says they are."""

from unittest import mock

from tests.unit.tools.demonstration.test_act import EQUAL, UNEQUAL, ActCase
from tools.demonstration import lost_node, replicas
from tools.demonstration.comparison import Repair
from tools.demonstration.errors import DemoError
from tools.demonstration.passes import Cost


class TestLostNode(ActCase):
    act_class = lost_node.LostNode

    def setUp(self):
        super().setUp()
        patch = mock.patch.object(lost_node, 'Meter', self.meter)
        self.addCleanup(patch.stop)
        patch.start()

    def repair(self):
        return self.act.repair('Repair', self.stage.lightsync, UNEQUAL)

    def test_passes_are_run_until_the_disks_are_equal_and_once_more(self):
        repair = self.repair()
        self.assertEqual(3, self.passes)
        self.assertEqual(Cost(2, (2, 4, 6), 20, 1.0, 2), repair.until_equal)
        self.assertEqual(Cost(1, (1, 2, 3), 10, 0.5, 1), repair.stable)

    def test_disks_that_do_not_stay_equal_are_an_error(self):
        self.equal_until = 2
        with self.assertRaisesRegex(DemoError, 'in the stable state'):
            self.repair()

    def test_a_repair_that_began_with_other_disks_is_no_comparison(self):
        self.equal_after = 0
        with self.assertRaisesRegex(DemoError, 'have changed before'):
            self.repair()
        self.assertEqual(0, self.passes)

    def test_each_replicator_must_have_used_its_own_messages(self):
        none, some = Cost(1, (0, 5, 0)), Cost(1, (5, 5, 0))

        def check(lightsync, stock):
            self.act.check_protocols({
                'lightsync': Repair(lightsync, lightsync),
                'stock': Repair(stock, stock)})

        check(some, none)
        with self.assertRaisesRegex(DemoError, 'lightsync .* sent 0'):
            check(none, none)
        with self.assertRaisesRegex(DemoError, 'stock .* sent 10'):
            check(some, some)

    def test_ends_that_differ_are_an_error(self):
        with mock.patch.object(replicas, 'survey',
                               side_effect=[EQUAL, UNEQUAL]), \
                self.assertRaisesRegex(DemoError, 'different files'):
            self.act.compare_ends()
