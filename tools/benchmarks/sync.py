# SPDX-License-Identifier: Apache-2.0
"""``bench sync``: the object replicators, LightSync and stock."""

import argparse
import math
import os
import time
from typing import Any, Dict, Tuple

from swift.common.utils import set_swift_dir

from tools.benchmarks import request_log
from tools.benchmarks.bench import Bench, add_common
from tools.benchmarks.record import Metric, in_turn
from tools.benchmarks.settings import KIB, names, number, require
from tools.benchmarks.sync_data import DataSet, Storage
from tools.benchmarks.sync_trial import SCENARIOS, Contestant, Trial
from tools.cluster import Cluster, ClusterSpec, Policy
from tools.cluster.spec import MAX_NODES, SYNC_METHODS

REPLICATORS = ('stock', 'lightsync')
OBJECTS_PER_PARTITION = 8
POLICY = 'bench'
#: how long before the start the data set was written, in its timestamps
AGE = 3600


def _sizes(text: str) -> Tuple[int, int]:
    low, _, high = text.partition('-')
    good = low.isdecimal() and (high.isdecimal() or high == '')
    found = (int(low), int(high or low)) if good else (0, 0)
    if not 1 <= found[0] <= found[1] <= 5242880:
        raise argparse.ArgumentTypeError(
            '%r; allowed: LOW-HIGH in KiB, such as 6-10, from 1 to 5242880'
            % text)
    return found[0] * KIB, found[1] * KIB


def add_arguments(parser: Any) -> None:
    """Add the options of this benchmark."""
    add = parser.add_argument
    add('--nodes', type=number(2, MAX_NODES), default=5,
        help='storage nodes')
    add('--replicas', type=number(2, MAX_NODES), default=3,
        help='replicas of each object')
    add('--part-power', type=number(1, 32), help='of the ring; None: about '
        '%d objects a partition' % OBJECTS_PER_PARTITION)
    add('--objects', type=number(1), default=500, metavar='PER_NODE',
        help='object replicas that a node holds')
    add('--size', type=_sizes, default='6-10', metavar='LOW-HIGH',
        help='size of an object, KiB')
    add('--scenarios', type=names(SCENARIOS), default=','.join(SCENARIOS),
        metavar='NAME,…', help='what is measured')
    add('--sync-method', choices=SYNC_METHODS, default='rsync',
        help='how data is pushed')
    add('--replicators', type=names(REPLICATORS),
        default=','.join(REPLICATORS), metavar='NAME,…',
        help='what is compared')
    add('--timeout', type=number(1, kind=float), default=600.0,
        metavar='SECONDS', help='that one replication pass may take')
    add_common(parser)


class Sync(Bench):
    """All trials of one invocation."""

    name = 'sync'
    references = ('stock',)
    metrics = (
        Metric('pass_seconds', 'pass, s (slowest node)', 3),
        Metric('messages', 'messages/node', 1),
        Metric('messages_per_partition', 'messages/partition', 2),
        Metric('bytes_sent', 'bytes sent/node'),
        Metric('cpu_seconds', 'CPU s/node', 3),
        Metric('max_rss_mib', 'max RSS, MiB', 1),
        Metric('rounds', 'rounds'),
        Metric('total_pass_seconds', 'all rounds: passes, s', 3),
        Metric('total_bytes_sent', 'all rounds: bytes/node'),
        Metric('total_cpu_seconds', 'all rounds: CPU s/node', 3),
        Metric('total_messages', 'all rounds: messages', 1),
        Metric('converged', 'converged', has_ratio=False))

    def measure(self, stack: Any) -> None:
        args = self.args
        require('--replicas', args.replicas, 'up to --nodes, %d'
                % args.nodes, args.replicas <= args.nodes)
        unique = args.objects * args.nodes // args.replicas
        power = args.part_power or max(1, round(math.log2(
            max(1, unique) / OBJECTS_PER_PARTITION)))
        self._data_set = DataSet(args.seed, unique, args.size,
                                 time.time() - AGE)
        contestants = {}
        for name in args.replicators:
            self.say('starting %d nodes for %s' % (args.nodes, name))
            contestants[name] = stack.enter_context(Contestant(
                Cluster(ClusterSpec(
                    root=os.path.join(self.root, name), nodes=args.nodes,
                    network='namespaces', services=('object',),
                    disks='directory', replicator=name,
                    sync_method=args.sync_method,
                    options=request_log.REPLICATION, policies=(Policy(
                        POLICY, 0, args.replicas, power),))),
                args.timeout).running())
        self._write_master(contestants[args.replicators[0]])
        for run in range(1, args.runs + 1):
            for scenario in args.scenarios:
                for name in in_turn(args.replicators, run):
                    self.attempt(name, scenario, run, lambda: self._play(
                        contestants[name], scenario, run))

    def _write_master(self, contestant: Contestant) -> None:
        # Rings and the paths of objects depend on swift.conf.
        cluster, args = contestant.cluster, self.args
        set_swift_dir(cluster.layout.etc)
        self._storage = Storage(cluster.layout.etc, cluster.ring(POLICY),
                                args.seed)
        self._master = os.path.join(self.root, 'master')
        for device in contestant.devices(contestant.nodes):
            os.makedirs(os.path.join(self._master, device))
        objects = self._data_set.objects
        suffixes = {os.path.dirname(self._storage.place(each.name)[2])
                    for each in objects}
        self._partitions = len({os.path.dirname(path) for path in suffixes})
        share = args.replicas / args.nodes
        args.shape = {
            'objects_per_node': len(objects) * share,
            'partitions_per_node': self._partitions * share,
            'suffixes_per_partition': len(suffixes) / self._partitions}
        self.say('writing %d objects, %d replicas each; a node holds %.0f '
                 'partitions' % (len(objects), args.replicas,
                                 args.shape['partitions_per_node']))
        self._storage.write(
            [(each, self._storage.devices_of(each.name))
             for each in objects], lambda device: self._master, rehash=True)

    def _play(self, contestant: Contestant, scenario: str,
              run: int) -> Dict[str, Any]:
        found = Trial(contestant, self._storage, self._data_set,
                      '%s/%d' % (scenario, run)).play(self._master, scenario)
        return {**found, 'messages_per_partition':
                found['messages'] * found['live_nodes'] / self._partitions}
