# SPDX-License-Identifier: Apache-2.0
"""Which databases are followed, above all those of shards."""

import os

from swift.common.internal_client import UnexpectedResponse
from swift.common.swob import HTTPServiceUnavailable
from swift.common.utils import Timestamp
from swift.container.backend import ContainerBroker

from swift_lightsync.versioning.core.keys import hidden_container
from swift_lightsync.versioning.sites.databases import ENABLED, MODE, Databases
from swift_lightsync.versioning.sites.local_data import LocalData
from tests.unit.sync.fixtures import SwiftTestCase

ACCOUNT, SHARDS = 'a', '.shards_a'


class TestDatabases(SwiftTestCase):

    def setUp(self):
        super().setUp()
        #: what the container of shards is, or None if nobody says
        self.metadata = {}
        self.asked = []
        self.databases = Databases(
            self.devices_dir, False, 'rome', self.logger,
            LocalData(self).mode_of)

    def get_container_metadata(self, account, container, **kwargs):
        """What an internal client says."""
        self.asked.append((account, container))
        if self.metadata is None:
            raise UnexpectedResponse('503', HTTPServiceUnavailable())
        return {name.lower(): value for name, value in self.metadata.items()}

    def make(self, account, container, **metadata):
        broker, _ = ContainerBroker.create_broker(
            os.path.join(self.devices_dir, 'sda'), 0, account, container,
            put_timestamp=Timestamp.now().internal, storage_policy_index=0)
        broker.update_metadata({
            name: (value, Timestamp.now().internal)
            for name, value in metadata.items()})

    def make_shard(self, name, root):
        self.make(SHARDS, name, **{
            'X-Container-Sysmeta-Shard-Quoted-Root':
                '%s/%s' % (ACCOUNT, root.replace('\0', '%00'))})

    def followed(self):
        """Return (name, hidden, container, mode) of each database."""
        self.databases.scan()
        return [(each.broker.container, each.hidden, each.container,
                 each.mode) for _, each in self.databases]

    def enable(self, mode='read-repair'):
        self.metadata = {ENABLED: 'True', MODE: mode}

    def test_containers_with_versions_are_followed(self):
        hidden = hidden_container('c')
        self.make(ACCOUNT, 'c', **{ENABLED: 'True', MODE: 'read-repair'})
        self.make(ACCOUNT, 'suspended',
                  **{ENABLED: 'False', MODE: 'read-repair'})
        self.make(ACCOUNT, 'plain')
        self.make(ACCOUNT, hidden)
        self.assertCountEqual([('c', False, 'c', 'read-repair'),
                               (hidden, True, 'c', '')], self.followed())
        self.assertEqual([], self.asked)

    def test_shards_of_a_hidden_container_are_followed(self):
        self.make_shard('s', hidden_container('c'))
        self.assertEqual([('s', True, 'c', '')], self.followed())

    def test_shards_are_followed_once_their_container_has_versions(self):
        self.make_shard('s', 'c')
        self.assertEqual([], self.followed())
        self.enable()
        self.assertEqual([('s', False, 'c', 'read-repair')], self.followed())
        self.metadata = {}
        self.assertEqual([], self.followed())

    def test_shards_are_what_they_were_while_nobody_says(self):
        self.make_shard('s', 'c')
        self.metadata = None
        self.assertEqual([], self.followed())
        self.enable()
        before = self.followed()
        self.metadata = None
        self.assertEqual(before, self.followed())

    def test_of_all_shards_of_a_container_is_asked_once(self):
        self.enable()
        for name in 's1', 's2':
            self.make_shard(name, 'c')
        self.assertEqual(2, len(self.followed()))
        self.assertEqual([(ACCOUNT, 'c')], self.asked)
