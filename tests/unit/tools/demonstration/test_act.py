# SPDX-License-Identifier: Apache-2.0
"""An act ends well only if the disks, and the proxy, say so."""

import dataclasses
import io
import signal
import subprocess
import sys
import threading
import unittest
from types import SimpleNamespace
from unittest import mock

from tools.cluster import Policy
from tools.demonstration import act, replicas
from tools.demonstration.client import ObjectName
from tools.demonstration.errors import DemoError
from tools.demonstration.passes import Cost
from tools.demonstration.show import Show
from tools.demonstration.stored import StoredFile

HASH = 'f' * 32
OLD = StoredFile(0, 7, HASH, '1.00000.data', 3, 'old', 'm1')
NEW = StoredFile(0, 7, HASH, '2.00000.data', 4, 'new', 'm2')
TOMBSTONE = StoredFile(0, 7, HASH, '3.00000.ts', 0, '', 'm3')
PLACEMENT = {(0, 7): frozenset('abc')}
NAME, OTHER = ObjectName('gold', 'object'), ObjectName('gold', 'other')
KEYS = {NAME: (0, HASH), OTHER: (0, 'e' * 32)}


def survey(*files):
    return dict(zip('abc', ({each} for each in files)))


EQUAL = survey(NEW, NEW, NEW)
UNEQUAL = survey(NEW, NEW, OLD)
GONE = survey(TOMBSTONE, TOMBSTONE, TOMBSTONE)


def cluster(name):
    return SimpleNamespace(name=name, spec=SimpleNamespace(root='/' + name))


class ActCase(unittest.TestCase):
    """
    A Meter, and surveys that find what the passes have brought about.
    """

    act_class = act.Act

    def setUp(self):
        self.stage = SimpleNamespace(lightsync=cluster('lightsync'),
                                     stock=cluster('stock'))
        self.act = self.act_class(self.stage, Show(io.StringIO()), 600)
        self.act.expected = {NAME: 'new'}
        self.act.client = mock.Mock(account='a')
        for target, name, options in (
                (replicas, 'placement', {'return_value': PLACEMENT}),
                (replicas, 'object_keys', {'side_effect': self.keys}),
                (replicas, 'survey', {'side_effect': self.survey}),
                (act, 'Meter', {'new': self.meter})):
            patch = mock.patch.object(target, name, **options)
            self.addCleanup(patch.stop)
            patch.start()
        self.passes = 0
        self.equal_after = 2
        self.equal_until = 100

    def meter(self, _):
        return SimpleNamespace(one_pass=self.one_pass)

    def one_pass(self):
        self.passes += 1
        return Cost(1, (1, 2, 3), 10, 0.5, 1)

    def survey(self, _):
        equal = self.equal_after <= self.passes <= self.equal_until
        return EQUAL if equal else UNEQUAL

    @staticmethod
    def keys(_, account, names):
        return {KEYS[name]: name for name in names}


class TestLook(ActCase):
    def look(self, found):
        with mock.patch.object(replicas, 'survey', return_value=found):
            return self.act.look(self.stage.lightsync)

    def test_what_was_acknowledged_is_found_though_a_replica_lacks_it(self):
        self.assertFalse(self.look(UNEQUAL).equal)

    def test_objects_of_other_policies_do_not_count_if_one_is_named(self):
        other = dataclasses.replace(OLD, policy=1)
        found = {'a': {NEW, other}, 'b': {NEW}, 'c': {NEW}}
        with mock.patch.object(replicas, 'survey', return_value=found):
            self.assertTrue(self.act.look(
                self.stage.lightsync, Policy('gold', 0, 3)).equal)
            with self.assertRaisesRegex(DemoError, 'object %s' % HASH):
                self.act.look(self.stage.lightsync, Policy('other', 1, 3))

    def test_a_lost_object_is_an_error_though_all_replicas_are_equal(self):
        self.act.expected[OTHER] = 'x'
        with self.assertRaisesRegex(
                DemoError, 'gold/other: nothing, not content x'):
            self.look(EQUAL)

    def test_other_content_is_an_error_though_all_replicas_are_equal(self):
        with self.assertRaisesRegex(
                DemoError, 'gold/object: content old, not content new'):
            self.look(survey(OLD, OLD, OLD))

    def test_a_delete_without_a_tombstone_is_an_error(self):
        self.act.expected[OTHER] = None
        with self.assertRaisesRegex(
                DemoError, 'gold/other: nothing, not a tombstone'):
            self.look(EQUAL)

    def test_a_tombstone_that_nobody_asked_for_is_an_error(self):
        with self.assertRaisesRegex(
                DemoError, 'gold/object: a tombstone, not content new'):
            self.look(GONE)

    def test_an_object_that_nobody_uploaded_is_an_error(self):
        self.act.expected = {}
        with self.assertRaisesRegex(
                DemoError, 'object %s: content new, not nothing' % HASH):
            self.look(EQUAL)


