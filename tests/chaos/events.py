# SPDX-License-Identifier: Apache-2.0
"""What happens to a world: each event strikes, lasts, and ends."""

import errno
import os
import random
import re
import signal
import time
from contextlib import ExitStack, contextmanager

from tests.functional.errno_faults import BY_FILE, Fault
from tests.functional.sites_case import kill_one
from tools.cluster.processes import stopped

#: seconds
LONGEST, LONGEST_PAUSE = 20, 8
ERRNOS = errno.EIO, errno.ENOSPC, errno.EROFS


class Events:
    """Events that follow from a seed.

    :param world: a World
    :param seed: of what is random
    :param say: is told what happens
    """

    def __init__(self, world, seed, say):
        self.world = world
        self.chance = random.Random(seed)
        self.say = say
        self.kinds = [self.dead_node, self.cut_node, self.dead_daemon,
                      self.frozen_daemon, self.spoilt_disk, self.lost_disk,
                      self.new_ring, self.restart]
        if world.sites:
            self.kinds += [self.cut_sites, self.slow_sites, self.wrong_clock]

    def play(self, seconds):
        """Play events for so long, on a second site beside the first."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            sites = list(self.world.clusters)
            self.chance.shuffle(sites)
            kinds = self.chance.sample(self.kinds, len(sites))
            with ExitStack() as stack:
                for kind, site in zip(kinds, sites[:self.chance.choice(
                        (1, 1, len(sites)))]):
                    stack.enter_context(self._one(kind, site))
                    self._wait(LONGEST, end)
            self._wait(LONGEST_PAUSE, end)

    def _wait(self, longest, end):
        time.sleep(max(0, min(self.chance.uniform(0, longest),
                              end - time.monotonic())))

    @contextmanager
    def _one(self, kind, site):
        cluster = self.world.clusters[site]
        node = self.chance.choice(cluster.spec.node_numbers())
        begin = time.monotonic()
        with kind(site, cluster, node) as what:
            yield
        self.say('%s, node %d: %s%s, %.1f s' % (
            site, node, kind.__name__.replace('_', ' '),
            ' (%s)' % what if what else '', time.monotonic() - begin))

    @contextmanager
    def dead_node(self, site, cluster, node):
        cluster.kill(node)
        yield
        self.world.revive(cluster)

    @contextmanager
    def cut_node(self, site, cluster, node):
        refuse = self.chance.choice((False, True))
        cluster.partition(node, refuse)
        try:
            yield 'refusing' if refuse else 'silent'
        finally:
            cluster.heal(node)

    @contextmanager
    def dead_daemon(self, site, cluster, node):
        daemon = self.chance.choice([
            *self.world.daemons(cluster), 'proxy-server',
            *['index-server'] * bool(cluster.daemons.managers())])
        if daemon == 'index-server':
            # Its manager starts it again.
            os.kill(self.chance.choice(cluster.pids(node, daemon)),
                    signal.SIGKILL)
        else:
            kill_one(cluster, daemon, self.chance)
        yield daemon
        self.world.revive(cluster)

    @contextmanager
    def frozen_daemon(self, site, cluster, node):
        daemon = self.chance.choice(self.world.daemons(cluster))
        with stopped(*cluster.pids(node, daemon)):
            yield daemon

    @contextmanager
    def spoilt_disk(self, site, cluster, node):
        number = self.chance.choice(ERRNOS)
        path = cluster.device_path(node, self.chance.choice(
            cluster.devices(node)))
        with self.world.faults.present_are(Fault(
                re.escape(path) + '/.*', number,
                [] if number == errno.EIO else [
                    *BY_FILE[1:], 'mkdir', 'rename', 'link'])):
            yield errno.errorcode[number]

    @contextmanager
    def lost_disk(self, site, cluster, node):
        device = self.chance.choice(cluster.devices(node))
        cluster.unmount(node, device)
        try:
            yield device
        finally:
            cluster.mount(node, device)

    @contextmanager
    def new_ring(self, site, cluster, node):
        policy = self.chance.choice(self.world.policies)
        weight = str(self.chance.choice((50, 100, 150)))
        builder = cluster.layout.builder(policy.ring_name)
        for change in (('set_weight', '/n%dd1' % node, weight),
                       ('pretend_min_part_hours_passed',),
                       ('rebalance', '--seed', '1', '--force')):
            # Its exit status 1 is a warning.
            cluster.run(['swift-ring-builder', builder, *change],
                        check=False)
        yield '%s, weight %s' % (policy.name, weight)

    @contextmanager
    def restart(self, site, cluster, node):
        server = self.chance.choice(cluster.spec.servers())
        how = self.chance.choice(('restart', 'reload'))
        cluster.swift_init('%s.%d' % (server, node), how, check=False)
        yield '%s of %s' % (how, server)
        self.world.revive(cluster)

    @contextmanager
    def cut_sites(self, site, cluster, node):
        self.world.sites.isolate(site)
        try:
            yield
        finally:
            self.world.sites.heal()

    @contextmanager
    def slow_sites(self, site, cluster, node):
        delay = self.chance.uniform(0, 2)
        for other in self.world.clusters.keys() - {site}:
            self.world.sites.delay(site, other, delay)
        yield '%.1f s' % delay
        for other in self.world.clusters.keys() - {site}:
            self.world.sites.delay(site, other, 0)

    @contextmanager
    def wrong_clock(self, site, cluster, node):
        ahead = self.chance.uniform(-5, 5)
        self.world.clock(site).set(ahead)
        yield '%+.1f s' % ahead
        self.world.clock(site).set()
