# SPDX-License-Identifier: Apache-2.0
"""Random traces on three real sites: writes, delete markers and purges, null
versions, containers that are changed, deleted and made again; clocks that are
up to 5 s ahead or behind, or stand still at the same time; links that are cut,
propagators that are killed. At the end all sites have one history, row for
row, one listing and one latest, and these are what follows from what was
acknowledged; what was deleted is gone.

TRACES says how many traces are played, FIRST_TRACE the seed of the first one.
"""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import combinations, count

import swiftclient

from tests.functional.clusters import wait_for
from tests.functional.sites_case import (
    PROPAGATOR,
    ClocksCase,
    kill_one,
    start_missing,
)
from tests.functional.stored_rows import stored
from tools.cluster.sites import names

SITES = names(3)
OBJECTS = ('o', 'p')
#: seconds that a clock may be ahead or behind
SKEW = 5

SKEWS = (-SKEW, -1, -0.01, 0, 0.01, 1, SKEW)
PAIRS = list(combinations(SITES, 2))
TRACES = int(os.environ.get('TRACES', 4))
FIRST = int(os.environ.get('FIRST_TRACE', 1))
#: the steps of traces, and what each is done with
STEPS = [('put', SITES, OBJECTS), ('put', SITES, OBJECTS),
         ('put_at_all', OBJECTS), ('delete', SITES, OBJECTS),
         ('purge', SITES, OBJECTS, range(6)), ('skew', SITES, SKEWS),
         ('stand_still',), ('cut', PAIRS), ('join', PAIRS),
         ('kill_propagator', SITES), ('remove', SITES), ('create', SITES),
         ('change', SITES), ('suspend', SITES), ('enable', SITES)]


def trace_of(seed):
    """Return the steps of a trace, each with its arguments."""
    dice = random.Random(seed)
    return [(step, *map(dice.choice, choices)) for step, *choices in
            dice.choices(STEPS, k=dice.randint(6, 20))]


