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
from swift_lightsync.proar.log.oplog_file import Oplog
from swift_lightsync.proar.names import SLOT_HEADER, cursors_path, log_path
from tests.unit.sync.fixtures import SwiftTestCase

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

    def paths(self, device='sda', policy=0):
        path = os.path.join(self.devices_dir, device)
        return (log_path(path, policy, PARTITION),
                cursors_path(path, policy, PARTITION))

    def oplog(self, *args, **kwargs):
        return Oplog(*self.paths(*args, **kwargs))

    def entries(self, *args, **kwargs):
        return self.oplog(*args, **kwargs).read().entries

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
