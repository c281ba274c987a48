# SPDX-License-Identifier: Apache-2.0
"""Containers that Swift's sharder shards under a site's hands: what clients
are told, and what goes to and comes from another site, is the same before,
while and after.
"""

import os

import pytest
import swiftclient
from swift.common.utils import hash_path, storage_directory
from swift.container.backend import SHARDED, SHARDING, ContainerBroker

from swift_lightsync.versioning.core.row_data import hidden_container
from tests.functional.clusters import wait_for
from tests.functional.sites_case import OPTIONS, SitesCase

OBJECTS = ['o%d' % number for number in range(8)]
#: The sharder cleaves two shards in a pass.
PASSES = 12
#: In a shard, so that there are more than two shards of OBJECTS' rows.
ROWS = 2


class ShardedContainer:
    """The replicas of a container that is being sharded.

    :param cluster: a Cluster
    :param account: its name
    :param container: its name, the user's or a hidden one
    """

    def __init__(self, cluster, account, container):
        self._cluster = cluster
        part, nodes = cluster.ring('container').get_nodes(account, container)
        name = hash_path(account, container)
        self._paths = [os.path.join(
            cluster.device_path(cluster.node_of(node['device']),
                                node['device']),
            storage_directory('containers', part, name), name + '.db')
            for node in nodes]

    def states(self):
        """:returns: those of all replicas, without repetitions"""
        return {ContainerBroker(path).get_db_state()
                for path in self._paths}

    def start(self, rows):
        """Choose the shards, and begin to move rows to them.

        :param rows: for each shard
        """
        self._cluster.run([
            self._cluster.layout.launcher('swift-manage-shard-ranges'),
            '--force-commits', self._paths[0], 'find_and_replace',
            str(rows), '--enable', '--minimum-shard-size', '1'])
        self._cluster.swift_init('container-replicator', 'once')
        self._cluster.swift_init('container-sharder', 'once')
        assert self.states() == {SHARDING}, self.states()

    def finish(self):
        for _ in range(PASSES):
            self._cluster.swift_init('container-sharder', 'once')
            if self.states() == {SHARDED}:
                return
        raise AssertionError('the states are %s' % self.states())


class ShardsCase(SitesCase):

    fields = {'count': 2, 'nodes': 3, 'options': OPTIONS,
              'modes': ('write-repair', 'read-repair')}

    def setUp(self):
        super().setUp()
        #: name -> id -> body, or None for a delete marker
        self.versions = {}

    def sharded(self, name, container=None):
        """:returns: the ``ShardedContainer`` of a site"""
        account = self.client(name).get_auth()[0].rpartition('/')[2]
        return ShardedContainer(self.sites.clusters[name], account,
                                container or self.container)

    def put(self, name, obj, body):
        answer = {}
        self.client(name).put_object(self.container, obj, body,
                                     response_dict=answer)
        self.note(obj, answer, body)

    def delete(self, name, obj):
        answer = {}
        self.client(name).delete_object(self.container, obj,
                                        response_dict=answer)
        self.note(obj, answer, None)

    def note(self, obj, answer, body):
        self.versions.setdefault(obj, {})[
            answer['headers']['x-object-version-id']] = body

    def purge_oldest(self, name, obj):
        oldest = min(self.versions[obj])
        self.client(name).delete_object(
            self.container, obj, query_string='version-id=' + oldest)
        del self.versions[obj][oldest]

    def write_everywhere(self, text):
        """Each kind of change, at both sites, all over the shards."""
        for number, obj in enumerate(OBJECTS):
            for place, name in enumerate(self.sites.names):
                self.put(name, obj, ('%s %s at %s' % (
                    text, obj, name)).encode())
                if number % 4 == place:
                    self.delete(name, obj)
        self.assert_all_agree()
        for number, obj in enumerate(OBJECTS):
            self.purge_oldest(self.sites.names[number % 2], obj)
        self.assert_all_agree()

    def assert_all_agree(self):
        """Both sites list and serve what was written, and no more."""
        rows = self.wait_until_same(sum(map(len, self.versions.values())))
        self.assertEqual(
            [(obj, version) for obj in sorted(self.versions)
             for version in sorted(self.versions[obj], reverse=True)],
            [(row['name'], row['version_id']) for row in rows])
        for name in self.sites.names:
            self.assert_lists_the_latest(name)
            self.assert_marks_the_latest(name)
            for obj, versions in self.versions.items():
                self.assert_serves(name, obj, versions)

    def assert_lists_the_latest(self, name):
        self.assertEqual(
            [obj for obj in sorted(self.versions) if self.latest(obj)],
            [row['name'] for row in self.client(name).get_container(
                self.container)[1]])

    def assert_marks_the_latest(self, name):
        for row in self.rows(name):
            self.assertEqual(
                row['version_id'] == max(self.versions[row['name']]),
                row['is_latest'], row)

    def latest(self, obj):
        """:returns: the body, or None where there is no object"""
        return self.versions[obj][max(self.versions[obj])]

    def assert_serves(self, name, obj, versions):
        self.assertEqual(self.latest(obj), self.get(name, obj))
        for version, body in versions.items():
            self.assertEqual(body, self.get(
                name, obj, query_string='version-id=' + version))

    def get(self, name, obj, **kwargs):
        try:
            return self.client(name).get_object(
                self.container, obj, **kwargs)[1]
        except swiftclient.ClientException as err:
            self.assertEqual(404, err.http_status)
            return None


