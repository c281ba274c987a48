# SPDX-License-Identifier: Apache-2.0
"""``bench sync``: the object replicators, LightSync and stock."""

import argparse
import math
import os
import time
from typing import Any

from swift.common.utils import set_swift_dir

from tools.arguments import KIB, names, number, require
from tools.benchmarks import request_log
from tools.benchmarks.bench import Bench
from tools.benchmarks.record import Metric
from tools.benchmarks.sync_data import CHANGED, DataSet, Storage
from tools.benchmarks.sync_steps import SCENARIOS, USUAL
from tools.benchmarks.sync_trial import Contestant, Trial
from tools.cluster import Cluster, ClusterSpec, Policy
from tools.cluster.spec import MAX_NODES, SYNC_METHODS

REPLICATORS = ('stock', 'lightsync')
OBJECTS_PER_PARTITION = 8
POLICY = 'bench'
#: how long before the start the data set was written, in its timestamps
AGE = 3600


def _sizes(text: str) -> tuple[int, int]:
    low, _, high = text.partition('-')
    good = low.isdecimal() and (high.isdecimal() or high == '')
    found = (int(low), int(high or low)) if good else (0, 0)
    if not 1 <= found[0] <= found[1] <= 5242880:
        raise argparse.ArgumentTypeError(
            '%r; allowed: LOW-HIGH in KiB, such as 6-10, from 1 to 5242880'
            % text)
    return found[0] * KIB, found[1] * KIB


class Sync(Bench):
    """All trials of one invocation."""

    name = 'sync'
    options = {
        'nodes': (number(2, MAX_NODES), 5, None, 'storage nodes'),
        'disks': (number(1, 99), 1, None, 'devices of each node'),
        'replicas': (number(2, MAX_NODES), 3, None,
                     'replicas of each object'),
        'parity': (number(0, MAX_NODES - 1), 0, None, 'of the replicas, '
                   'fragments of parity; 0: no erasure coding'),
        'part-power': (number(1, 32), None, None, 'of the ring; None: about '
                       '%d objects a partition' % OBJECTS_PER_PARTITION),
        'objects': (number(1), 500, 'PER_NODE',
                    'object replicas that a node holds'),
        'size': (_sizes, '6-10', 'LOW-HIGH', 'size of an object, KiB'),
        'changed': (number(0.001, 100, float), CHANGED, 'PERCENT',
                    'of the objects that a scenario changes'),
        'scenarios': (names(SCENARIOS), ','.join(USUAL), 'NAME,…',
                      'what is measured'),
        'sync-method': (SYNC_METHODS, 'rsync', None, 'how data is pushed'),
        'replicators': (names(REPLICATORS), ','.join(REPLICATORS), 'NAME,…',
                        'what is compared; with --parity, reconstructors'),
        'timeout': (number(1, kind=float), 600.0, 'SECONDS',
                    'that one replication pass may take')}
    references = ('stock',)
    metrics = (
        Metric('pass_seconds', 'pass, s (slowest node)', 3),
        Metric('messages', 'messages/node', 1),
        Metric('messages_per_partition', 'messages/partition', 2),
        Metric('bytes_sent', 'bytes sent/node'),
        Metric('cpu_seconds', 'CPU s/node', 3),
        Metric('kib_written', 'KiB written/node'),
        Metric('sender_cpu_ms', 'sender, CPU ms/node', 1),
        Metric('receiver_cpu_ms', 'receiver, CPU ms/node', 1),
        Metric('sender_syscalls', 'sender, syscalls/node'),
        Metric('receiver_syscalls', 'receiver, syscalls/node'),
        Metric('max_rss_mib', 'max RSS, MiB', 1),
        Metric('peak_rss_mib', 'max RSS of all passes, MiB', 1),
        Metric('server_rss_mib', 'servers, max RSS, MiB', 1),
        Metric('rounds', 'rounds'),
        Metric('total_pass_seconds', 'all rounds: passes, s', 3),
        Metric('total_bytes_sent', 'all rounds: bytes/node'),
        Metric('total_cpu_seconds', 'all rounds: CPU s/node', 3),
        Metric('total_messages', 'all rounds: messages', 1),
        Metric('total_kib_written', 'all rounds: KiB written/node'),
        Metric('converged', 'converged', has_ratio=False))

    def measure(self, stack: Any) -> None:
        args = self.args
        devices = args.nodes * args.disks
        require('--replicas', args.replicas, 'up to the devices, %d'
                % devices, args.replicas <= devices)
        unique = args.objects * args.nodes // args.replicas
        power = args.part_power or max(1, round(math.log2(
            max(1, unique) / OBJECTS_PER_PARTITION)))
        self._data_set = DataSet(args.seed, unique, args.size,
                                 time.time() - AGE, args.changed)
        contestants = self.start(stack, args.replicators, lambda name: (
            Contestant(Cluster(ClusterSpec(
                root=os.path.join(self.root, name), nodes=args.nodes,
                devices=args.disks,
                network='namespaces', services=('object',),
                disks='directory', replicator=name,
                sync_method=args.sync_method,
                options=request_log.REPLICATION, policies=(Policy(
                    POLICY, 0, args.replicas, power, args.parity),))),
                args.timeout)))
        self._write_master(contestants[args.replicators[0]])
        for run, scenario, name in self.turns(args.scenarios,
                                              args.replicators):
            self.attempt(name, scenario, run, lambda: self._play(
                contestants[name], scenario, run))

    def _write_master(self, contestant: Contestant) -> None:
        # Rings and the paths of objects depend on swift.conf.
        cluster, args = contestant.cluster, self.args
        set_swift_dir(cluster.layout.etc)
        self._storage = Storage(cluster.layout.etc, cluster.ring(POLICY),
                                args.seed)
        self._master = os.path.join(self.root, 'master')
        for device in cluster.device_paths():
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
              run: int) -> dict[str, Any]:
        trial = Trial(contestant, self._storage, self._data_set,
                      '%s/%d' % (scenario, run))
        found = trial.play(self._master, SCENARIOS[scenario])
        return {**found, 'messages_per_partition':
                found['messages'] * found['live_nodes'] / self._partitions}
