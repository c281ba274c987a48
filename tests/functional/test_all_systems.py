# SPDX-License-Identifier: Apache-2.0
"""All systems at once: versions between sites, in volumes under primary-role
writes and as fragments in volumes, replicated by LightSync, driven by
COSBench. ``SITES=3`` in the environment has one site more.
"""

import os
from tempfile import mkdtemp

import swiftclient

from tests.functional.clusters import wait_for
from tests.functional.cosbench_case import DocumentsCase
from tests.functional.sites_case import SitesCase
from tests.functional.test_health import check
from tools.cluster.cli import main
from tools.cluster.sites import Sites

SYSTEMS = 'lightsync', 'losf', 'proar', 'versions'
OBJECTS, WRITES = 8, 24
WORKLOAD = '''<workload name="all"><auth type="tempauth" config="
username=test:tester;password=testing;auth_url={auth}"/>
<storage type="swift" config="timeout=120000"/><workflow config="
containers=c(1);cprefix={container}-;objects=r(1,{objects});sizes=r(1,70)KB;
hashCheck=true">
<workstage name="init"><work type="init" workers="1" config="
cheader.X-Storage-Policy={policy};cheader.X-Versions-Enabled=true"/></workstage>
<workstage name="prepare"><work type="prepare" workers="2"/></workstage>
<workstage name="main"><work name="main" workers="4" totalOps="{operations}">
<operation type="write" ratio="50" config="objects=u(1,{objects})"/>
<operation type="read" ratio="50" config="objects=u(1,{objects})"/>
</work></workstage></workflow></workload>'''


class TestAllSystems(DocumentsCase, SitesCase):

    @classmethod
    def setUpClass(cls):
        # Not SitesCase's: what tools/saio makes.
        super(SitesCase, cls).setUpClass()
        root = mkdtemp(prefix='ls-')
        assert main(['--dir', root, '--all', '--sites',
                     os.environ.get('SITES', '2'), 'up']) == 0
        cls.sites = Sites.open(root)
        cls.addClassCleanup(cls.sites.destroy)

    def drive(self, site, policy):
        """Run a workload of COSBench; all its operations succeed."""
        rows = self.run_text(WORKLOAD.format(
            auth=self.sites.clusters[site].environment()['ST_AUTH'],
            container=policy, policy=policy, objects=OBJECTS,
            operations=WRITES * 2))
        self.assertEqual(WRITES * 2, sum(
            row.tally.count for (stage, _), row in rows.items()
            if stage == 'main'))

    def test_versions_of_all_policies_are_the_same_at_all_sites(self):
        policies = [policy.name for policy in
                    self.sites.clusters['rome'].spec.policies]
        for policy in policies:
            # Other sites make it with the same storage policy.
            self.drive(self.sites.names[0], policy)
            for site in self.sites.names[1:]:
                wait_for(lambda: self.policy_at(site, policy) == policy,
                         '%s is at %s' % (policy, site))
                self.drive(site, policy)
        for policy in policies:
            self.container = policy + '-1'
            wait_for(self.is_same, '%s is the same' % policy)
            rows = self.rows('rome')
            # By both: what is prepared, and a half of the rest or so.
            self.assertGreater(len(rows), 2 * OBJECTS)
            self.assert_served(rows)
        expected = [word for system in SYSTEMS
                    for word in ('--expect', system)]
        for cluster in self.sites.clusters.values():
            wait_for(lambda: check(cluster, *expected) == (0, set()),
                     'all is well: %s' % (check(cluster, *expected),))

    def policy_at(self, site, policy):
        """Return the storage policy of a container at a site, or None."""
        try:
            return self.client(site).head_container(
                policy + '-1')['x-storage-policy']
        except swiftclient.ClientException:
            return None

    def is_same(self):
        first, *others = [self.rows(name) for name in self.sites.names]
        return others == [first] * len(others)