@pytest.mark.long
class TestShards(ShardsCase):

    def assert_sharding_changes_nothing(self, sharded, rows):
        self.write_everywhere('before')
        sharded.start(rows)
        self.assert_all_agree()
        self.write_everywhere('while')
        sharded.finish()
        self.assert_all_agree()
        self.write_everywhere('after')

    def test_versions_of_write_repair_are_sharded(self):
        # Its database counts the listing rows alone.
        self.assert_sharding_changes_nothing(self.sharded(
            'rome', hidden_container(self.container)), 1)

    def test_versions_of_read_repair_are_sharded(self):
        # Its database counts versions, one and a half for each object.
        self.assert_sharding_changes_nothing(self.sharded(
            'paris', hidden_container(self.container)), 2 * ROWS)


@pytest.mark.long
class TestLives(ShardsCase):
    """The life record is in another shard than the versions."""

    def color(self, name):
        try:
            return self.client(name).head_container(self.container).get(
                'x-container-meta-color')
        except swiftclient.ClientException as err:
            self.assertEqual(404, err.http_status)
            return None

    def wait_for_color(self, color):
        wait_for(lambda: {color} == set(map(self.color, self.sites.names)),
                 'both sites say %s' % color, 120)

    def paint(self, name, color):
        self.client(name).post_container(
            self.container, {'X-Container-Meta-Color': color})
        self.wait_for_color(color)

    def purge_all(self):
        for row in self.rows('rome'):
            self.client('rome').delete_object(
                self.container, row['name'],
                query_string='version-id=' + row['version_id'])

    def test_what_a_container_is_follows_before_while_and_after(self):
        for obj in OBJECTS:
            self.put('rome', obj, obj.encode())
        self.assert_all_agree()
        sharded = self.sharded('rome', hidden_container(self.container))
        self.paint('paris', 'red')
        sharded.start(1)
        self.paint('rome', 'green')
        self.paint('paris', 'blue')
        sharded.finish()
        self.paint('rome', 'white')
        self.purge_all()
        self.versions.clear()
        self.assert_all_agree()
        self.sites.cut('rome', 'paris')
        self.put('paris', 'late', b'late')
        self.client('rome').delete_container(self.container)
        self.assertIsNone(self.color('rome'))
        self.sites.heal()
        self.wait_for_color('white')
        self.assert_all_agree()


@pytest.mark.long
class TestOlderObjects(ShardsCase):

    def make(self, name, container):
        """They are made as containers without versions."""
        self.client(name).put_container(container)

    def test_objects_of_a_sharded_container_get_versions(self):
        bodies = {obj: obj.encode() for obj in OBJECTS}
        for obj, body in bodies.items():
            self.client('rome').put_object(self.container, obj, body)
        sharded = self.sharded('rome')
        sharded.start(ROWS)
        sharded.finish()
        super().make('rome', self.container)
        super().make('paris', self.container)
        wait_for(lambda: len(self.rows('paris')) == len(OBJECTS),
                 'paris has all', 120)
        for obj, body in bodies.items():
            self.assertEqual(body, self.get('paris', obj))
