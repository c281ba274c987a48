# SPDX-License-Identifier: Apache-2.0
"""
``kill -9`` of whoever takes part in primary-role writes, at any moment: what
was acknowledged comes to all devices, with nobody but the convergers to bring
it there, and what was not holds up no log.
"""

import random
import time

import pytest

from tests.functional.history_case import HistoryCase
from tests.functional.role_cluster import (
    CONVERGER,
    OBJECT_SERVER,
    PROXY,
    REPLICATION_SERVER,
)

DAEMONS = OBJECT_SERVER, REPLICATION_SERVER, CONVERGER, PROXY
#: seconds between two deaths, and before a daemon is back, at most
PAUSE = 1.5


class TestKills(HistoryCase):

    def hold(self, rounds, seed):
        """
        Kill each of the daemons amid traffic, one after the other.

        :param rounds: how often
        """
        chance = random.Random(seed)
        self.begin(12, seed)
        with self.clients():
            for _ in range(rounds):
                for daemon in chance.sample(DAEMONS, len(DAEMONS)):
                    time.sleep(chance.uniform(0, PAUSE))
                    self.have_killed(daemon, chance)
        self.judge()

    def have_killed(self, daemon, chance):
        """Kill a daemon of some node, and start it again."""
        node = None if daemon == PROXY else chance.choice(
            self.cluster.cluster.spec.node_numbers())
        pause = chance.uniform(0, PAUSE)
        print('%s of node %s is dead for %.2f s' % (daemon, node, pause))
        if daemon == OBJECT_SERVER:
            return self.have_outage(node, lambda: time.sleep(pause))
        self.cluster.kill(daemon, node)
        time.sleep(pause)
        self.cluster.start(daemon, node)

    def test_what_was_acknowledged_comes_to_all_devices(self):
        self.hold(2, 1)

    @pytest.mark.long
    def test_what_was_acknowledged_comes_to_all_devices_for_long(self):
        for seed in range(100, 106):
            self.hold(5, seed)
