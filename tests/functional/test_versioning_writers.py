# SPDX-License-Identifier: Apache-2.0
"""Writers of one object at several sites, whose links are cut and whose
proxies and propagators are killed meanwhile.

Every acknowledged version is listed and served everywhere at the end, all
sites have one history and one latest, and what Write-Repair has stored as the
latest is what follows from the versions. It takes some minutes.
"""

import random
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import pytest
import swiftclient

from tests.functional.clusters import wait_for
from tests.functional.sites_case import (
    PROPAGATOR,
    PROXY,
    kill_one,
    running_sites,
    start_missing,
)
from tests.functional.stored_rows import stored

CONTAINER, OBJECT = 'c', 'o'
#: of each writer
WRITES = 4
DELETES = 0.1
OPTIONS = {'interval': 0.2, 'scan_interval': 1, 'repair_delay': 1,
           'handover_delay': 2, 'retry_delay': 0.2, 'max_retry_delay': 2}
#: seconds between two troubles, at most
TROUBLE = 2


class Site:
    """What clients do at one site."""

    def __init__(self, name, cluster):
        self.name = name
        self.cluster = cluster
        self.url, self.token = cluster.client().get_auth()
        self.account = self.url.rpartition('/')[2]

    def put(self, body):
        """:returns: the id of the version that was acknowledged"""
        answer = {}
        swiftclient.put_object(self.url, self.token, CONTAINER, OBJECT, body,
                               response_dict=answer)
        return answer['headers']['x-object-version-id']

    def delete(self):
        """:returns: the id of the delete marker, or None"""
        answer = {}
        swiftclient.delete_object(self.url, self.token, CONTAINER, OBJECT,
                                  response_dict=answer)
        return answer['headers'].get('x-object-version-id')

    def get(self, version=None):
        """:returns: (id, body); (None, None) if there is no object"""
        try:
            headers, body = swiftclient.get_object(
                self.url, self.token, CONTAINER, OBJECT,
                query_string=version and 'version-id=' + version)
        except swiftclient.ClientException as err:
            if err.http_status != 404:
                raise
            return None, None
        return headers['x-object-version-id'], body

    def versions(self):
        """:returns: id -> (its MD5, whether it is the latest)"""
        _, rows = swiftclient.get_container(
            self.url, self.token, CONTAINER, query_string='versions',
            full_listing=False, limit=10000)
        return {row['version_id']: (row['hash'], row['is_latest'])
                for row in rows}

    def stored(self):
        """:returns: what is ``Stored`` of the object"""
        return stored(self.cluster, self.account, CONTAINER, OBJECT)


class WritersCase(unittest.TestCase):

    #: of running_sites
    fields = {}
    #: at each site
    writers = 0
    #: servers that are killed
    killed = (PROXY, PROPAGATOR)

    def setUp(self):
        self.sites = self.enterContext(running_sites(
            options=OPTIONS, **self.fields))
        self.places = [Site(*each) for each in self.sites.clusters.items()]
        for place in self.places:
            swiftclient.put_container(
                place.url, place.token, CONTAINER,
                {'X-Versions-Enabled': 'true'})
        #: id -> body, or None for a delete marker
        self.acknowledged = {}
        self.failed = 0

    def write(self, place, number):
        dice = random.Random('%s %d' % (place.name, number))
        for count in range(WRITES):
            body = ('%s %d %d' % (place.name, number, count)).encode()
            if dice.random() < DELETES:
                body = None
            try:
                found = place.put(body) if body else place.delete()
            except (swiftclient.ClientException, OSError):
                self.failed += 1
                time.sleep(dice.random())
            else:
                if found:
                    self.acknowledged[found] = body

    def trouble(self, ended):
        dice = random.Random(1)
        while not ended.wait(dice.uniform(0, TROUBLE)):
            if dice.random() < 0.5:
                one, other = dice.choice(list(combinations(
                    self.sites.names, 2)))
                dice.choice((self.sites.cut, self.sites.join))(one, other)
            else:
                cluster = dice.choice(self.places).cluster
                server = dice.choice(self.killed)
                kill_one(cluster, server, dice)
                start_missing(cluster, server)

    def end_trouble(self):
        self.sites.heal()
        for place in self.places:
            for server in self.killed:
                start_missing(place.cluster, server)

    def write_in_trouble(self):
        ended = threading.Event()
        with ThreadPoolExecutor(1 + self.writers * len(self.places)) as pool:
            troubling = pool.submit(self.trouble, ended)
            try:
                for each in [pool.submit(self.write, place, number)
                             for place in self.places
                             for number in range(self.writers)]:
                    each.result()
            finally:
                ended.set()
            troubling.result()
        self.end_trouble()

    def same(self):
        """:returns: the versions, if all sites have the same"""
        try:
            found = [place.versions() for place in self.places]
        except swiftclient.ClientException:
            return None
        return found[0] if found[0] and found[1:] == found[:-1] and \
            set(self.acknowledged) <= set(found[0]) else None

    def assert_all_is_kept_and_all_agree(self):
        self.write_in_trouble()
        print('%d acknowledged, %d failed' % (len(self.acknowledged),
                                              self.failed))
        versions = wait_for(self.same, 'all sites have the same versions',
                            600)
        latest, = [version for version, (_, is_latest) in versions.items()
                   if is_latest]
        self.assertEqual(max(versions), latest)
        for place, mode in zip(self.places, self.fields['modes']):
            with self.subTest(site=place.name):
                if mode == 'write-repair':
                    wait_for(lambda: place.stored().is_listed_as(latest),
                             'it lists %s' % latest, 60)
                self.assert_served(place, versions, latest)

    def assert_served(self, place, versions, latest):
        for version in versions:
            found = place.get(version)
            if version in self.acknowledged:
                body = self.acknowledged[version]
                self.assertEqual((version if body else None, body), found)
        self.assertEqual(place.get(latest), place.get())


@pytest.mark.long
class TestManyWriters(WritersCase):
    """Fifty at each of three sites; what replicas do is not the matter."""

    fields = {'count': 3, 'nodes': 1,
              'modes': ('write-repair', 'read-repair', 'write-repair')}
    writers = 50

    def test_all_is_kept_and_all_agree_whatever_happens(self):
        self.assert_all_is_kept_and_all_agree()


@pytest.mark.long
class TestWritersToReplicas(WritersCase):
    """Three replicas at each of two sites, which die one by one, too."""

    fields = {'count': 2, 'nodes': 3,
              'modes': ('write-repair', 'read-repair')}
    writers = 15
    killed = (PROXY, PROPAGATOR, 'container-server')

    def test_all_is_kept_and_all_agree_whatever_happens(self):
        self.assert_all_is_kept_and_all_agree()
