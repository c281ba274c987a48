# SPDX-License-Identifier: Apache-2.0
"""Three sites, in both modes, on a network that is slow or cut between them.
Whatever happens, all end with the same versions, the same latest and the same
data.
"""

import json
import random
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import swiftclient

from tests.functional.clusters import wait_for
from tests.functional.sites_case import (
    PROPAGATOR,
    ClocksCase,
    kill_one,
    start_missing,
)

#: seconds that a clock is wrong: the container servers still take that
AHEAD = 50


class TestAgreement(ClocksCase):

    def write_at_all(self, obj, times):
        """Writers at all sites at the same time."""
        def write(name):
            for number in range(times):
                self.put(name, obj, ('%s %d' % (name, number)).encode())
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(write, self.sites.names))

    def test_concurrent_writers_end_with_one_history_and_one_latest(self):
        self.write_at_all('o', 5)
        rows = self.wait_until_same(15)
        self.assertEqual(1, sum(row['is_latest'] for row in rows))
        self.assert_served(rows)

    def test_what_was_written_apart_is_united_when_the_network_heals(self):
        for one, other in (('rome', 'paris'), ('rome', 'oslo'),
                           ('paris', 'oslo')):
            self.sites.cut(one, other)
        self.write_at_all('o', 2)
        for name in self.sites.names:
            self.put(name, 'only at ' + name, name.encode())
        self.client('paris').delete_object(self.container, 'o')
        self.client('oslo').delete_object(self.container, 'only at oslo')
        self.assertEqual({3, 4}, {len(self.rows(name))
                                  for name in self.sites.names})
        self.sites.heal()
        rows = self.wait_until_same(11)
        self.assert_served(rows)

    def test_a_slow_network_changes_nothing_but_the_time(self):
        self.sites.delay('rome', 'oslo', 0.3)
        self.addCleanup(self.sites.delay, 'rome', 'oslo', 0)
        self.write_at_all('o', 2)
        self.assert_served(self.wait_until_same(6))

    def test_a_purge_gets_everywhere(self):
        self.put('rome', 'o', b'kept')
        self.put('rome', 'o', b'purged')
        rows = self.wait_until_same(2)
        purged, = [row for row in rows if row['is_latest']]
        self.client('oslo').delete_object(
            self.container, 'o',
            query_string='version-id=' + purged['version_id'])
        rows = self.wait_until_same(1)
        self.assertTrue(rows[0]['is_latest'])
        self.assert_served(rows)

    def test_propagators_that_are_killed_at_any_time_lose_nothing(self):
        dice = random.Random(1)
        clusters = list(self.sites.clusters.values())
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(self.write_at_all, 'o', 6)
            killed = 0
            while not writing.done() or killed < 6:
                cluster = dice.choice(clusters)
                kill_one(cluster, PROPAGATOR, dice)
                start_missing(cluster, PROPAGATOR)
                killed += 1
            writing.result()
        self.assert_served(self.wait_until_same(18))

    def test_a_site_that_is_gone_holds_nobody_up_and_catches_up(self):
        self.put('rome', 'o', b'before')
        self.wait_until_same(1)
        oslo = self.sites.clusters['oslo']
        oslo.down()
        try:
            self.put('rome', 'o', b'meanwhile')
            self.put('paris', 'o', b'there, too')
            wait_for(lambda: len(self.rows('rome')) == 3
                     and self.rows('rome') == self.rows('paris'),
                     'the others agree', 120)
        finally:
            oslo.up()
        self.assert_served(self.wait_until_same(3))

    def put_ahead(self, *bodies):
        self.set_clock('rome', ahead=AHEAD)
        try:
            for body in bodies:
                self.put('rome', 'o', body)
        finally:
            self.set_clock('rome')

    def make_good(self, option):
        """Return what becomes of what a clock of rome's has made."""
        rome = self.sites.clusters['rome']
        done = subprocess.run(
            [rome.layout.launcher('swift-version-clock'), '--json',
             '--seconds', '1', option, rome.conf_path('container-server', 1)],
            capture_output=True, text=True)
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        return [each['result'].partition(' ')[0]
                for each in json.loads(done.stdout)['versions']]

    def latest(self):
        return [self.client(name).get_object(self.container, 'o')[1]
                for name in self.sites.names]

    def test_what_a_clock_ahead_has_made_is_made_anew_or_purged(self):
        self.put('rome', 'o', b'1')
        self.put_ahead(b'2', b'3')
        self.assertEqual(['is', 'is'], self.make_good('--restamp'))
        self.assertEqual([], self.make_good('--purge'))
        rows = self.wait_until_same(3)
        self.assertLess(float(rows[0]['version_id'].split('_')[0]),
                        time.time())
        self.assert_served(rows)
        self.assertEqual([b'3'] * 3, self.latest())
        self.put_ahead(b'4')
        self.assertEqual(['purged'], self.make_good('--purge'))
        self.assertEqual(rows, self.wait_until_same(3))
        self.put('paris', 'o', b'5')
        self.assert_served(self.wait_until_same(4))
        self.assertEqual([b'5'] * 3, self.latest())

    def test_a_container_that_a_site_lacks_is_made_there(self):
        self.container += '-made'
        self.client('paris').put_container(
            self.container, {'X-Versions-Enabled': 'true'})
        self.put('paris', 'o', b'x')
        wait_for(lambda: self.has_container('rome')
                 and self.has_container('oslo'), 'it is made', 120)
        self.assert_served(self.wait_until_same(1))

    def has_container(self, name):
        try:
            headers = self.client(name).head_container(self.container)
        except swiftclient.ClientException as err:
            self.assertEqual(404, err.http_status)
            return False
        return headers.get('x-versions-enabled') == 'True'
