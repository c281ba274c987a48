# SPDX-License-Identifier: Apache-2.0
"""An object-server that logs, for tests that send it requests."""

import os
import time
from unittest import mock

from swift.common import storage_policy
from swift.common.storage_policy import (
    ECStoragePolicy,
    StoragePolicy,
    StoragePolicyCollection,
)
from swift.common.swob import Request
from swift.common.utils import Timestamp

from swift_lightsync.object_server import ObjectController
from swift_lightsync.proar.core.oplog import State
from swift_lightsync.proar.names import SLOT_HEADER
from tests.unit.proar.logs import entries_of, note_all
from tests.unit.sync.fixtures import SwiftTestCase, wait_for

EC = ECStoragePolicy(1, 'ec', ec_type='liberasurecode_rs_vand',
                     ec_ndata=2, ec_nparity=1)
PARTITION = 3


class ServerTestCase(SwiftTestCase):
    """Two devices, three policies: replicas, erasure coding, replicas."""

    devices = 'sda', 'sdb'
    options = {}

    def setUp(self):
        super().setUp()
        collection = StoragePolicyCollection(
            [self.policy, EC, StoragePolicy(2, 'two')])
        self.enterContext(mock.patch.object(
            storage_policy, '_POLICIES', collection))
        self.enterContext(mock.patch(
            'swift.obj.server.get_logger', return_value=self.logger))
        self.app = ObjectController(dict(self.conf, **self.options),
                                    logger=self.logger)
        self.clock = int(time.time()) - 1000

    def path(self, device='sda'):
        return os.path.join(self.devices_dir, device)

    def entries(self, device='sda', policy=0):
        """:returns: what is logged, when all outcomes are noted"""
        wait_for(lambda: all(each.state is not State.INTENT for each in
                             entries_of(self.path(device), policy)),
                 'all outcomes are noted')
        return entries_of(self.path(device), policy)

    def note(self, state, most, device='sda'):
        """Note in the log, as a converger does."""
        self.entries(device)
        note_all(self.path(device), state, most)

    def request(self, verb, headers=None, device='sda', policy=0, name='o',
                partition=PARTITION, body=None):
        self.clock += 1
        request = Request.blank(
            '/%s/%s/a/c/%s' % (device, partition, name),
            {'REQUEST_METHOD': verb}, headers={
                'X-Timestamp': Timestamp(self.clock).internal,
                'Content-Type': 'text/plain',
                'X-Backend-Storage-Policy-Index': str(policy),
                **(headers or {})},
            body=b'body' if verb == 'PUT' and body is None else body)
        return request.get_response(self.app)

    def write(self, verb='PUT', slot='1', **kwargs):
        return self.request(verb, {SLOT_HEADER: slot}, **kwargs)
