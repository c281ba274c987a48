# SPDX-License-Identifier: Apache-2.0
"""The acts end well only if disks, proxies and sites say so."""

import io
import subprocess
import sys
from collections import Counter
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP
from tempfile import TemporaryDirectory
from unittest import TestCase, mock

from swift_lightsync.versioning.core.stamp import Stamp, offset_of
from swift_losf.format.layout import Layout
from tests.unit.tools.demonstration.test_survey import (
    GONE,
    HASH,
    NEW,
    OLD,
    PLACEMENT,
)
from tools import ToolError
from tools.cluster import Policy
from tools.demonstration import act, lost_node, roles, survey, volumes
from tools.demonstration.passes import Cost
from tools.demonstration.show import Show
from tools.demonstration.users import ObjectName, Upload
from tools.demonstration.versions import History, judge

NAME, OTHER = ObjectName('gold', 'object'), ObjectName('gold', 'other')
GOLD = Policy('gold', 0, 3)
FIRST, LAST = Policy('stock', 0, 3), Policy('proar', 1, 3, proar=True)


def disks(*files):
    return dict(zip('abc', (frozenset([each]) for each in files)))


EQUAL, UNEQUAL = disks(NEW, NEW, NEW), disks(NEW, NEW, OLD)


class ActCase(TestCase):
    """An act whose passes and surveys find what the test says."""

    act_class = act.Act
    policies = (GOLD,)

    def setUp(self):
        self.cluster = mock.Mock()
        self.cluster.spec.policies = self.policies
        self.cluster.devices = lambda node: ['n%dd1' % node]
        self.cluster.device_paths.return_value = {
            'n1d1': '/1/n1d1', 'n2d1': '/2/n2d1'}
        self.cluster.node_of = lambda device: int(device[1])
        self.stream = io.StringIO()
        self.act = self.act_class(
            mock.Mock(clusters=mock.MagicMock(
                __getitem__=lambda _, name: self.cluster)),
            Show(self.stream), 600, {NAME: 'new'})
        self.act.user = mock.Mock(put=lambda item: (item.where, item.seed))
        self.act.copies = mock.Mock(
            hash={NAME: HASH, OTHER: 'e' * 32}.get,
            policy=lambda where: mock.Mock(index=0, replicas=3))
        self.found = iter(())
        for target, name, value in (
                (survey, 'placement', lambda cluster: PLACEMENT),
                (survey, 'survey', lambda cluster: next(self.found)),
                (act, 'one_pass', lambda cluster: Cost(
                    1, Counter(LIGHTSYNC=2), 10, 0.5, 1))):
            patch = mock.patch.object(target, name, value)
            self.addCleanup(patch.stop)
            patch.start()


