# SPDX-License-Identifier: Apache-2.0
"""Primary roles in one of two regions, on real servers; then in the other."""

import os
from configparser import RawConfigParser

from swift_lightsync.proar import regions
from swift_lightsync.proar.regions import NAME, SECTION
from tests.functional.clusters import wait_for
from tests.functional.history_case import HistoryCase
from tests.functional.role_cluster import (
    CONVERGER,
    FAST,
    OPTIONS,
    PROXY,
    REPLICATION_SERVER,
)

#: Nodes 1 and 3 are in the first region, 2 and 4 in the second.
NEAR, FAR = 1, 2
OBJECTS = 12


class TestRegions(HistoryCase):

    fields = {'regions': 2, 'options': {
        **OPTIONS, 'swift': {SECTION % FAST.index: {NAME: NEAR}},
        'proxy-server': {
            **OPTIONS['proxy-server'],
            'proxy-server:policy:%d' % FAST.index: {
                'sorting_method': 'affinity',
                'read_affinity': 'r%d=100' % NEAR,
                'write_affinity': 'r%d' % NEAR}}}}

    def region(self, device):
        return {each['device']: each['region'] for each
                in self.cluster.objects.ring.devs if each}[device]

    def holders(self):
        """:returns: (device, path) of each file of an object"""
        return {(device, path)
                for held in self.cluster.objects.replicas().values()
                for device, files in held.items() for path in files}

    def test_writes_are_taken_there_and_held_everywhere(self):
        for node in self.cluster.cluster.spec.node_numbers():
            self.cluster.kill(CONVERGER, node)
        try:
            self.traffic = self.cluster.traffic('near', 0, 0)
            before = self.holders()
            for number in range(OBJECTS):
                self.assertEqual(201, self.traffic.ask(
                    'PUT', 'o%d' % number).status)
            taken = self.holders() - before
            self.assertEqual(set(self.regions()), self.regions_of(taken))
        finally:
            self.cluster.start(CONVERGER)
        self.cluster.converge()
        self.assertEqual({NEAR, FAR}, self.regions_of(
            self.holders() - before))

    def regions(self):
        """:returns: those of primary roles: the tests come in any order"""
        return regions.regions_of(self.cluster.objects.policy)

    def regions_of(self, held):
        return {self.region(device) for device, _ in held}

    def test_one_that_dies_is_replaced_and_no_read_is_older(self):
        self.begin(4, 1)
        with self.clients():
            self.have_outage(self.cluster.primary(
                self.traffic, self.traffic.names[0]), lambda: wait_for(
                    lambda: len(self.traffic.requests) > 400, 'requests'))
        self.judge()

    def test_they_move_to_the_other_region_daemon_by_daemon(self):
        self.begin(4, 2)
        self.note_primaries()
        cluster = self.cluster.cluster
        self.set_option(cluster.layout.conf('swift'), SECTION % FAST.index,
                        **{NAME: str(FAR)})
        policy = 'proxy-server:policy:%d' % FAST.index
        self.set_option(cluster.layout.conf(PROXY), policy,
                        read_affinity='r%d=100' % FAR,
                        write_affinity='r%d' % FAR)
        with self.clients():
            for node in cluster.spec.node_numbers():
                for daemon in (REPLICATION_SERVER, CONVERGER):
                    self.cluster.kill(daemon, node)
                    self.cluster.start(daemon, node)
                self.have_outage(node, lambda: None)
                if node == 2:
                    self.cluster.kill(PROXY)
                    self.cluster.start(PROXY)
        # This process reads it once, too.
        regions._regions.cache_clear()
        self.judge()
        names = ['new%d' % number for number in range(OBJECTS)]
        for name in names:
            self.assertEqual(201, self.traffic.ask('PUT', name).status)
        self.assertEqual({FAR}, {
            self.region(self.cluster.roles(self.traffic, name)[0])
            for name in names})

    @staticmethod
    def set_option(path, section, **options):
        parser = RawConfigParser()
        parser.read(path)
        for name, value in options.items():
            parser.set(section, name, value)
        with open(path + '.new', 'w') as conf:
            parser.write(conf)
        os.replace(conf.name, path)
