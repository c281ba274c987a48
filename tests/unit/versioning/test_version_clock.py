# SPDX-License-Identifier: Apache-2.0
"""swift-version-clock: what it finds, and how it makes it good."""

import contextlib
import io
import json
import os
import shutil
from unittest import mock

from swift_lightsync.versioning.core.row_data import hidden_container
from swift_lightsync.versioning.sites import version_clock
from swift_lightsync.versioning.sites.propagator import (
    SECTION,
    VersionsPropagator,
)
from swift_lightsync.versioning.sites.version_clock import main
from tests.unit.sync.fixtures import wait_for
from tests.unit.versioning.sites_world import ACCOUNT, CONTAINER, SitesTestCase

HOUR = 3600


class TestVersionClock(SitesTestCase):

    def setUp(self):
        super().setUp()
        self.rome.create()
        self.conf = os.path.join(self.rome.root, 'container-server.conf')
        with open(self.conf, 'w') as conf:
            conf.write('[%s]\n' % SECTION)
            for pair in self.rome.conf.items():
                conf.write('%s = %s\n' % pair)
        for name, instead in (
                ('set_swift_dir', mock.Mock()),
                ('VersionsPropagator',
                 lambda conf, logger: VersionsPropagator(
                     conf, logger, self.rome.ring, self.rome))):
            patcher = mock.patch.object(version_clock, name, instead)
            patcher.start()
            self.addCleanup(patcher.stop)

    def ahead(self, write):
        self.rome.skew = HOUR
        try:
            return write()
        finally:
            self.rome.skew = 0

    def run_it(self, *args):
        """Return the exit status, and what was found."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = main([self.conf, '--json', *args])
        return status, json.loads(out.getvalue())['versions']

    def assert_none_left(self):
        """The last replica may hear of it later."""
        wait_for(lambda: self.run_it() == (0, []), 'none is left')

    def test_versions_of_now_are_not_found(self):
        self.rome.put('o', b'1')
        self.assertEqual((0, []), self.run_it())

    def test_a_version_of_the_future_is_found_once(self):
        self.rome.put('o', b'1')
        version = self.ahead(lambda: self.rome.put('o', b'2'))
        status, (found,) = self.run_it()
        self.assertEqual(1, status)
        self.assertEqual(
            (ACCOUNT, CONTAINER, 'o', str(version.id), 'rome'), tuple(
                found[name] for name in (
                    'account', 'container', 'object', 'version_id', 'site')))
        self.assertAlmostEqual(HOUR, found['seconds'], delta=600)
        self.assertEqual((0, []), self.run_it('--seconds', str(2 * HOUR)))

    def test_a_life_record_of_the_future_is_found_and_stays(self):
        self.ahead(lambda: self.rome.change('POST'))
        for args in (), ('--restamp',), ('--purge',):
            status, (found,) = self.run_it(*args)
            self.assertEqual((1, CONTAINER, None, ''), (
                status, found['container'], found['object'],
                found['result']))
            self.assertEqual(str(self.rome.strategy.life().stamp),
                             found['version_id'])
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            main([self.conf])
        self.assertRegex(out.getvalue(), r'^AUTH_a/c: the life record \d+.* '
                         r'of rome is \d+\.\d s ahead\n$')

    def test_people_read_it(self):
        self.ahead(lambda: self.rome.put('o\n', b'2'))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(1, main([self.conf]))
        self.assertRegex(out.getvalue(), r'^AUTH_a/c/o\?: version \d+.* of '
                         r'rome is \d+\.\d s ahead\n$')

    def test_restamped_versions_keep_their_order_and_data(self):
        self.rome.put('o', b'1')
        wrong = [self.ahead(lambda body=body: self.rome.put('o', body))
                 for body in (b'2', b'3')]
        marker = self.ahead(lambda: self.rome.delete('p'))
        status, found = self.run_it('--restamp')
        self.assertEqual((0, 3), (status, len(found)))
        self.assert_none_left()
        bodies = self.rome.bodies('o')
        self.assertEqual([b'3', b'2', b'1'], [
            bodies[stamp] for stamp, *_ in self.rome.history('o')])
        for version in wrong:
            self.assertTrue(self.rome.strategy.get('o', version.id).purged)
        self.assertTrue(self.rome.strategy.get('p', marker.id).purged)
        self.assertTrue(self.rome.strategy.latest('p').version.deleted)

    def test_restamped_versions_reach_the_other_sites(self):
        self.ahead(lambda: self.rome.put('o', b'2'))
        self.settle()
        self.assertIsNone(self.paris.latest('o'))
        self.run_it('--restamp')
        self.settle()
        self.assertEqual({b'2'}, set(self.paris.bodies('o').values()))
        self.assertEqual(self.rome.latest('o'), self.paris.latest('o'))

    def test_a_later_write_follows_a_restamped_version(self):
        self.ahead(lambda: self.rome.put('o', b'2'))
        self.run_it('--restamp')
        last = self.rome.put('o', b'3')
        self.assertEqual(str(last.id), self.rome.latest('o'))
        self.assert_none_left()

    def test_a_purged_version_is_gone_with_its_data(self):
        good = self.rome.put('o', b'1')
        wrong = self.ahead(lambda: self.rome.put('o', b'2'))
        entry = self.rome.strategy.get('o', wrong.id)
        status, (found,) = self.run_it('--purge')
        self.assertEqual((0, 'purged'), (status, found['result']))
        self.assertEqual(str(good.id), self.rome.latest('o'))
        self.assertNotIn((hidden_container(CONTAINER), entry.data_name),
                         self.rome.data)

    def test_its_purge_is_done_at_all_sites_at_once(self):
        good = self.rome.put('o', b'1')
        wrong = self.ahead(lambda: self.rome.put('o', b'2'))
        self.settle()
        self.run_it('--purge')
        # Of a replica that has not heard of it the version would be held.
        self.assert_none_left()
        propagator = self.rome.propagate()
        self.assertEqual({'paris': 0, 'oslo': 0}, {
            runner.task.name: runner.lag().rows
            for runner in propagator.runners
            if runner.task.name in propagator.peers})
        for site in self.paris, self.oslo:
            self.assertTrue(site.strategy.get('o', wrong.id).purged)
            self.assertEqual(str(good.id), site.latest('o'))
            later = site.put('o', b'3')
            self.assertLess(later.id, wrong.id)

    def test_a_null_version_stays_one(self):
        self.ahead(lambda: self.rome.put('o', b'2', null=True))
        self.run_it('--restamp')
        entry, = self.rome.strategy.history('o')
        self.assertTrue(entry.null)
        self.assertEqual({b'2'}, set(self.rome.bodies('o').values()))

    def test_the_next_replica_is_taken_where_the_first_is_lost(self):
        self.ahead(lambda: self.rome.put('o', b'2'))
        propagator = self.rome.propagator()
        propagator.databases.scan()
        first, = propagator.first_replicas()
        shutil.rmtree(first.broker.db_dir)
        self.assertEqual(0, self.run_it('--restamp')[0])
        self.assert_none_left()

    def test_what_is_left_to_another_node_is_not_changed(self):
        self.ahead(lambda: self.rome.put('o', b'2'))
        with mock.patch.object(VersionsPropagator, 'is_first',
                               return_value=False):
            status, (found,) = self.run_it('--restamp')
        self.assertEqual(1, status)
        self.assertIn('left to', found['result'])

    def test_what_is_not_changed_is_told_of(self):
        self.ahead(lambda: self.rome.put('o', b'2'))
        server = self.container_servers[int(self.rome.conf['bind_port'])]
        server.fail()
        status, (found,) = self.run_it('--purge')
        self.assertEqual(1, status)
        self.assertIn('failed: rows of', found['result'])

    def test_a_conf_that_cannot_be_used_is_a_wrong_call(self):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            self.assertEqual(2, main([self.conf + 'x']))
            with open(self.conf, 'w') as conf:
                conf.write('[%s]\nsite = A\n' % SECTION)
            self.assertEqual(2, main([self.conf]))
        self.assertIn('site', err.getvalue())