class TestTraces(ClocksCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.accounts = {
            name: cls.client(cls, name).get_auth()[0].rpartition('/')[2]
            for name in SITES}

    def setUp(self):
        super().setUp()
        self.numbers = count()
        self.finished = []
        self.dice = random.Random(1)

    # Steps

    def put(self, name, obj):
        body = b'%s %d' % (name.encode(), next(self.numbers))
        with self.acknowledged() as answer:
            self.client(name).put_object(self.container, obj, body,
                                         response_dict=answer)
        self.made(obj, answer, body)

    @contextmanager
    def acknowledged(self):
        """Give the answer of a request. It may be 404: what has no container
        gets none.
        """
        answer = {'headers': {}}
        try:
            yield answer
        except swiftclient.ClientException as err:
            # Also what is not there gets a marker.
            if err.http_status != 404:
                raise

    def made(self, obj, answer, body):
        version = answer['headers'].get('x-object-version-id')
        missing = answer.get('status') == 404
        if missing and version is None:
            # Either there is no container, or a null delete marker was made.
            self.nulls[obj].update([None] if body is None else [])
            return
        self.gone = False
        if version in (None, 'null'):
            self.nulls[obj].add(body)
        else:
            self.kept[obj][version] = body

    def put_at_all(self, obj):
        with ThreadPoolExecutor(len(SITES)) as pool:
            list(pool.map(lambda name: self.put(name, obj), SITES))

    def delete(self, name, obj):
        with self.acknowledged() as answer:
            self.client(name).delete_object(self.container, obj,
                                            response_dict=answer)
        self.made(obj, answer, None)

    def purge(self, name, obj, place):
        there = [row for row in self.rows_or_none(name) or ()
                 if row['name'] == obj]
        if there:
            self.purge_one(name, there[place % len(there)])

    def purge_one(self, name, row):
        obj, version = row['name'], row['version_id']
        with self.acknowledged():
            self.client(name).delete_object(
                self.container, obj, query_string='version-id=' + version)
        if version == 'null':
            # Another site may have another one, or may have none.
            self.unsure.add(obj)
        else:
            self.kept[obj].pop(version, None)

    def rows_or_none(self, name):
        """Return the rows of a site; None if it has no container."""
        try:
            return self.rows(name)
        except swiftclient.ClientException as err:
            if err.http_status != 404:
                raise
            return None

    def remove(self, name):
        """Purge all that a site knows, and delete the container."""
        rows = self.rows_or_none(name)
        if rows is None:
            return
        elsewhere = [row for each in SITES
                     for row in self.rows_or_none(each) or ()]
        for row in rows:
            self.purge_one(name, row)
        try:
            self.client(name).delete_container(self.container)
        except swiftclient.ClientException as err:
            # Something has come meanwhile.
            if err.http_status not in (404, 409):
                raise
            return
        known = {(row['name'], row['version_id'], row['hash'])
                 for row in rows}
        # Null delete markers are not shown, and where clocks differ another
        # site may have made the newer record.
        self.gone = not self.skewed and not any(
            None in each for each in self.nulls.values()) and \
            known.issuperset((row['name'], row['version_id'], row['hash'])
                             for row in elsewhere)

    def create(self, name):
        self.make(name, self.container)
        self.gone = False

    def change(self, name):
        self.post(name, 'X-Container-Meta-Note', str(next(self.numbers)))

    def suspend(self, name):
        self.post(name, 'X-Versions-Enabled', 'false')

    def enable(self, name):
        self.post(name, 'X-Versions-Enabled', 'true')

    def post(self, name, header, value):
        with self.acknowledged():
            self.client(name).post_container(self.container, {header: value})
            self.gone = False

    def skew(self, name, seconds):
        self.skewed = self.skewed or seconds != 0
        self.set_clock(name, ahead=seconds)

    def stand_still(self):
        self.skewed = True
        # After all that any of them has said.
        moment = time.time() + SKEW + 1
        for name in SITES:
            self.set_clock(name, still=moment)

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
        #: of each object: bodies of its null versions; which of them may be
        #: purged
        self.nulls = {obj: set() for obj in OBJECTS}
        self.unsure = set()
        #: whether the container has to be gone at the end
        self.gone = False
        #: whether a clock was ever wrong
        self.skewed = False
        for name in SITES:
            self.skew(name, 0)
            self.make(name, self.container)
        for step, *args in trace:
            getattr(self, step)(*args)
        self.sites.heal()
        for name in SITES:
            self.skew(name, 0)
        try:
            self.check()
        except AssertionError as err:
            raise AssertionError('%s\n%s\nafter %s' % (
                err, [self.seen(name) for name in SITES],
                '\n'.join(map(str, trace)))) from err
        self.finished.append((self.container, self.seen(SITES[0])))

    def seen(self, name):
        """Return what a client sees of a site: the rows of all versions, the
        listing, the container's metadata; None if it is not there.
        """
        client = self.client(name)
        try:
            headers, listed = client.get_container(self.container)
            rows = self.rows(name)
        except swiftclient.ClientException as err:
            if err.http_status != 404:
                raise
            return None
        return rows, [(each['name'], each['bytes'], each['hash'])
                      for each in listed], [headers.get(each) for each in (
                          'x-container-meta-note', 'x-versions-enabled')]

    def check(self):
        wait_for(self.are_as_expected, 'all sites have what follows', 240)
        seen = self.seen(SITES[0])
        if seen is None:
            return
        self.assert_data(seen[0])
        for obj, kept in self.kept.items():
            latest = max(kept, default=None)
            if self.nulls[obj]:
                continue
            for name, mode in zip(SITES, self.fields['modes']):
                if mode == 'write-repair':
                    wait_for(lambda: stored(
                        self.sites.clusters[name], self.accounts[name],
                        self.container, obj).is_listed_as(latest),
                        '%s lists %s of %s' % (name, latest, obj), 60)
                self.assert_latest(name, obj, kept.get(latest))

    def are_as_expected(self):
        seen = [self.seen(name) for name in SITES]
        if seen[1:] != seen[:-1]:
            return False
        if seen[0] is None:
            return not any(self.kept.values())
        return not self.gone and self.is_what_was_kept(seen[0][0])

    def is_what_was_kept(self, rows):
        for obj, kept in self.kept.items():
            found = {row['version_id']: row['is_latest'] for row in rows
                     if row['name'] == obj}
            null = found.pop('null', None)
            if found.keys() != kept.keys():
                return False
            if null is None and self.nulls[obj] and \
                    None not in self.nulls[obj] and obj not in self.unsure:
                return False
            latest = [version for version, is_latest in found.items()
                      if is_latest]
            if not self.nulls[obj] and latest != sorted(kept)[-1:]:
                return False
        return True

    def assert_data(self, rows):
        for row in rows:
            obj, version = row['name'], row['version_id']
            wanted = self.nulls[obj] if version == 'null' \
                else {self.kept[obj][version]}
            if 'x-deleted' in row['content_type']:
                self.assertIn(None, wanted)
                continue
            bodies = [self.client(name).get_object(
                self.container, obj, query_string='version-id=' + version)[1]
                for name in SITES]
            self.assertEqual(bodies[:1] * len(bodies), bodies, row)
            self.assertIn(bodies[0], wanted)

    def assert_latest(self, name, obj, body):
        if body is not None:
            self.assertEqual(body, self.client(name).get_object(
                self.container, obj)[1])
            return
        with self.assertRaises(swiftclient.ClientException) as caught:
            self.client(name).get_object(self.container, obj)
        self.assertEqual(404, caught.exception.http_status)

    def test_all_sites_agree(self):
        for seed in range(FIRST, FIRST + TRACES):
            with self.subTest(seed):
                self.replay(trace_of(seed))
        # Nothing has become of what was settled: it is what it was.
        for self.container, before in self.finished:
            for name in SITES:
                self.assertEqual(before, self.seen(name), self.container)
