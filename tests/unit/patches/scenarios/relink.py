# SPDX-License-Identifier: Apache-2.0
"""Doubles the partitions of a ring and relinks one object, with cleanup.

Arguments: the name of an extra file to leave in the old partition, an empty
directory. Prints the partitions before and after cleanup.
"""

import json
import multiprocessing
import os
import sys

import swift
from swift.cli import relinker
from swift.common import utils
from swift.common.ring import RingBuilder

OBJECT = 'f41d8cd98f00b204e9800998ecf84abc'  # partition 3 of 4, then 7 of 8
CONF = """
[DEFAULT]
swift_dir = {root}
devices = {root}/node
mount_check = false
[object-relinker]
recon_cache_path = {root}
"""


def run(step, conf):
    """Run a step in a process of its own, as an operator does."""
    process = multiprocessing.get_context('fork').Process(
        target=lambda: sys.exit(relinker.main([step, conf])))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit('relinker %s: %s' % (step, process.exitcode))


def save(builder, ring):
    """Save a ring; a builder keeps the one it made until it is loaded."""
    builder.save(ring + '.builder')
    RingBuilder.load(ring + '.builder').get_ring().save(ring)


def main(extra, root):
    utils.HASH_PATH_SUFFIX = b'suffix'
    conf = os.path.join(root, 'object-server.conf')
    with open(conf, 'w') as f:
        f.write(CONF.format(root=root))
    builder = RingBuilder(2, 1, 1)
    builder.add_dev({'id': 0, 'region': 1, 'zone': 1, 'weight': 1,
                     'ip': '127.0.0.1', 'port': 6200, 'device': 'sda'})
    builder.rebalance()
    ring = os.path.join(root, 'object.ring.gz')
    objects = os.path.join(root, 'node', 'sda', 'objects')
    old = os.path.join(objects, '3')
    directory = os.path.join(old, OBJECT[-3:], OBJECT)
    os.makedirs(directory)
    open(os.path.join(directory, '1.00000.data'), 'w').close()

    builder.prepare_increase_partition_power()
    save(builder, ring)
    run('relink', conf)
    builder.increase_partition_power()
    save(builder, ring)
    open(os.path.join(old, extra), 'w').close()
    before = sorted(os.listdir(objects))
    run('cleanup', conf)
    print(json.dumps({'swift': swift.__file__, 'before': before,
                      'after': sorted(os.listdir(objects))}))


main(*sys.argv[1:])
