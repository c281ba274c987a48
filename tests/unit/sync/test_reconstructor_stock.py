# SPDX-License-Identifier: Apache-2.0
"""What our reconstructor pushes is what Swift's would, whatever happened."""

import os
import random
import shutil
import time
from unittest import mock

from swift.common import utils
from swift.common.utils import Timestamp
from swift.obj.reconstructor import ObjectReconstructor

from tests.unit.sync.fixtures import CapturingLogger, ring_of_parts
from tests.unit.sync.test_reconstructor import ReconstructorTestCase

SEEDS = int(os.environ.get('SEEDS', 3))
FIRST_SEED = int(os.environ.get('FIRST_SEED', 1))
PARTITIONS, STEPS = 4, 25
OLD = Timestamp(1)


class TestLikeStock(ReconstructorTestCase):

    def set_ring(self, rows=None):
        """Each node has another row in each partition."""
        self.policy.object_ring = ring_of_parts(self.root, self.ring_nodes, [
            [(partition + row) % 4 for row in range(4)]
            for partition in range(PARTITIONS)])

    def stock(self):
        with self.at_home(0):
            return ObjectReconstructor({
                **self.nodes[0].conf, 'ring_ip': self.nodes[0].ip,
                'bind_port': str(self.ring_nodes[0]['replication_port'])},
                logger=CapturingLogger())

    def push(self, daemon, node, job, suffixes, **options):
        self.pushed.append((job['job_type'], job['partition'],
                            job['frag_index'], node['id'], sorted(suffixes)))
        # What is pushed in vain is found again.
        return mock.Mock(return_value=(False, {}),
                         limited_by_max_objects=False)

    def pushed_by(self, daemon):
        self.pushed.clear()
        with self.at_home(0):
            daemon.reconstruct()
        return sorted(self.pushed)

    def change(self, rng, partition):
        """Do something that clients, daemons or disks do to some nodes."""
        row_of = {node['id']: node['index'] for node in
                  self.policy.object_ring.get_part_nodes(partition)}
        stamp, what = Timestamp(time.time()), rng.choice(
            ('put', 'nondurable', 'hand-off', 'hand-off', 'delete', 'post',
             'lose'))
        for number in rng.sample(range(4), rng.choice((1, 2, 3, 4))):
            diskfile = self.diskfile(number, partition, rng.randrange(3))
            if what in ('put', 'nondurable'):
                self.write(diskfile, stamp, row_of[number], what == 'put')
            elif what == 'hand-off':
                # Of an object that all have: only this tells.
                self.write(diskfile, OLD, rng.randrange(4), True)
            elif what == 'delete':
                diskfile.delete(stamp)
            elif what == 'post':
                diskfile.write_metadata({'X-Timestamp': stamp.internal})
            else:
                self.lose(number, partition)

    def diskfile(self, number, partition, name):
        return self.nodes[number].disk.get_diskfile(
            'sda', partition, 'a', 'c', 'o%d' % name, self.policy)

    def lose(self, number, partition):
        shutil.rmtree(os.path.join(
            self.nodes[number].devices_dir, 'sda', 'objects',
            str(partition)), ignore_errors=True)

    def put_right(self, partition):
        """Have all nodes hold the same, each in its fragments."""
        for node in self.policy.object_ring.get_part_nodes(partition):
            self.lose(node['id'], partition)
            for name in range(3):
                self.write(self.diskfile(node['id'], partition, name),
                           OLD, node['index'], True)

    def write(self, diskfile, stamp, index, is_durable):
        with diskfile.create() as writer:
            writer.write(b'x')
            writer.put({
                'X-Timestamp': stamp.internal, 'name': diskfile._name,
                'Content-Type': 'text/plain', 'Content-Length': '1',
                'ETag': utils.md5(b'x', usedforsecurity=False).hexdigest(),
                'X-Object-Sysmeta-Ec-Frag-Index': str(index)})
            if is_durable:
                writer.commit(stamp)

    def test_after_each_change_both_push_the_same(self):
        self.start()
        ours, stock = self.daemon, self.stock()
        equal = pushed = 0
        for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
            self.renew_deadline()
            rng = random.Random(seed)
            for partition in range(PARTITIONS):
                self.put_right(partition)
            for step in range(STEPS):
                self.change(rng, step % PARTITIONS)
                found = self.pushed_by(ours)
                equal += sum(record['equal'] for record
                             in ours._compared.values())
                pushed += len(found)
                self.assertEqual(self.pushed_by(stock), found,
                                 'FIRST_SEED=%d, step %d' % (seed, step))
                if found and rng.random() < 0.8:
                    self.put_right(step % PARTITIONS)
        self.assertGreater(min(equal, pushed), SEEDS * STEPS / 2)
