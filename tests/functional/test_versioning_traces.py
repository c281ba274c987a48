# SPDX-License-Identifier: Apache-2.0
"""
Traces that hypothesis makes, replayed on three real sites: writes, delete
markers and purges; clocks that are up to 5 s ahead or behind, or stand still
at the same time; links that are cut, propagators that are killed. At the end
all sites have one history, row for row, and one latest, and these are what
follows from what was acknowledged.
"""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, count
from tempfile import TemporaryDirectory

import pytest
import swiftclient
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.functional.clusters import wait_for
from tests.functional.site_clocks import Clock
from tests.functional.sites_case import (
    PROPAGATOR,
    SitesCase,
    kill_one,
    start_missing,
)
from tests.functional.stored_rows import stored
from tools.cluster.sites import names

SITES = names(3)
OBJECTS = ('o', 'p')
#: seconds that a clock may be ahead or behind
SKEW = 5

sites = st.sampled_from(SITES)
objects = st.sampled_from(OBJECTS)
pairs = st.sampled_from(list(combinations(SITES, 2)))
steps = st.one_of(
    st.tuples(st.just('put'), sites, objects),
    st.tuples(st.just('put'), sites, objects),
    st.tuples(st.just('put_at_all'), objects),
    st.tuples(st.just('delete'), sites, objects),
    st.tuples(st.just('purge'), sites, objects, st.integers(0, 5)),
    st.tuples(st.just('skew'), sites,
              st.sampled_from((-SKEW, -1, -0.01, 0, 0.01, 1, SKEW))),
    st.tuples(st.just('stand_still')),
    st.tuples(st.just('cut'), pairs),
    st.tuples(st.just('join'), pairs),
    st.tuples(st.just('kill_propagator'), sites))


def traces(examples):
    """Give a test so many of them, always the same."""
    def decorate(test):
        return settings(
            max_examples=examples, deadline=None, derandomize=True,
            database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck))(
                given(st.lists(steps, min_size=6, max_size=20))(test))
    return decorate


class TracesCase(SitesCase):

    @classmethod
    def setUpClass(cls):
        cls.clocks = cls.enterClassContext(
            TemporaryDirectory(prefix='clocks-'))
        cls.fields = dict(SitesCase.fields, filters={
            'use': 'call:tests.functional.site_clocks:filter_factory',
            'clocks': cls.clocks})
        super().setUpClass()
        cls.accounts = {
            name: cls.client(cls, name).get_auth()[0].rpartition('/')[2]
            for name in SITES}

    def setUp(self):
        super().setUp()
        self.numbers = count()
        self.dice = random.Random(1)

    # Steps

    def put(self, name, obj):
        body = b'%s %d' % (name.encode(), next(self.numbers))
        answer = {}
        self.client(name).put_object(self.container, obj, body,
                                     response_dict=answer)
        self.kept[obj][answer['headers']['x-object-version-id']] = body

    def put_at_all(self, obj):
        with ThreadPoolExecutor(len(SITES)) as pool:
            list(pool.map(lambda name: self.put(name, obj), SITES))

    def delete(self, name, obj):
        answer = {}
        try:
            self.client(name).delete_object(self.container, obj,
                                            response_dict=answer)
        except swiftclient.ClientException as err:
            # Also what is not there gets a marker.
            if err.http_status != 404:
                raise
        self.kept[obj][answer['headers']['x-object-version-id']] = None

    def purge(self, name, obj, place):
        there = [row['version_id'] for row in self.rows(name)
                 if row['name'] == obj]
        if there:
            version = there[place % len(there)]
            self.client(name).delete_object(
                self.container, obj, query_string='version-id=' + version)
            self.kept[obj].pop(version)

    def skew(self, name, seconds):
        Clock(os.path.join(self.clocks, name)).set(seconds)

    def stand_still(self):
        # After all that any of them has said.
        moment = time.time() + SKEW + 1
        for name in SITES:
            Clock(os.path.join(self.clocks, name)).set(still=moment)

    def cut(self, pair):
        self.sites.cut(*pair)

    def join(self, pair):
        self.sites.join(*pair)

    def kill_propagator(self, name):
        cluster = self.sites.clusters[name]
        kill_one(cluster, PROPAGATOR, self.dice)
        start_missing(cluster, PROPAGATOR)

    # What follows

    def replay(self, trace):
        """Do it in a container of its own; what is acknowledged is kept."""
        self.container = 'trace-%s-%d' % (
            self.id().rpartition('.')[2], time.time() * 1000)
        #: of each object id -> body, None for a delete marker
        self.kept = {obj: {} for obj in OBJECTS}
        for name in SITES:
            self.skew(name, 0)
            self.make(name, self.container)
        for step, *args in trace:
            getattr(self, step)(*args)
        self.sites.heal()
        rows = self.wait_until_same(sum(map(len, self.kept.values())))
        self.assert_is_what_was_kept(rows)
        self.assert_served(rows)

    def assert_is_what_was_kept(self, rows):
        for obj, kept in self.kept.items():
            found = {row['version_id']: row for row in rows
                     if row['name'] == obj}
            self.assertEqual(set(kept), set(found))
            latest = max(kept, default=None)
            self.assertEqual(
                [latest] if kept else [],
                [version for version, row in found.items()
                 if row['is_latest']])
            for version, body in kept.items():
                self.assert_one(obj, version, body)
            for name, mode in zip(SITES, self.fields['modes']):
                if mode == 'write-repair':
                    wait_for(lambda: stored(
                        self.sites.clusters[name], self.accounts[name],
                        self.container, obj).is_listed_as(latest),
                        '%s lists %s of %s' % (name, latest, obj), 60)
                self.assert_latest(name, obj, kept.get(latest))

    def assert_one(self, obj, version, body):
        if body is not None:
            self.assertEqual(body, self.client(SITES[0]).get_object(
                self.container, obj,
                query_string='version-id=' + version)[1])

    def assert_latest(self, name, obj, body):
        if body is not None:
            self.assertEqual(body, self.client(name).get_object(
                self.container, obj)[1])
            return
        with self.assertRaises(swiftclient.ClientException) as caught:
            self.client(name).get_object(self.container, obj)
        self.assertEqual(404, caught.exception.http_status)


class TestTraces(TracesCase):

    @traces(4)
    def test_all_sites_agree(self, trace):
        self.replay(trace)


@pytest.mark.long
class TestManyTraces(TracesCase):

    @traces(60)
    def test_all_sites_agree(self, trace):
        self.replay(trace)
