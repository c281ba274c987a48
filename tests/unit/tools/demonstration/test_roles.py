# SPDX-License-Identifier: Apache-2.0
"""The third act tells who waits, who answers, and when all have converged."""

from collections import Counter
from types import SimpleNamespace
from unittest import mock

from tests.unit.tools.demonstration.test_act import ActCase
from tools.cluster import ClusterError, Policy
from tools.demonstration import roles
from tools.demonstration.client import ObjectName
from tools.demonstration.errors import DemoError

STOCK, PROAR = Policy('stock', 0, 3), Policy('proar', 1, 3, proar=True)
ALL = {'n1d1', 'n2d1', 'n3d1'}


def item(number, policy=PROAR):
    return ObjectName(policy.name, str(number)), 'digest of %s' % number


class RolesCase(ActCase):
    act_class = roles.PrimaryRole

    def setUp(self):
        super().setUp()
        self.stage.roles = self.cluster = mock.Mock()
        self.cluster.spec.policies = STOCK, PROAR
        self.cluster.spec.policy = {'stock': STOCK, 'proar': PROAR}.get
        self.cluster.devices = lambda node: ['n%dd1' % node]
        self.cluster.node_of = lambda device: int(device[1])
        self.act.expected = {}
        self.act.client.put = lambda item: item
        self.act.client.each = lambda operation, items, count, threads: [
            operation(each) for each in items]
        self.act.copies = mock.Mock()
        self.signals = []
        self.act.signal = lambda *args: self.signals.append(args)

    def shown(self):
        return self.act.show.stream.getvalue()


class TestWatching(RolesCase):
    def test_a_write_is_watched_until_all_devices_hold_it(self):
        self.act.copies.holders.side_effect = [
            {'n1d1'}, {'n1d1'}, {'n1d1', 'n2d1'}, ALL]
        write = self.act._watch(item(1))
        self.assertEqual([1, 2, 3], list(write.seen))
        self.assertEqual(sorted(write.seen.values()),
                         list(write.seen.values()))
        self.assertEqual(dict([item(1)]), self.act.expected)

    def test_a_device_that_never_gets_it_is_an_error(self):
        self.act.copies.holders.return_value = {'n1d1'}
        with mock.patch.object(roles, 'PATIENCE', 0.01), \
                self.assertRaisesRegex(ClusterError, 'hold proar/1'):
            self.act._watch(item(1))


class TestWaiting(RolesCase):
    def judge(self, stock, elsewhere):
        self.act._judge_waiting({'stock': [stock], 'else': [elsewhere],
                                 'there': [9]})

    def test_only_stock_waits(self):
        self.judge(roles.NODE_TIMEOUT + 0.1, 0.01)
        self.assertIn('0.010', self.shown())

    def test_a_primary_role_elsewhere_that_waits_is_an_error(self):
        with self.assertRaisesRegex(DemoError, 'only the first should'):
            self.judge(roles.NODE_TIMEOUT + 0.1, roles.NODE_TIMEOUT + 0.1)

    def test_stock_that_does_not_wait_is_an_error(self):
        with self.assertRaisesRegex(DemoError, 'only the first should'):
            self.judge(0.01, 0.01)

    def test_the_server_goes_on_whatever_happens(self):
        self.act.plan = SimpleNamespace(held_up={
            policy.name: [item(number, policy) for number in range(9)]
            for policy in (STOCK, PROAR)})
        self.act.copies.primary_role.return_value = 'n2d1'
        self.act.client.put = mock.Mock(side_effect=DemoError('no answer'))
        with self.assertRaisesRegex(DemoError, 'no answer'):
            self.act.stop_a_server()
        self.assertEqual([
            (2, 'object-server', roles.SIGSTOP),
            (2, 'object-server', roles.SIGCONT)], self.signals)


class TestDying(RolesCase):
    def setUp(self):
        super().setUp()
        self.cluster.pids.return_value = []
        self.act.plan = SimpleNamespace(last=[item(1), item(2)])
        self.act.copies.holders = {
            item(1)[0]: {'n2d1'}, item(2)[0]: {'n2d1', 'n3d1'}}.get
        self.answers = {item(1)[0]: 503, item(2)[0]: 200}
        self.act.client.status = lambda where: self.answers[where]

    def test_what_the_dead_node_has_alone_is_told(self):
        self.assertEqual([item(1)[0]], self.act.die_after_acknowledgements())
        self.assertEqual([
            (2, 'object-converger', roles.SIGKILL),
            (2, 'object-server', roles.SIGKILL)], self.signals)

    def test_a_404_of_what_was_acknowledged_is_an_error(self):
        self.answers[item(1)[0]] = 404
        with self.assertRaisesRegex(DemoError, 'with 503, and is with {404'):
            self.act.die_after_acknowledgements()

    def test_a_503_of_what_others_have_is_an_error(self):
        self.answers[item(2)[0]] = 503
        with self.assertRaisesRegex(DemoError, '200, and is with {503: 1}'):
            self.act.die_after_acknowledgements()

    def test_nothing_alone_proves_nothing(self):
        with self.assertRaisesRegex(DemoError, 'with 503, and is with {}'):
            self.act._judge_answers(Counter(), Counter({200: 5}))

    def test_a_third_is_overwritten_a_third_deleted_and_others_added(self):
        self.act.plan.later = [item('x'), item('y')]
        alone = [item(number)[0] for number in range(3)]
        self.act.go_on(alone)
        self.assertEqual({alone[0]: 'digest of x', alone[1]: None,
                          **dict(self.act.plan.later)}, self.act.expected)


class TestConverging(RolesCase):
    def test_all_devices_have_to_hold_all_of_the_policy(self):
        self.act.expected = dict([item(1), item(2), item(3, STOCK)])
        holders = {item(1)[0]: ALL, item(2)[0]: {'n1d1'}}
        self.act.copies.holders = holders.__getitem__
        self.assertFalse(self.act._has_converged())
        holders[item(2)[0]] = ALL
        self.assertTrue(self.act._has_converged())

    def test_a_lag_at_the_end_is_an_error(self):
        self.cluster.run.side_effect = ClusterError('exit status 1')
        with self.assertRaisesRegex(ClusterError, 'exit status 1'):
            self.act.ask_for_lag()
