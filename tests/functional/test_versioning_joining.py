# SPDX-License-Identifier: Apache-2.0
"""A fourth site joins three that have versions, as OPERATING.md says it: on
real clusters it gets all that there is, and the reports say what it lacks.
"""

import json
import subprocess
from tempfile import mkdtemp

import swiftclient

from tests.functional.clusters import wait_for
from tests.functional.sites_case import OPTIONS, PROPAGATOR, PROXY, SitesCase
from tools.cluster.conf import ini
from tools.cluster.sites import Sites

NEW = 'lima'
OBJECTS = 12
DEADLINE = 240


def only(cluster, names):
    """Let a site know some of the others alone; return all that it knew."""
    known = dict(cluster.spec.peers)
    cluster.spec.peers.clear()
    cluster.spec.peers.update({name: known[name] for name in names
                               if name in known})
    return known


class TestJoining(SitesCase):

    @classmethod
    def setUpClass(cls):
        super(SitesCase, cls).setUpClass()
        cls.sites = Sites(mkdtemp(prefix='ls-'), 4, nodes=1, options={
            **OPTIONS, 'compare_interval': 5}, modes=cls.fields['modes'])
        cls.addClassCleanup(cls.sites.destroy)
        cls.old = cls.sites.names[:3]
        cls.peers = {name: only(cluster, cls.old if name != NEW else ())
                     for name, cluster in cls.sites.clusters.items()}
        cls.sites.up()

    def setUp(self):
        self.container = 'joining'

    def join(self):
        for name, cluster in self.sites.clusters.items():
            with open(cluster.conf_path('versioning-sites'), 'w') as conf:
                conf.write(ini(self.peers[name]))
            for server in PROXY, PROPAGATOR:
                cluster.swift_init(server, 'restart')

    def report(self, name):
        """Return the exit status of a site's report, and what it says of the
        new one.
        """
        cluster = self.sites.clusters[name]
        done = subprocess.run(
            [cluster.layout.launcher('swift-version-sync-report'), '--json',
             cluster.conf_path('container-server', 1)],
            capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout)

    def metadata(self, name, container):
        try:
            found = self.client(name).head_container(container)
        except swiftclient.ClientException as err:
            return err.http_status
        return {header: found.get(header) for header in (
            'x-container-read', 'x-container-meta-color',
            'x-versions-enabled')}

    def make_a_past(self):
        """What three sites have, and what they had."""
        client = self.client('rome')
        for container in self.container, 'empty', 'deleted':
            client.put_container(container, {
                'X-Versions-Enabled': 'true', 'X-Container-Read': '.r:*',
                'X-Container-Meta-Color': 'blue'})
        for number in range(OBJECTS):
            client.put_object(self.container, 'o%d' % (number % 8),
                              b'%d' % number)
        client.put_object('deleted', 'o', b'')
        wait_for(lambda: all(self.metadata(name, each) != 404 for name in
                             self.old for each in ('empty', 'deleted')),
                 'the containers are at all three', DEADLINE)
        client = self.client('paris')
        client.delete_object(self.container, 'o0')
        client.post_object(self.container, 'o1', {'X-Object-Meta-A': 'new'})
        row = self.rows('paris')[-1]
        client.delete_object(self.container, row['name'],
                             query_string='version-id=' + row['version_id'])
        client.post_container('empty', {'X-Versions-Enabled': 'false'})
        for row in self.rows('rome', 'deleted'):
            self.client('rome').delete_object(
                'deleted', row['name'],
                query_string='version-id=' + row['version_id'])
        self.client('rome').delete_container('deleted')

    def test_a_fourth_site_gets_all_that_there_is(self):
        self.make_a_past()
        self.sites.names, every = self.old, self.sites.names
        self.wait_until_same(OBJECTS)
        self.sites.names = every
        self.sites.isolate(NEW)
        self.join()
        wait_for(lambda: NEW in json.dumps(self.report('rome')[1]) and
                 self.report('rome')[0] != 0,
                 'the report says that it lacks something', DEADLINE)
        self.sites.heal()
        wait_for(lambda: self.metadata(NEW, self.container) != 404,
                 'the container is there', DEADLINE)
        self.assert_served(self.wait_until_same(OBJECTS))
        for container in self.container, 'empty', 'deleted':
            def said():
                return ['%s: %s' % (container, self.metadata(name, container))
                        for name in every]
            wait_for(lambda: len(set(said())) == 1,
                     lambda: 'the same at all four: %s' % said(), DEADLINE)
        self.assertEqual(404, self.metadata(NEW, 'deleted'))
        self.assertEqual('False', self.metadata(NEW, 'empty')[
            'x-versions-enabled'])
        self.assertEqual('new', self.client(NEW).head_object(
            self.container, 'o1')['x-object-meta-a'])
        wait_for(lambda: not any(self.report(name)[0] for name in every),
                 'all reports are content', DEADLINE)
