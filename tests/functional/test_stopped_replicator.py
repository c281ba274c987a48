# SPDX-License-Identifier: Apache-2.0
"""A node whose object-server answers while its replicator does not run.

It agrees with the node before it, and pushes nothing on; the others see that,
and go round it.
"""

import os
import time
from glob import glob

import pytest

from swift_lightsync.sync.names import ROUNDS_FILE
from tests.functional.clusters import R5, SyncCase, play_round, with_options

STOPPED = 'n4d1'
RUNNING = [1, 2, 3, 5]
IS_IDLE = '/%s were not played for' % STOPPED


class StoppedReplicatorCase(SyncCase):
    policy = R5
    names = ['o-%d' % number for number in range(80)]

    def setUp(self):
        super().setUp()
        self.acknowledged.put_everywhere(self.names)
        play_round(self.cluster)

    def last_round(self):
        """:returns: the file that tells when the stopped one last played"""
        path, = glob(os.path.join(self.cluster.layout.cache, '*',
                                  ROUNDS_FILE % STOPPED))
        return path

    def write(self):
        """Put and delete objects, each on a quorum."""
        self.acknowledged.put_quorums(self.names)
        for name in self.names[::5]:
            self.acknowledged.delete(name, self.acknowledged.quorum(name))


@pytest.mark.long
class TestStoppedReplicator(StoppedReplicatorCase):

    def test_all_get_quorum_writes_in_two_rounds_as_if_it_ran(self):
        then = time.time() - 1000
        os.utime(self.last_round(), (then, then))
        for _ in range(2):
            self.write()
            _, log = self.converge(2, RUNNING)
            self.assertIn(IS_IDLE, log)
        # It pushes on again as soon as it runs.
        play_round(self.cluster)
        self.assertLess(time.time() - os.stat(self.last_round()).st_mtime,
                        300)
        self.write()
        _, log = self.converge(2)
        self.assertNotIn(IS_IDLE, log)


@pytest.mark.long
class TestStoppedReplicatorUnbatched(TestStoppedReplicator):
    fields = {'options': with_options(sync_batch_partitions=1)}
