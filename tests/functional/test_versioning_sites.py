# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""
Three sites: real clusters with real propagators, in both modes, on a network
that is slow or cut between them. Whatever happens, all end with the same
versions, the same latest and the same data.
"""

import http.client
import json
import os
import random
import signal
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from hashlib import sha256
from tempfile import mkdtemp

import swiftclient

from swift_lightsync.versioning import shipping
from swift_lightsync.versioning.rowdata import Entry
from swift_lightsync.versioning.shipping import MAX_HEAD, Shipment
from swift_lightsync.versioning.signature import HEAD_HEADER, HEADER, \
    Signed, trailer
from swift_lightsync.versioning.stamp import TICKS, Stamp
from swift_lightsync.versioning.version import Version
from tests.functional.clusters import wait_for
from tools.cluster.sites import Sites

PROPAGATOR = 'container-propagator'
#: What replicas do is shown by the unit tests.
NODES = 1
OPTIONS = {'interval': 0.1, 'scan_interval': 0.5, 'repair_delay': 0.5,
           'handover_delay': 1, 'retry_delay': 0.2, 'max_retry_delay': 2}
MODES = ('write-repair', 'read-repair', 'write-repair')
_at_end = ExitStack()
_sites = None


def setUpModule():
    global _sites
    _sites = Sites(mkdtemp(prefix='ls-'), 3, MODES, OPTIONS, nodes=NODES)
    _at_end.callback(_sites.destroy)
    _sites.up()


def tearDownModule():
    _at_end.close()


class SitesCase(unittest.TestCase):

    def setUp(self):
        self.sites = _sites
        self.addCleanup(self.sites.heal)
        self.container = '%s-%d' % (self.id().rpartition('.')[2],
                                    time.time())
        for name in self.sites.names:
            self.client(name).put_container(
                self.container, {'X-Versions-Enabled': 'true'})

    def client(self, name):
        environment = self.sites.clusters[name].environment()
        return swiftclient.Connection(
            environment['ST_AUTH'], environment['ST_USER'],
            environment['ST_KEY'], retries=0, timeout=120)

    def put(self, name, obj, body):
        self.client(name).put_object(self.container, obj, body)

    def rows(self, name):
        """:returns: what a client sees of all versions at a site"""
        _, rows = self.client(name).get_container(
            self.container, query_string='versions')
        return [{field: row[field] for field in (
            'name', 'version_id', 'is_latest', 'bytes', 'hash',
            'content_type')} for row in rows]

    def wait_until_same(self, count):
        """:returns: the rows, of so many versions, that all sites have"""
        def same():
            found = [self.rows(name) for name in self.sites.names]
            return found[0] if len(found[0]) == count and \
                found == found[:1] * len(found) else None
        return wait_for(same, '%d versions are the same at all sites: %s' % (
            count, [len(self.rows(name)) for name in self.sites.names]), 240)

    def assert_served(self, rows):
        """All sites serve the same data of each version, and the latest."""
        for row in rows:
            if 'x-deleted' in row['content_type']:
                continue
            bodies = {self.client(name).get_object(
                self.container, row['name'],
                query_string='version-id=' + row['version_id'])[1]
                for name in self.sites.names}
            self.assertEqual(1, len(bodies), row)
            if row['is_latest']:
                self.assertEqual(bodies, {
                    self.client(name).get_object(
                        self.container, row['name'])[1]
                    for name in self.sites.names})

    def write_at_all(self, obj, times):
        """Writers at all sites at the same time."""
        def write(name):
            for number in range(times):
                self.put(name, obj, ('%s %d' % (name, number)).encode())
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(write, self.sites.names))

    def propagators(self):
        return [pid for cluster in self.sites.clusters.values()
                for node in cluster.spec.node_numbers()
                for pid in cluster.pids(node, PROPAGATOR)]

    def start_propagators(self):
        for cluster in self.sites.clusters.values():
            cluster.daemons.drop_pid_files()
            cluster.swift_init(PROPAGATOR, 'start', check=False)


class TestAgreement(SitesCase):

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
        self.addCleanup(self.start_propagators)
        dice = random.Random(1)
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(self.write_at_all, 'o', 6)
            killed = 0
            while not writing.done() or killed < 6:
                victims = self.propagators()
                if victims:
                    try:
                        os.kill(dice.choice(victims), signal.SIGKILL)
                        killed += 1
                    except ProcessLookupError:
                        pass
                self.start_propagators()
            writing.result()
        self.start_propagators()
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


class TestForgeries(SitesCase):
    """Requests to a proxy of rome that are not of its peers."""

    def setUp(self):
        super().setUp()
        self.put('rome', 'o', b'genuine')
        self.before = self.wait_until_same(1)
        spec = self.sites.clusters['rome'].spec
        self.address = '127.0.0.1', spec.port('proxy-server')
        self.key = spec.peers['paris']['key'].encode()
        account = self.client('rome').get_auth()[0].rpartition('/')[2]
        self.path = '/v1/%s/%s' % (account, self.container)

    def request(self, key=None, data=b'forged', seconds=None, **head):
        """:returns: (headers, body) of a shipment, signed with a key"""
        stamp = Stamp(int(time.time() * TICKS), 1 << 32)
        shipped = json.loads(shipping.shipment(Shipment(Entry(
            'o', Version.after((), stamp, 'paris'), len(data), 'e'),
            length=len(data))))
        raw = json.dumps({**shipped, **head}).encode()
        signed = Signed('POST', self.path, 'paris', 'rome',
                        int(seconds or time.time()), os.urandom(16).hex(),
                        len(raw) + len(data) + 64, raw)
        claim = signed.claim(key or self.key)
        return {HEADER: str(claim), HEAD_HEADER: str(len(raw))}, \
            raw + data + trailer(key or self.key, claim.mac,
                                 sha256(data).hexdigest())

    def send(self, headers, body, method='POST', path=None):
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        self.addCleanup(connection.close)
        try:
            connection.request(method, path or self.path, body, headers)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it answers before it has read all
        response = connection.getresponse()
        response.read()
        return response.status

    def assert_nothing_changed(self):
        self.assertEqual(self.before, self.rows('rome'))
        self.assert_served(self.before)

    def test_what_is_signed_is_taken(self):
        self.assertEqual(201, self.send(*self.request()))
        self.assertEqual(2, len(self.wait_until_same(2)))

    def test_what_is_not_signed_with_the_key_is_refused(self):
        headers, body = self.request(key=b'x' * 64)
        self.assertEqual(403, self.send(headers, body))
        del headers[HEADER]
        self.assertEqual(401, self.send(headers, body))
        self.assert_nothing_changed()

    def test_what_was_sent_before_is_refused(self):
        headers, body = self.request(kind='delete', deleted=True, length=0,
                                     size=0, type='application/x-deleted;'
                                     'swift_versions_deleted=1', data=b'')
        self.assertEqual(201, self.send(headers, body))
        for _ in range(3):
            self.assertEqual(403, self.send(headers, body))

    def test_what_was_altered_is_refused(self):
        headers, body = self.request()
        self.assertEqual(403, self.send(headers, body.replace(
            b'"object": "o"', b'"object": "p"')))
        headers, body = self.request()
        self.assertGreaterEqual(self.send(headers, body.replace(
            b'forged', b'Forged')), 400)
        headers, body = self.request()
        self.assertEqual(403, self.send(headers, body, path=self.path + 'x'))
        self.assert_nothing_changed()

    def test_what_is_too_old_too_large_or_of_the_future_is_refused(self):
        self.assertEqual(403, self.send(*self.request(
            seconds=time.time() - 1000)))
        headers, body = self.request()
        headers[HEAD_HEADER] = str(MAX_HEAD + 1)
        self.assertEqual(403, self.send(headers, body))
        self.assertEqual(400, self.send(*self.request(object='o' * 5000)))
        ahead = str(Stamp(int((time.time() + 1000) * TICKS), 1 << 32))
        self.assertEqual(409, self.send(*self.request(
            id=ahead, vector='paris:' + ahead)))
        self.assert_nothing_changed()

    def test_what_clients_say_of_versions_counts_for_nothing(self):
        ahead = str(Stamp(int((time.time() + 5000) * TICKS), 1 << 32))
        names = ('X-Timestamp', 'X-Site-Versions-Vector',
                 'X-Site-Versions-Site', 'X-Site-Versions-Head',
                 'X-Object-Sysmeta-Site-Versions-Vector',
                 'X-Object-Sysmeta-Site-Versions-Id',
                 'X-Backend-Timestamp', 'X-Object-Version-Id')
        self.client('rome').put_object(
            self.container, 'o', b'mine', headers=dict.fromkeys(
                names, ahead))
        rows = self.wait_until_same(2)
        for row in rows:
            self.assertLess(Stamp.parse(row['version_id']).seconds,
                            time.time() + 1)
        headers = self.client('paris').head_object(self.container, 'o')
        self.assertNotIn(ahead, headers.values())


if __name__ == '__main__':
    unittest.main()
