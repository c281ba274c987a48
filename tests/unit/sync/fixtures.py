# SPDX-License-Identifier: Apache-2.0
"""What the tests of the sync package share: a small real Swift in a dir."""

import contextlib
import logging
import os
import tempfile
import unittest
from array import array
from collections import Counter
from unittest import mock

from swift.common import storage_policy, utils
from swift.common.concurrency import Timeout, hubs, listen, sleep, spawn, wsgi
from swift.common.ring import Ring, RingData
from swift.common.storage_policy import StoragePolicy, StoragePolicyCollection
from swift.common.utils import Timestamp, hash_path
from swift.common.utils.logs import SwiftLogAdapter
from swift.obj.diskfile import DiskFileManager, get_part_path

from tests import waiting
from tests.descriptors import open_descriptors

#: Seconds that anything may take on the slowest machine.
DEADLINE = 60
PARTITION = 0


class CapturingLogger(SwiftLogAdapter):
    """Keeps what is logged, and what would be sent to statsd."""

    def __init__(self):
        logger = logging.Logger('tests')
        super().__init__(logger, 'tests')
        self.lines = []
        self.counters = Counter()
        self.timings = []
        handler = logging.Handler()
        handler.emit = lambda record: self.lines.append(
            (record.levelname, record.getMessage()))
        logger.addHandler(handler)

    def at(self, level):
        return [line for name, line in self.lines if name == level]

    def increment(self, metric, *args, **kwargs):
        self.counters[metric] += 1

    def update_stats(self, metric, value, *args, **kwargs):
        self.counters[metric] += value

    def timing(self, metric, *args, **kwargs):
        self.timings.append(metric)

    timing_since = transfer_rate = timing


def wait_for(condition, what):
    """Poll until a condition holds; fail after a deadline."""
    waiting.wait_for(condition, what, DEADLINE, sleep)


class SwiftTestCase(unittest.TestCase):
    """A devices directory, one replicated policy and a logger."""

    devices = ('sda',)

    def setUp(self):
        self.root = self.enterContext(tempfile.TemporaryDirectory(
            ignore_cleanup_errors=True))
        self.devices_dir = os.path.join(self.root, 'node')
        for device in self.devices:
            os.makedirs(os.path.join(self.devices_dir, device))
        self.policy = StoragePolicy(0, 'zero', is_default=True)
        for target, name, value in (
                (utils, 'HASH_PATH_PREFIX', b''),
                (utils, 'HASH_PATH_SUFFIX', b'sync'),
                (storage_policy, '_POLICIES',
                 StoragePolicyCollection([self.policy]))):
            self.enterContext(mock.patch.object(target, name, value))
        self.logger = CapturingLogger()
        self.conf = {'devices': self.devices_dir, 'mount_check': 'false',
                     'disable_fallocate': 'true', 'swift_dir': self.root,
                     'recon_cache_path': self.root}
        self._timeout = None
        self.renew_deadline()
        self.addCleanup(lambda: self._timeout.cancel())

    def renew_deadline(self):
        """Fail if the test, or the next of its seeds, hangs.

        That names the test, and no run is stuck.
        """
        if self._timeout:
            self._timeout.cancel()
        self._timeout = Timeout(DEADLINE * 5)

    def manager(self, devices_dir=None):
        conf = dict(self.conf, devices=devices_dir or self.devices_dir)
        return DiskFileManager(conf, self.logger)

    def put(self, manager, device, name, stamp=1, body=b'x',
            partition=PARTITION, policy=None):
        """Write an object as an object-server does; return its suffix."""
        diskfile = manager.get_diskfile(device, partition, 'a', 'c', name,
                                        policy or self.policy)
        metadata = {'X-Timestamp': Timestamp(stamp).internal,
                    'Content-Type': 'text/plain', 'name': '/a/c/' + name,
                    'Content-Length': str(len(body)),
                    'ETag': utils.md5(body, usedforsecurity=False
                                      ).hexdigest()}
        with diskfile.create() as writer:
            writer.write(body)
            writer.put(metadata)
        return hash_path('a', 'c', name)[-3:]

    def part_path(self, device='sda', partition=PARTITION, devices_dir=None):
        return get_part_path(
            os.path.join(devices_dir or self.devices_dir, device),
            self.policy, partition)


@contextlib.contextmanager
def served(app, ip='127.0.0.1', port=0, **options):
    """A real wsgi server.

    :param port: 0 for any
    :returns: (as a context) its port
    """
    listener = listen((ip, port))
    server = spawn(wsgi.server, listener, app, log=logging.getLogger('wsgi'),
                   log_output=False, **options)
    try:
        yield listener.getsockname()[1]
    finally:
        server.kill()
        listener.close()


def open_sockets():
    """How many sockets this process has open."""
    return sum(each.startswith('socket:') for each in open_descriptors())


def pending_timers():
    """Timers of the hub that nobody cancelled."""
    hub = hubs.get_hub()
    return sum(not timer.called for _, timer in hub.timers + hub.next_timers)


def ring_of(directory, nodes, rows=None):
    """A real ring, loaded from a real file, of two partitions.

    :param directory: where the file is
    :param nodes: the devices, in the order of their ids
    :param rows: the device id of each row of PARTITION; default: all, in
        order. The other partition is there to give spare devices, of which
        hand-offs are made, a place in the ring.
    """
    ids = [node['id'] for node in nodes]
    rows = ids if rows is None else rows
    spare = (ids[::-1] * len(rows))[:len(rows)]
    return ring_of_parts(directory, nodes, [rows, spare])


def ring_of_parts(directory, nodes, parts):
    """A real ring, as :func:`ring_of`, of any number of partitions.

    :param parts: for each partition the device ids of its rows; as many as a
        power of two
    """
    power = len(parts).bit_length() - 1
    RingData([array('H', row) for row in zip(*parts)], nodes,
             32 - power).save(os.path.join(directory, 'object.ring.gz'))
    return Ring(directory, ring_name='object', reload_time=15)


def node(number, port, device='sda', ip='127.0.0.1', region=1):
    return {'id': number, 'region': region, 'zone': number, 'weight': 1,
            'ip': ip, 'port': port, 'replication_ip': ip,
            'replication_port': port, 'device': device, 'meta': ''}
