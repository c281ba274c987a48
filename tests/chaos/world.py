# SPDX-License-Identifier: Apache-2.0
"""Sites on which all systems are at work, and whose errors a test chooses."""

import json
import os
import pickle  # nosec: B403
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory
from unittest import mock
from urllib.parse import urlsplit

from tests.functional.clusters import wait_for
from tests.functional.errno_faults import Faults
from tests.functional.served import ask
from tests.functional.site_clocks import Clock
from tests.functional.sites_case import OPTIONS, start_missing
from tools.cluster import Cluster, ClusterSpec, Policy, free_base_port
from tools.cluster.sites import ALL, Sites

#: One more than there are replicas, so that there are hand-offs.
NODES = 4
STOCK = 'small:3,fragments:2+1'
CLOCKS = 'call:tests.functional.site_clocks:filter_factory'
#: What makes rows and databases the same.
OTHERS = 'container-replicator', 'account-replicator', 'object-updater'
MODES = 'write-repair', 'read-repair'
#: Eight propagators that look ten times a second would leave nothing of two
#: cores to what is tested.
PACE = {**OPTIONS, 'interval': 1, 'scan_interval': 5}


def _policies(text):
    return tuple(replace(policy, part_power=4)
                 for policy in Policy.several(text))


@contextmanager
def running_world(stock=False):
    """A World that is up, and destroyed at the end.

    :param stock: it is one cluster of Swift without us
    """
    with ExitStack() as stack:
        root = stack.enter_context(TemporaryDirectory(prefix='ch-'))
        faults = Faults(os.path.join(root, 'faults.json'))
        stack.enter_context(mock.patch.dict(
            os.environ, faults.environment()))
        if stock:
            made = Cluster(ClusterSpec(
                os.path.join(root, 'sites', 'rome'), NODES,
                replicator='stock',
                policies=_policies(STOCK), base_port=free_base_port(NODES),
                replication_ports=False))
        else:
            made = Sites(os.path.join(root, 'sites'), 2, MODES, PACE, {
                'use': CLOCKS, 'clocks': root}, nodes=NODES,
                policies=_policies(ALL))
        stack.callback(made.destroy)
        made.up(replicators=True)
        yield World(root, faults, made)