class TestReplicateUntilEqual(ActCase):
    def test_passes_are_run_until_the_disks_are_equal(self):
        self.assertEqual(
            Cost(2, (2, 4, 6), 20, 1.0, 2),
            self.act.replicate_until_equal(self.stage.lightsync))

    def test_disks_that_never_become_equal_are_an_error_with_examples(self):
        self.equal_after = 1000
        with self.assertRaisesRegex(
                DemoError, r'not identical after %d passes:\n.*on c: outdated'
                % act.MAX_PASSES):
            self.act.replicate_until_equal(self.stage.lightsync)

    def test_a_replica_with_other_content_is_never_equal(self):
        rotten = StoredFile(0, 7, HASH, NEW.name, 4, 'unreadable', 'm2')
        with mock.patch.object(replicas, 'survey', return_value=survey(
                NEW, rotten, NEW)), self.assertRaisesRegex(
                    DemoError, 'on b: unclean'):
            self.act.replicate_until_equal(self.stage.lightsync)


class TestUsers(ActCase):
    def setUp(self):
        super().setUp()
        self.act.client.each = self.each

    def each(self, operation, items, count, _threads):
        def one(item):
            done.append(operation(item))
            count()

        done = []
        threads = [threading.Thread(target=one, args=(item,))
                   for item in items]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return done

    def test_cues_are_called_once_each_in_their_order(self):
        called = []
        self.act.each(str, list(range(20)), 'numbers', {
            number: lambda number=number: called.append(number)
            for number in (5, 10, 21)})
        self.assertEqual([5, 10], called)

    def test_what_was_put_and_deleted_is_expected(self):
        self.act.client.put = lambda item: item
        self.act.put([(OTHER, 'digest')], 'objects')
        self.assertEqual({NAME: 'new', OTHER: 'digest'}, self.act.expected)
        self.act.delete([OTHER], 'objects')
        self.assertEqual({NAME: 'new', OTHER: None}, self.act.expected)


class TestSignal(ActCase):
    def setUp(self):
        super().setUp()
        served = mock.Mock()
        patch = mock.patch.object(act.Act, 'cluster', served)
        self.addCleanup(patch.stop)
        patch.start()
        self.pids = served.pids

    def test_what_is_killed_is_dead(self):
        victim = subprocess.Popen([sys.executable, '-c', 'input()'],
                                  stdin=subprocess.PIPE)
        self.addCleanup(victim.stdin.close)
        self.pids.return_value = [victim.pid]
        self.act.signal(2, 'index-server', signal.SIGKILL)
        self.assertEqual(-signal.SIGKILL, victim.wait())
        self.pids.assert_called_once_with(2, 'index-server')

    def test_there_must_be_something_to_kill(self):
        self.pids.return_value = []
        with self.assertRaisesRegex(DemoError, 'node 2 has no index-server'):
            self.act.signal(2, 'index-server', signal.SIGKILL)


class TestCheckServed(ActCase):
    def test_an_object_that_fails_its_check_is_an_error(self):
        served = mock.Mock()
        served.spec.policies = ()
        self.act.client.each.return_value = [None, 'c/o is wrong']
        with mock.patch.object(act.Act, 'cluster', served), \
                self.assertRaisesRegex(DemoError,
                                       '1 objects are wrong:\n  c/o'):
            self.act.check_served()
