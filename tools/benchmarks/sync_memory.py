# SPDX-License-Identifier: Apache-2.0
"""Measures the memory of replicators that have many partitions.

    tools/env python -m tools.benchmarks.sync_memory --partitions 32768

prints for each replicator a line of JSON: MiB that it held at most in each
pass, and after it. Its peers refuse connections, so that no partition settles.
"""

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
from array import array
from importlib import import_module
from typing import Any

from swift.common import utils

from tools.benchmarks.measure import forget_peak, memory_mib
from tools.benchmarks.sync_probe import CLASSES

#: The only device here, and those of two nodes that do not run.
DEVICES = [{'id': number, 'region': 1, 'zone': number, 'weight': 1,
            'ip': '127.0.0.%d' % (number + 1), 'port': 9,
            'replication_ip': '127.0.0.%d' % (number + 1),
            'replication_port': 9, 'device': 'sda', 'meta': ''}
           for number in range(3)]
PASSES = 3


def make(root: str, partitions: int) -> None:
    """Make the ring and the device, whose partitions have a suffix each.

    :param root: an empty directory
    :param partitions: how many, a power of two
    """
    from swift.common.ring import RingData
    with open(os.path.join(root, 'swift.conf'), 'w') as conf:
        conf.write('[swift-hash]\nswift_hash_path_suffix = memory\n'
                   '[storage-policy:0]\nname = zero\ndefault = yes\n')
    RingData([array('H', [number]) * partitions for number in range(3)],
             DEVICES, 33 - partitions.bit_length()).save(
                 os.path.join(root, 'object.ring.gz'))
    for partition in range(partitions):
        path = os.path.join(root, 'sda', 'objects', str(partition))
        os.makedirs(os.path.join(path, '07b'))
        with open(os.path.join(path, 'hashes.pkl'), 'wb') as stream:
            pickle.dump({'07b': '%032x' % partition, 'valid': True,
                         'updated': 0.0}, stream, 2)
        open(os.path.join(path, 'hashes.invalid'), 'w').close()


def _passes(name: str, root: str) -> dict[str, Any]:
    utils.set_swift_dir(root)
    module, of_class = CLASSES[name]
    daemon = getattr(import_module(module), of_class)({
        'devices': root, 'mount_check': 'false', 'swift_dir': root,
        'recon_cache_path': root, 'ring_ip': DEVICES[0]['ip'],
        'bind_ip': DEVICES[0]['ip'], 'bind_port': '9',
        'log_level': 'CRITICAL'})
    if hasattr(daemon, 'standing'):
        daemon.standing.enabled = True
    most, held = [], []
    for _ in range(PASSES):
        forget_peak()
        daemon._zero_stats()
        daemon.replicate()
        most.append(round(memory_mib('VmHWM'), 1))
        held.append(round(memory_mib('VmRSS'), 1))
    return {'replicator': name, 'most': most, 'held': held}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--partitions', type=int, default=1 << 15)
    parser.add_argument('--replicator', choices=('stock', 'lightsync'))
    parser.add_argument('--root', help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.root:
        print(json.dumps(_passes(args.replicator, args.root)))
        return
    names = [args.replicator] if args.replicator else ['stock', 'lightsync']
    with tempfile.TemporaryDirectory() as root:
        make(root, args.partitions)
        for name in names:
            subprocess.check_call([sys.executable, '-m', __spec__.name,
                                   '--root', root, '--replicator', name])


if __name__ == '__main__':
    main()
