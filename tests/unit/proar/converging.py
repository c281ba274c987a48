# SPDX-License-Identifier: Apache-2.0
"""What the tests of the converger share: object-servers, and their files."""

import contextlib
import os
import socket
import time

import xattr
from swift.common.concurrency import spawn
from swift.common.exceptions import DiskFileNotExist
from swift.common.http_protocol import SwiftHttpProtocol
from swift.common.swob import Request
from swift.common.utils import Timestamp, hash_path
from swift.obj.diskfile import get_data_dir, read_metadata

from swift_lightsync.object_server import ObjectController
from swift_lightsync.proar.converger.daemon import ObjectConverger
from swift_lightsync.proar.core.oplog import Entry, Op, State
from swift_lightsync.proar.log.device_log import DeviceLog
from swift_lightsync.proar.log.segment import segment_path
from tests.unit.proar.logs import entries_of
from tests.unit.sync.fixtures import (
    PARTITION,
    SwiftTestCase,
    node,
    ring_of_parts,
    served,
    wait_for,
)

#: the device that has the log, and its peers
HERE = 'sda'
PEERS = ('sdb', 'sdc')
#: from which the tests count; tombstones of long ago are reclaimed
EPOCH = int(time.time()) - 10000
OWN_PORT = 6200
FAST = {'retry_delay': '0.01', 'max_retry_delay': '0.05',
        'conn_timeout': '60', 'node_timeout': '60', 'bind_ip': '127.0.0.1',
        'bind_port': str(OWN_PORT)}


def hash_of(name):
    """Return the path hash of an object, 16 bytes"""
    return bytes.fromhex(hash_path('a', 'c', name))


class ServerTestCase(SwiftTestCase):
    """One object-server that has all devices."""

    devices = (HERE, *PEERS)

    def setUp(self):
        super().setUp()
        self.app = ObjectController(self.conf, logger=self.logger)

    def served(self, app=None, **options):
        """A server, as Swift's are; as a context its port."""
        return served(app or self.app, protocol=SwiftHttpProtocol, **options)

    def ask(self, method, name, stamp, body=b'', device=HERE, **headers):
        """A request of a client's, straight to the app.

        :param stamp: seconds after EPOCH
        :param headers: with underscores for hyphens
        :returns: the status
        """
        request = Request.blank(
            '/%s/%d/a/c/%s' % (device, PARTITION, name), method=method,
            body=body if method == 'PUT' else None,
            headers={'X-Timestamp': Timestamp(EPOCH + stamp).internal,
                     'X-Backend-Storage-Policy-Index': int(self.policy),
                     'Content-Type': 'text/plain',
                     **{key.replace('_', '-'): value
                        for key, value in headers.items()}})
        if method != 'PUT' and 'Content_Type' not in headers:
            del request.headers['Content-Type']
        return request.get_response(self.app).status_int

    def files(self, device):
        """:returns: what a device holds, a dict of path below the device ->
            (contents, metadata)
        """
        top = os.path.join(self.devices_dir, device,
                           get_data_dir(self.policy))
        found = {}
        for directory, _, names in os.walk(top):
            for name in names:
                path = os.path.join(directory, name)
                if not name.endswith(('.data', '.meta', '.ts')):
                    continue
                # Another one may be superseding it.
                with contextlib.suppress(FileNotFoundError, DiskFileNotExist):
                    with open(path, 'rb') as file:
                        found[os.path.relpath(path, top)] = (
                            file.read(), read_metadata(path),
                            {each: xattr.getxattr(path, each)
                             for each in xattr.listxattr(path)})
        return found


class ConvergerTestCase(ServerTestCase):
    """A device with logs, and a server of each of its peers."""

    def setUp(self):
        super().setUp()
        self.ports = [self.enterContext(self.served(ObjectController(
            self.conf, logger=self.logger))) for _ in PEERS]
        self.make_ring(*self.ports)
        self.path = os.path.join(self.devices_dir, HERE)
        self.log = DeviceLog(self.path, self.logger)
        self.addCleanup(lambda: self.log.close())
        self.stamp = 0

    def make_ring(self, *ports, devices=PEERS):
        self.policy.object_ring = None
        ring_of_parts(self.root, [node(0, OWN_PORT, HERE), *(
            node(number, port, device) for number, (port, device)
            in enumerate(zip(ports, devices), 1))],
            [list(range(len(ports) + 1))])

    @contextlib.contextmanager
    def dead_peer(self):
        """In its context, nobody has the port of the first peer."""
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            self.make_ring(free.getsockname()[1], self.ports[1])
            yield

    def load_ring(self, converger):
        """Have a converger see the ring that was made last."""
        self.policy.load_ring(self.root)
        converger.policies[0].object_ring._rtime = 0

    def overwrite(self, data, place=0, number=1):
        with open(segment_path(self.log.directory, number), 'r+b') as log:
            log.seek(place)
            log.write(data)

    def converger(self, **options):
        return ObjectConverger({**self.conf, **FAST, **options},
                               logger=self.logger)

    def run_once(self, **options):
        converger = self.converger(**options)
        converger.run_once()
        return converger

    def running(self, **options):
        """Return a converger that runs until the test ends"""
        converger = self.converger(**options)
        thread = spawn(converger.run_forever)

        def end():
            thread.kill()
            converger.peer_queues.clear()
            for device in converger.devices:
                device.stop()
            converger.watch.close()
        self.addCleanup(end)
        wait_for(lambda: converger.devices and all(
            device.next_scan for device in converger.devices), 'it runs')
        return converger

    def intend(self, name, op=Op.MODIFY, **fields):
        """Return a logged Intent of the next timestamp"""
        self.stamp += 1
        timestamp = Timestamp(EPOCH + self.stamp)
        intent = self.log.begin(Entry(
            op, 0, int(self.policy), PARTITION, hash_of(name), timestamp.raw,
            timestamp.offset, int(time.time() * 1e6), **fields))
        intent.sync()
        return intent

    def die(self):
        """End the writer of the log; another one may follow."""
        self.log.close()
        self.log = DeviceLog(self.path, self.logger)

    def change(self, method, name, *args, **headers):
        """Do as an object-server does with a write to the primary role."""
        intent = self.intend(name, Op.DELETE if method == 'DELETE'
                             else Op.MODIFY)
        status = self.ask(method, name, self.stamp, *args, **headers)
        intent.commit()
        wait_for(lambda: intent.segment.entry(
            intent.index).state is not State.INTENT, 'it is noted')
        # 404: a tombstone where nothing was
        self.assertIn(status, (201, 202, 204, 404))

    def change_some(self):
        for number in range(8):
            name = 'o%d' % (number % 3)
            self.change('PUT', name, b'%d' % number)
            if number % 3:
                self.change('POST', name, X_Object_Meta_Color='red')
        self.change('DELETE', 'o0')

    def are_same(self, devices=PEERS):
        here = self.files(HERE)
        return bool(here) and all(self.files(device) == here
                                  for device in devices)

    def states(self):
        """Return what the log says of its entries, in their order"""
        return [each.state.name for each in entries_of(self.path)]

    def is_converged(self):
        return {'CONVERGED', 'ABORTED'} >= set(self.states())

    def holders(self):
        return [set(each.holders) for each in entries_of(self.path)]