class TestAct(ActCase):
    def test_only_what_was_acknowledged_may_be_on_the_disks(self):
        for expected, found, fault in (
                ({NAME: 'new'}, UNEQUAL, None),
                ({NAME: 'new', OTHER: 'x'}, EQUAL,
                 'gold/other: nothing, not content x'),
                ({NAME: 'new', OTHER: None}, EQUAL,
                 'gold/other: nothing, not a tombstone'),
                ({NAME: 'new'}, disks(OLD, OLD, OLD),
                 'gold/object: content old, not content new'),
                ({NAME: 'new'}, disks(GONE, GONE, GONE),
                 'gold/object: a tombstone, not content new'),
                ({}, EQUAL, 'object %s: content new, not nothing' % HASH)):
            self.act.expected, self.found = expected, iter([found])
            if fault is None:
                self.assertEqual(found == EQUAL,
                                 self.act.look(self.cluster).equal)
            else:
                with self.assertRaisesRegex(ToolError, fault):
                    self.act.look(self.cluster)

    def test_objects_of_other_policies_do_not_count_if_one_is_named(self):
        both = {**EQUAL, 'a': frozenset([NEW, OLD._replace(policy=1)])}
        self.found = iter([both, both])
        self.assertTrue(self.act.look(self.cluster, GOLD).equal)
        with self.assertRaisesRegex(ToolError, 'object %s' % HASH):
            self.act.look(self.cluster, LAST)

    def test_passes_are_run_until_the_disks_are_equal(self):
        self.found = iter([UNEQUAL, EQUAL])
        total = self.act.replicate_until_equal(self.cluster)
        self.assertEqual((2, 4, 20), (
            total.passes, total.all_messages, total.rsync_bytes))

    def test_disks_that_never_become_equal_are_an_error_with_examples(self):
        rotten = NEW._replace(content='unreadable')
        self.found = iter([disks(NEW, rotten, NEW)] * act.MAX_PASSES)
        with self.assertRaisesRegex(ToolError, 'after 12 .*\n.*b: differs'):
            self.act.replicate_until_equal(self.cluster)

    def test_results_come_in_order_and_each_cue_once_in_its(self):
        called = []
        self.assertEqual([*range(20)], self.act.each(
            int, range(20), 'numbers', {
                number: lambda number=number: called.append(number)
                for number in (5, 10, 21)}))
        self.assertEqual([5, 10], called)
        with self.assertRaises(ValueError):
            self.act.each(int, ['x'], 'numbers')

    def test_what_was_put_and_deleted_is_expected(self):
        self.act.put([Upload(OTHER, 'seed')], 'objects')
        self.assertEqual({NAME: 'new', OTHER: 'seed'}, self.act.expected)
        self.act.delete([OTHER])
        self.assertEqual({NAME: 'new', OTHER: None}, self.act.expected)

    def test_a_signal_reaches_each_process_and_there_must_be_one(self):
        victim = subprocess.Popen([sys.executable, '-c', 'input()'],
                                  stdin=subprocess.PIPE)
        self.addCleanup(victim.stdin.close)
        self.cluster.pids.side_effect = [[victim.pid], []]
        self.act.signal(2, 'index-server', SIGKILL)
        self.assertEqual(-SIGKILL, victim.wait())
        with self.assertRaisesRegex(ToolError, 'node 2 has no index-server'):
            self.act.signal(2, 'index-server', SIGKILL)

    def test_the_proxy_and_its_listings_are_compared(self):
        for fault, listing in (('c/o is wrong', ['object']),
                               ('', ['object', 'ghost'])):
            self.act.user.check.return_value = fault
            self.act.user.listing.return_value = listing
            with self.assertRaisesRegex(ToolError, fault or 'gold/ghost'):
                self.act.check_served()
        self.act.user.listing.return_value = ['object']
        self.act.check_served()


class TestLostNode(ActCase):
    act_class = lost_node.LostNode

    def repair(self, *found, before=UNEQUAL, is_ours=True):
        self.found = iter(found)
        return self.act.repair('x', self.cluster, before, is_ours)

    def test_passes_are_run_until_the_disks_are_equal_and_once_more(self):
        repair, stable = self.repair(UNEQUAL, UNEQUAL, EQUAL, EQUAL)
        self.assertEqual((2, 1), (repair.passes, stable.passes))

    def test_what_is_no_comparison_is_an_error(self):
        for found, is_ours, fault in (
                ((UNEQUAL, EQUAL, UNEQUAL), True, 'in the stable state'),
                ((EQUAL,), True, 'have changed before'),
                ((UNEQUAL, EQUAL, EQUAL), False, 'sent 4 sync messages')):
            with self.assertRaisesRegex(ToolError, fault):
                self.repair(*found, is_ours=is_ours)
        self.found = iter([EQUAL, UNEQUAL])
        with self.assertRaisesRegex(ToolError, 'different files'):
            self.act.compare_ends(self.cluster)


class TestVolumes(ActCase):
    act_class = volumes.Volumes
    policies = (Policy('files', 0, 3), Policy('volumes', 1, 3, kv=True))

    def test_what_grows_with_objects_is_counted(self):
        with TemporaryDirectory() as device:
            for path in ('objects/7/abc/%s/1.data' % HASH,
                         'objects/7/hashes.pkl', 'objects/7/.lock',
                         'losf-1/volumes/v1', 'losf-1/index/CURRENT',
                         'losf-1/index.lock'):
                path = Path(device, path)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b'x')
            self.assertEqual([3, 2, 0], [volumes.footprint(Layout(
                device, policy))[0] for policy in (0, 1, 2)])

    def test_volumes_that_take_as_many_files_as_files_are_an_error(self):
        with mock.patch.object(volumes, 'footprint', side_effect=[
                (9, 3000), (9, 4000), (2, 1500), (2, 2500)]):
            self.assertEqual(4.5, self.act.compare_footprints())
        self.assertRegex(self.stream.getvalue(), 'directories +18 +4\n')
        with mock.patch.object(volumes, 'footprint', return_value=(9, 1)), \
                self.assertRaisesRegex(ToolError, '18 files and'):
            self.act.compare_footprints()

    def test_fsck_looks_at_every_device_while_no_index_is_served(self):
        self.cluster.run.return_value.stdout = 'found: nothing\n'
        with mock.patch.object(volumes, '_serves'):
            self.act.check_indexes()
        stop, *checks, start = [
            call.args for call in self.cluster.mock_calls
            if call[0] in ('swift_init', 'run')]
        self.assertEqual([('object-losf', 'stop'), ('object-losf', 'start')],
                         [stop, start])
        self.assertEqual(['/1/n1d1', '/2/n2d1'],
                         [argv[2] for argv, in checks])


