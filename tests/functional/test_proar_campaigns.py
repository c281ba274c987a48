# SPDX-License-Identifier: Apache-2.0
"""Campaigns: clients of a few objects, amid whatever happens to a cluster.

What is read is linearizable but for what PROTOCOL.md lists, all devices come
to hold the same, and listings have each object once. Daemons are killed, disks
fail, memcached is flushed; in each other campaign a ring is rolled out first,
and in two of four the clocks of proxies differ. ``SEEDS=30`` plays as many
campaigns, ``FIRST_SEED=N SEEDS=1`` repeats one.
"""

import os
import random
import time
from tempfile import TemporaryDirectory

import pytest

from swift_lightsync.common.files import replace_file
from tests.functional.clusters import play_round, wait_for
from tests.functional.history_case import HistoryCase
from tests.functional.role_cluster import (
    CONVERGER,
    OPTIONS,
    PROXY,
    REPLICATION_SERVER,
    faulty,
)
from tests.functional.test_proar_errnos import ERRNOS, PLACES, fault_of
from tools.cluster.conf import PIPELINE

FIRST = int(os.environ.get('FIRST_SEED', 1000))
SEEDS = int(os.environ.get('SEEDS', 30))
OBJECTS = 6
#: events of a campaign; the longest that one lasts, and by what the clocks of
#: proxies may differ, in seconds
EVENTS, LONGEST, SKEW = 5, 2.0, 0.1
CLOCKS = 'call:tests.functional.skewed_clocks:filter_factory'
CONTAINER_SERVER = 'container-server'


class TestCampaigns(HistoryCase):

    @classmethod
    def setUpClass(cls):
        cls.faults = cls.enterClassContext(faulty())
        cls.spread = os.path.join(
            cls.enterClassContext(TemporaryDirectory()), 'spread')
        proxy = dict(OPTIONS[PROXY], **{
            'pipeline:main': {'pipeline': PIPELINE.replace(
                'gatekeeper', 'gatekeeper skewed')},
            'filter:skewed': {'use': CLOCKS, 'spread': cls.spread}})
        cls.fields = {'options': {**OPTIONS, PROXY: proxy}}
        cls.set_clocks(0)
        super().setUpClass()

    @classmethod
    def set_clocks(cls, spread):
        """Have two clocks of proxies differ by so many seconds, at most."""
        replace_file(cls.spread, b'%g' % spread)

    def play(self, seed):
        """One campaign."""
        chance = random.Random(seed)
        self.set_clocks(SKEW * (seed // 2 % 2))
        self.begin(OBJECTS, seed)
        self.traffic.skew = SKEW * (seed // 2 % 2)
        events = (self.kill_server, self.kill_daemon, self.spoil_disk,
                  self.kill_container_server, self.flush_memcache)
        with self.clients():
            if seed % 2:
                self.roll_out()
            for _ in range(EVENTS):
                time.sleep(chance.uniform(0, 1))
                chance.choice(events)(chance)
        if seed % 2:
            # What was written before is not in the logs any more.
            wait_for(self.has_replicated, 'the devices hold the same')
        self.judge()
        self.check_listing()

    def roll_out(self):
        """Take a device out of the ring, or take it in again."""
        self.note_primaries()
        device, = [each for each in self.cluster.objects.ring.devs
                   if each['device'] == 'n4d1']
        self.cluster.objects.change_ring(
            ('set_weight', '/n4d1', '0' if device['weight'] else '100'))
        wait_for(lambda: not self.cluster.without_ring(),
                 lambda: 'the ring is everywhere, but for %s' %
                 self.cluster.without_ring())

    def has_replicated(self):
        play_round(self.cluster.cluster)
        return not self.cluster.unequal()

    def flush_memcache(self, _chance):
        self.cluster.flush_memcache(self.traffic)

    def a_node(self, chance):
        return chance.choice(self.cluster.cluster.spec.node_numbers())

    def kill_server(self, chance):
        pause = chance.uniform(0, LONGEST)
        self.have_outage(self.a_node(chance), lambda: time.sleep(pause))

    def kill_daemon(self, chance):
        daemon = chance.choice((CONVERGER, REPLICATION_SERVER, PROXY))
        self.restart(daemon, None if daemon == PROXY
                     else self.a_node(chance), chance)

    def kill_container_server(self, chance):
        self.restart(CONTAINER_SERVER, self.a_node(chance), chance)

    def restart(self, daemon, node, chance):
        pause = chance.uniform(0, LONGEST)
        print('%s of node %s is dead for %.2f s' % (daemon, node, pause))
        self.cluster.kill(daemon, node)
        time.sleep(pause)
        self.cluster.start(daemon, node)

    def spoil_disk(self, chance):
        """Have a device fail for a while, in one way."""
        device = chance.choice(sorted(self.cluster.objects.devices()))
        node = self.cluster.cluster.node_of(device)
        place, number = chance.choice(PLACES), chance.choice(ERRNOS)
        print('%s: %s is errno %d' % (device, place.name, number))
        path = self.cluster.cluster.device_path(node, device)
        # What it refuses others take, as in an outage.
        with self.outage_of(node), self.faults.present_are(
                fault_of(place, path, number)):
            time.sleep(chance.uniform(0, LONGEST))

    def check_listing(self):
        """Each object is listed once, when rows have been repeated."""
        cluster = self.cluster.cluster
        there = {name for name in self.traffic.names
                 if self.traffic.ask('GET', name).status == 200}
        container = self.traffic.path.rpartition('/')[2]

        def is_listed():
            for node in cluster.spec.node_numbers():
                cluster.run(['swift-object-updater', cluster.conf_path(
                    'object-server', node), 'once'])
                cluster.run(['swift-container-replicator', cluster.conf_path(
                    'container-server', node), 'once'])
            _, rows = self.cluster._client.get_container(container)
            return sorted(row['name'] for row in rows) == sorted(there)
        wait_for(is_listed, 'each object is listed once')

    def test_a_campaign(self):
        self.play(1)

    @pytest.mark.long
    def test_campaigns(self):
        for seed in range(FIRST, FIRST + SEEDS):
            with self.subTest(seed=seed):
                self.play(seed)
        print('%d campaigns' % SEEDS)
