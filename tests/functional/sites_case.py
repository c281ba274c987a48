# SPDX-License-Identifier: Apache-2.0
"""Sites for the functional tests: real clusters with real propagators, and a
network between them that can be slow or cut.
"""

import os
import signal
import time
import unittest
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory, mkdtemp

from tests.functional.clusters import wait_for
from tests.functional.site_clocks import Clock
from tests.waiting import is_running
from tools.cluster.sites import Sites

PROXY = 'proxy-server'
PROPAGATOR = 'container-propagator'
OPTIONS = {'interval': 0.1, 'scan_interval': 0.5, 'repair_delay': 0.5,
           'handover_delay': 1, 'retry_delay': 0.2, 'max_retry_delay': 2}
FIELDS = ('name', 'version_id', 'is_latest', 'bytes', 'hash', 'content_type')


@contextmanager
def running_sites(count, **fields):
    """Sites that are destroyed at the end.

    :param fields: of ``Sites``
    """
    sites = Sites(mkdtemp(prefix='ls-'), count, **fields)
    try:
        sites.up()
        yield sites
    finally:
        sites.destroy()


def _places(cluster, server):
    """The nodes that have a server; None stands for the whole cluster."""
    return [None] if server == PROXY else list(cluster.spec.node_numbers())


def kill_one(cluster, server, dice):
    """Kill one process of a server at a node, as a crash would.

    :param dice: a ``random.Random``
    """
    pids = [pid for node in _places(cluster, server)
            for pid in cluster.pids(node, server)]
    if pids:
        victim = dice.choice(pids)
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        wait_for(lambda: not is_running(victim), '%d ends' % victim, 30)


def start_missing(cluster, server):
    """Start a server at the nodes where it does not run."""
    for node in _places(cluster, server):
        if not cluster.pids(node, server):
            cluster.swift_init(
                server if node is None else '%s.%d' % (server, node),
                'start', check=False)


class SitesCase(unittest.TestCase):
    """Sites, and in each a versioned container."""

    #: of running_sites; what replicas do is shown by the unit tests
    fields = {'count': 3, 'nodes': 1, 'options': OPTIONS,
              'modes': ('write-repair', 'read-repair', 'write-repair')}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sites = cls.enterClassContext(running_sites(**cls.fields))

    def setUp(self):
        self.addCleanup(self.sites.heal)
        self.container = '%s-%d' % (self.id().rpartition('.')[2],
                                    time.time())
        for name in self.sites.names:
            self.make(name, self.container)

    def make(self, name, container):
        """Make a versioned container at a site."""
        self.client(name).put_container(
            container, {'X-Versions-Enabled': 'true'})

    def client(self, name):
        return self.sites.clusters[name].client(retries=0)

    def put(self, name, obj, body):
        self.client(name).put_object(self.container, obj, body)

    def rows(self, name, container=None):
        """:returns: what a client sees of all versions at a site"""
        _, rows = self.client(name).get_container(
            container or self.container, query_string='versions')
        return [{field: row[field] for field in FIELDS} for row in rows]

    def wait_until_same(self, count, container=None):
        """:returns: the rows, of so many versions, that all sites have"""
        found = []

        def same():
            found[:] = [self.rows(name, container)
                        for name in self.sites.names]
            return len(found[0]) == count and found[1:] == found[:-1]
        try:
            wait_for(same, '%d versions are the same at all sites' % count,
                     240)
        except AssertionError as err:
            self.fail('%s, which have %s' % (err, [
                len(rows) for rows in found]))
        return found[0]

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


class ClocksCase(SitesCase):
    """Sites whose proxies have clocks that a test sets."""

    @classmethod
    def setUpClass(cls):
        cls.clocks = cls.enterClassContext(
            TemporaryDirectory(prefix='clocks-'))
        cls.fields = dict(cls.fields, filters={
            'use': 'call:tests.functional.site_clocks:filter_factory',
            'clocks': cls.clocks})
        super().setUpClass()

    def set_clock(self, name, **how):
        """:param how: of ``Clock.set``"""
        Clock(os.path.join(self.clocks, name)).set(**how)