class TestRoles(ActCase):
    act_class = roles.PrimaryRole
    policies = (FIRST, LAST)

    def setUp(self):
        super().setUp()
        self.act.stock, self.act.proar = self.policies
        self.signals = []
        self.act.signal = lambda *args: self.signals.append(args)
        self.cluster.pids.return_value = []

    def test_a_write_is_watched_until_all_devices_hold_it(self):
        self.act.copies.holders.side_effect = [
            {'a'}, {'a'}, {'a', 'b'}, {'a', 'b', 'c'}]
        self.assertEqual(1, self.act._watch(Upload(OTHER, 's')).copies)
        self.assertEqual('s', self.act.expected[OTHER])
        self.act.copies.holders.side_effect = lambda _: {'a'}
        with mock.patch.object(roles, 'PATIENCE', 0.01), \
                self.assertRaisesRegex(ToolError, 'hold gold/other'):
            self.act._watch(Upload(OTHER, 's'))

    def test_only_stock_may_wait(self):
        long = roles.NODE_TIMEOUT + 0.1
        for stock, elsewhere, is_good in (
                (long, 0.01, True), (long, long, False), (0.01, 0.01, False)):
            times = {'stock': [stock], 'else': [elsewhere], 'there': [9]}
            if is_good:
                self.act.judge_waiting(times)
                continue
            with self.assertRaisesRegex(ToolError, 'only the first should'):
                self.act.judge_waiting(times)

    def test_the_server_goes_on_whatever_happens(self):
        self.act.copies.primary_role.return_value = 'n2d1'
        self.act.user.put = mock.Mock(side_effect=ToolError('no answer'))
        with self.assertRaisesRegex(ToolError, 'no answer'):
            self.act.stop_a_server(self.act.to_each('x', 9))
        self.assertEqual([(2, 'object-server', SIGSTOP),
                          (2, 'object-server', SIGCONT)], self.signals)

    def test_what_the_dead_node_has_alone_is_answered_with_503(self):
        items = self.act.uploads('proar', 'x', 2)
        first, second = (item.where for item in items)
        self.act.copies.holders = {first: {'n2d1'}, second: {'n3d1'}}.get
        for answers, fault in (((503, 200), None), ((404, 200), '{404: 1}'),
                               ((503, 503), 'and is with {503: 1}$')):
            self.act.user.read = lambda where: (
                dict(zip((first, second), answers))[where], b'')
            if fault is None:
                self.assertEqual(
                    [first], self.act.die_after_acknowledgements(items))
            else:
                with self.assertRaisesRegex(ToolError, fault):
                    self.act.die_after_acknowledgements(items)


class TestVersions(TestCase):
    ids = [str(Stamp(ticks, offset_of(rank, 7)))
           for ticks, rank in ((2, 1), (1, 0))]
    good = History(tuple(ids), (ids[0],), ('new', 'old'), 'new')

    def test_each_fault_of_a_history_is_an_error(self):
        new, old = self.ids
        for history, fault in (
                (self.good, None),
                (History((new,), (new,), ('new',), 'new'), 'hold new, not'),
                (History((), (), (), None), 'the latest is none'),
                (History((new, old), (new,), ('new', None), 'new'), 'None'),
                (History((new, old), (new, old), ('new', 'old'), 'new'),
                 'the latest is .* and '),
                (History((new, old), (old,), ('new', 'old'), 'new'),
                 'not the greatest id'),
                (History((new, old), (new,), ('new', 'old'), 'old'),
                 'GET answers old, the greatest id holds new')):
            sites = {'rome': history, 'paris': history}
            if fault is None:
                judge(sites, ['old', 'new'], ['new'])
                continue
            with self.assertRaisesRegex(ToolError, fault):
                judge(sites, ['old', 'new'], ['new'])

    def test_sites_that_differ_or_a_wrong_winner_are_an_error(self):
        other = History(self.good.ids, self.good.latest, ('old', 'new'),
                        'old')
        with self.assertRaisesRegex(ToolError, 'rome, paris do not have'):
            judge({'rome': self.good, 'paris': other}, ['old', 'new'],
                  ['old', 'new'])
        with self.assertRaisesRegex(ToolError, 'allowed: old'):
            judge({'rome': self.good}, ['old', 'new'], ['old'])
