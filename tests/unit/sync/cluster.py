# SPDX-License-Identifier: Apache-2.0
"""A cluster in one process: real object-servers, rings and replicators."""

import contextlib
import os
from unittest import mock

from swift.obj import server
from swift.obj.diskfile import get_part_path, read_hashes
from swift.obj.replicator import ObjectReplicator

from swift_lightsync.object_server import ObjectController
from swift_lightsync.sync import patient_reads, verb
from swift_lightsync.sync.core import postponed
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.replicator import LightSyncReplicator
from tests.unit.sync.fixtures import (
    DEADLINE,
    PARTITION,
    CapturingLogger,
    SwiftTestCase,
    node,
    ring_of,
    served,
)

VERBS = ('LIGHTSYNC', 'REPLICATE', 'SSYNC')
#: What a sync message is about.
SYNC = '/' + verb.ROOTS


class Node:
    """One host of the cluster: a device, an object-server, a replicator.

    :param case: the :class:`ClusterTestCase`
    :param number: its device id; it listens on 127.0.0.(number + 2)
    """

    def __init__(self, case, number, stock=False):
        self.case = case
        self.number = number
        self.ip = '127.0.0.%d' % (number + 2)
        self.devices_dir = os.path.join(case.root, 'n%d' % number)
        os.makedirs(os.path.join(self.devices_dir, 'sda'))
        self.logger = CapturingLogger()
        #: Verbs; of LIGHTSYNC, sync messages only.
        self.requests = []
        #: What else LIGHTSYNC was sent for.
        self.others = []
        self.broken = {}
        # What the processes of one node share, no other node knows of.
        self.conf = dict(case.conf, devices=self.devices_dir,
                         recon_cache_path=os.path.join(
                             case.root, 'recon%d' % number))
        os.makedirs(self.conf['recon_cache_path'])
        self.app = (server.ObjectController if stock else ObjectController)(
            self.conf, logger=self.logger)
        self.disk = case.manager(self.devices_dir)

    def __call__(self, env, start_response):
        method = env['REQUEST_METHOD']
        if method != 'LIGHTSYNC' or env['PATH_INFO'].endswith(SYNC):
            self.requests.append(method)
        else:
            self.others.append(env['PATH_INFO'].rpartition('/')[2])
        status = self.broken.get(method)
        if status:
            start_response('%d Broken' % status, [('Content-Length', '0')])
            return [b'']
        return self.app(env, start_response)

    @property
    def part_path(self):
        return get_part_path(os.path.join(self.devices_dir, 'sda'),
                             self.case.policy, PARTITION)

    def put(self, name, stamp=1):
        return self.case.put(self.disk, 'sda', name, stamp)

    def objects(self):
        """What is on the device: a set of (object hash, file name)."""
        found = set()
        for path, _, names in os.walk(self.part_path):
            found.update((os.path.basename(path), name) for name in names
                         if name.endswith(('.data', '.ts', '.meta')))
        return found

    def suffixes(self):
        return {suffix: value for suffix, value
                in read_hashes(self.part_path).items() if len(suffix) == 3}

    def exchanged(self):
        return Fingerprints(
            self.disk, self.case.policy, self.logger).get(
                'sda', PARTITION)[1].exchanged


class ClusterTestCase(SwiftTestCase):
    """Nodes with one partition in common."""

    #: Seconds that a pass waits for a node that is busy.
    pass_patience = 0

    #: Options of the replicators.
    daemon_options = {}

    def setUp(self):
        super().setUp()
        # However slow the machine is, nodes are neither busy nor late.
        for module, name, seconds in (
                (postponed, 'PASS_PATIENCE', self.pass_patience),
                (verb, 'ADMISSION_PATIENCE', DEADLINE),
                (patient_reads, 'PATIENCE', DEADLINE)):
            self.enterContext(mock.patch.object(module, name, seconds))

    def start(self, count, rows=None, stock=(), regions=None):
        """Start the nodes, and make their ring and replicators.

        :param count: how many nodes
        :param rows: the node of each row of the ring; default: all
        :param stock: nodes that run stock object-servers
        :param regions: the region of each node
        """
        self.nodes = [Node(self, number, number in stock)
                      for number in range(count)]
        self.servers = [self.enterContext(contextlib.ExitStack())
                        for _ in self.nodes]
        self.ring_nodes = []
        for each, stack in zip(self.nodes, self.servers):
            port = stack.enter_context(served(each, ip=each.ip))
            self.ring_nodes.append(node(
                each.number, port, ip=each.ip,
                region=(regions or [1] * count)[each.number]))
        self.set_ring(rows)
        self.daemons = [self.replicator(number) for number in range(count)]

    def set_ring(self, rows=None):
        self.policy.object_ring = ring_of(self.root, self.ring_nodes, rows)

    def replicator(self, number, **conf):
        daemon = LightSyncReplicator({
            **self.nodes[number].conf, 'sync_method': 'ssync',
            'ring_ip': self.nodes[number].ip, 'rsync_module': 'x',
            'bind_port': str(self.ring_nodes[number]['replication_port']),
            'conn_timeout': '60', 'node_timeout': '60',
            # A fifth of it is what a node takes for an answer.
            'http_timeout': str(5 * DEADLINE),
            **self.daemon_options, **conf}, logger=CapturingLogger())
        daemon._zero_stats()
        return daemon

    def at_home(self, number):
        """Have a replicator take a node's address for its own."""
        return mock.patch('swift.obj.replicator.whataremyips',
                          return_value=[self.nodes[number].ip])

    def run_pass(self, number, daemon=None, **overrides):
        """Run a pass of a node's replicator.

        :returns: its statistics
        """
        daemon = daemon or self.daemons[number]
        daemon._zero_stats()
        with self.at_home(number):
            daemon.replicate(**overrides)
        return daemon.stats_for_dev['sda']

    def assert_stats(self, stats, **expected):
        """Check some of the statistics of a pass."""
        found = stats if isinstance(stats, dict) else vars(stats)
        self.assertEqual(expected, {name: found[name] for name in expected})

    def assert_same_objects(self, count=None):
        """Check that all nodes have the same objects, so many."""
        first, *others = [each.objects() for each in self.nodes]
        self.assertEqual([first] * len(others), others)
        if count is not None:
            self.assertEqual(count, len(first))

    def requests(self):
        """What each node was asked since the last call, verb to count."""
        found = []
        for each in self.nodes:
            found.append({verb: each.requests.count(verb) for verb in VERBS
                          if verb in each.requests})
            each.requests.clear()
        return found

    def asked(self):
        """What else each node was sent by LIGHTSYNC since the last call."""
        found = [list(each.others) for each in self.nodes]
        for each in self.nodes:
            each.others.clear()
        return found

    def put_everywhere(self, name='o', numbers=None, stamp=1):
        for number in numbers or range(len(self.nodes)):
            self.nodes[number].put(name, stamp)

    def start_full(self, count, **options):
        """Start nodes, as :meth:`start`, all of which have an object."""
        self.start(count, **options)
        self.put_everywhere()

    def jobs(self, number=0, daemon=None):
        """Return the jobs that stock Swift makes on a node."""
        daemon = daemon or self.daemons[number]
        daemon.all_devs_info = set()
        with self.at_home(number):
            return ObjectReplicator.collect_jobs(daemon)

    def job(self):
        """Return the job of the partition on the first node."""
        job, = self.jobs()
        return job