class World:
    """:param root: its directory
    :param faults: the Faults that all servers heed
    :param made: Sites, or one Cluster
    """

    def __init__(self, root, faults, made):
        self.root = root
        self.faults = faults
        self.sites = made if isinstance(made, Sites) else None
        self.clusters = made.clusters if self.sites else {'rome': made}
        self.policies = next(iter(self.clusters.values())).spec.policies
        #: site -> (address of the proxy, path of the account, token)
        self.access = {}
        clients = {}
        for site, cluster in self.clusters.items():
            cluster.swift_init(*OTHERS, 'start')
            client = clients[site] = cluster.client()
            for policy in self.policies:
                for kind in ('versioned-', 'plain-'):
                    client.put_container(kind + policy.name, {
                        'X-Storage-Policy': policy.name})
            url = urlsplit(client.url)
            self.access[site] = (
                (url.hostname, url.port), url.path, client.token)
        # A site makes what another has versioned in its default policy.
        for client in clients.values():
            for policy in self.policies:
                client.post_container('versioned-' + policy.name, {
                    'X-Versions-Enabled': 'true'})

    def clock(self, site):
        return Clock(os.path.join(self.root, site))

    def daemons(self, cluster):
        """Return the names of the daemons of a node, as swift-init has them.
        """
        return [*cluster.spec.servers(), *cluster.daemons.managers(),
                *cluster.replicators, *OTHERS]

    def revive(self, cluster):
        """Start what does not run."""
        for node in cluster.spec.node_numbers():
            if not cluster.pids(node):
                cluster.start(node)
        for daemon in [*self.daemons(cluster), 'proxy-server']:
            start_missing(cluster, daemon)

    def heal(self):
        """End all that events do."""
        if self.sites:
            self.sites.heal()
        for site, cluster in self.clusters.items():
            self.clock(site).set()
            for node in cluster.spec.node_numbers():
                cluster.network.heal(node)
                for device in cluster.devices(node):
                    cluster.mount(node, device)
            self.revive(cluster)

    # What it holds

    def _listing(self, site, container, query=''):
        address, path, token = self.access[site]
        answer = ask(address, 'GET', '%s/%s?format=json%s' % (
            path, container, query), headers={'X-Auth-Token': token})
        return json.loads(answer.body) if answer.status == 200 else []

    def rows(self, site, container):
        """Return what is listed of all versions: object -> version id -> the
        hash of its data, None for a delete marker.
        """
        found = {}
        for row in self._listing(site, container, '&versions'):
            found.setdefault(row['name'], {})[row['version_id']] = \
                None if 'x-deleted' in row['content_type'] else row['hash']
        return found

    def head(self, site, container, name, query=''):
        """Return the hash of an object's data as a GET has it, or None."""
        address, path, token = self.access[site]
        answer = ask(address, 'GET', '%s/%s/%s%s' % (
            path, container, name, query), headers={'X-Auth-Token': token})
        if answer.status not in (200, 404):
            raise OSError('GET %s/%s: %d' % (container, name, answer.status))
        return answer.headers['etag'].strip('"') \
            if answer.status == 200 else None

    def wrong(self, history):
        """Yield what is not as the clients were told, or not the same at all
        sites and replicas.
        """
        for policy in self.policies:
            container = 'versioned-' + policy.name
            seen = {site: self.rows(site, container)
                    for site in self.clusters}
            first, *others = seen.values()
            if others != [first] * len(others):
                yield '%s: sites differ' % container
            for (where, name), known in history.versions.items():
                for site in seen if where == container else ():
                    for text in known.wrong(seen[site].get(name, {})):
                        yield '%s: %s/%s: %s' % (site, where, name, text)
        for (site, *names), known in history.plain.items():
            for text in known.wrong(self.head(site, *names)):
                yield '%s: %s: %s' % (site, '/'.join(names), text)
        for site, cluster in self.clusters.items():
            for policy in self.policies:
                yield from ('%s: %s' % (site, text) for text in
                            _unequal(cluster, policy))

    def unreadable(self, history):
        """Yield the versions whose data are not read at some site."""
        for (container, name), known in history.versions.items():
            for version, body in known.known.items():
                for site in self.clusters if body else ():
                    if self.head(site, container, name,
                                 '?version-id=' + version) != body:
                        yield '%s: %s/%s: data of %s' % (
                            site, container, name, version)

    def settle(self, history, patience):
        """Wait until all is as it has to be.

        :raises AssertionError: that says what is not, in the end
        """
        left = ['nothing was looked at']

        def is_settled():
            for cluster in self.clusters.values():
                cluster.swift_init(*OTHERS, 'once', check=False)
            try:
                left[:] = list(self.wrong(history)) or \
                    list(self.unreadable(history))
            except OSError as err:
                left[:] = [str(err)]
            return not left
        try:
            wait_for(is_settled, 'all is as it was acknowledged', patience)
        except AssertionError as err:
            raise AssertionError('%s\n%d, such as\n%s' % (
                err, len(left), '\n'.join(left[:20]))) from err


def _unequal(cluster, policy):
    """Yield the partitions whose devices have not the same suffixes."""
    ring = cluster.ring(policy)
    for partition in range(ring.partition_count):
        nodes = ring.get_part_nodes(partition)
        found = [_hashes(node, partition, policy) for node in nodes]
        everywhere = set.intersection(*(set(each.items()) for each in found))
        differing = {'%s:%d/%s' % (node['ip'], node['port'], node['device']):
                     dict(set(each.items()) - everywhere)
                     for node, each in zip(nodes, found, strict=True)}
        if any(differing.values()):
            yield 'policy %s: partition %d differs: %s' % (
                policy.name, partition, differing)


def _hashes(node, partition, policy):
    """:returns: suffix -> what an object-server says of it"""
    answer = ask((node['ip'], node['port']), 'REPLICATE', '/%s/%d' % (
        node['device'], partition), headers={
            'X-Backend-Storage-Policy-Index': str(policy.index)})
    if answer.status != 200:
        return {'answer of %(ip)s/%(device)s' % node: answer.status}
    found = pickle.loads(answer.body)  # nosec: B301
    # Fragments that are not durable are nobody's loss.
    return {suffix: each[None] for suffix, each in found.items()
            if None in each} if policy.parity else found
