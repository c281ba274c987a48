# SPDX-License-Identifier: Apache-2.0
"""swift-lightsync-health on real clusters: what fails is found, by name."""

import json
import os
import signal
import time
import unittest

import pytest

from swift_losf.format.layout import Layout
from tests.functional.clusters import object_servers, play_round, wait_for
from tests.functional.sites_case import PROPAGATOR, SitesCase, start_missing
from tools.cluster import ClusterSpec, Policy
from tools.cluster.processes import stopped

FAST = Policy('fast', 0, 3, part_power=4, proar=True)
SMALL = Policy('small', 1, 3, part_power=4, kv=True)


def check(cluster, *args):
    """:returns: the exit status, and (system, severity, text) of findings"""
    done = cluster.run([
        cluster.layout.launcher('swift-lightsync-health'), '--json',
        '--swift-dir', cluster.layout.etc, '--timeout', '2', *args],
        check=False)
    found = json.loads(done.stdout)['systems']
    return done.returncode, {
        (name, finding['severity'], finding['text'])
        for name, system in found.items() for finding in system['findings']}


class TestOneCluster(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = cls.enterClassContext(object_servers(
            nodes=3, policies=(FAST, SMALL), services=ClusterSpec.services,
            options={'object-server': {'object-losf': {
                'report_interval': 1}}}))
        play_round(cls.cluster)
        cls.wait_until_well()

    @classmethod
    def wait_until_well(cls):
        wait_for(lambda: check(cls.cluster) == (0, set()), 'all is well')

    def find(self, system, severity, words, *args):
        """Return when a finding has these words."""
        wait_for(lambda: any(
            (system, severity) == found[:2] and words in found[2]
            for found in check(self.cluster, *args)[1]),
            '%s: %s' % (system, words))

    def pid(self, daemon, node):
        pid, = self.cluster.pids(node, daemon)
        return pid

    def end(self, daemon, node):
        """Kill a daemon; swift-init starts it again after the test."""
        pid = self.pid(daemon, node)
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not self.cluster.pids(node, daemon), 'it ends')

        def start():
            self.cluster.swift_init('%s.%d' % (daemon, node), 'start')
            self.wait_until_well()
        self.addCleanup(start)

    def test_all_systems_are_well_and_expected_ones_are_in_use(self):
        status, found = check(self.cluster, '--expect', 'lightsync',
                              '--expect', 'losf', '--expect', 'proar')
        self.assertEqual((0, set()), (status, found))
        status, _ = check(self.cluster, '--expect', 'versions')
        self.assertEqual(2, status)

    def test_servers_and_daemons_that_end_are_named(self):
        for daemon in ('container-server', 'object-converger',
                       'object-losf'):
            with self.subTest(daemon=daemon):
                self.end(daemon, 2)
                self.find('Servers', 'CRITICAL', '%s/2 has ended' % daemon)
                if daemon.endswith('server'):
                    self.find('Servers', 'CRITICAL', 'unreachable')
                self.doCleanups()

    @pytest.mark.long
    def test_a_server_that_hangs_is_unreachable(self):
        with stopped(self.pid('object-server', 1)):
            self.find('Servers', 'CRITICAL', 'no answer in 2 seconds')
        self.wait_until_well()

    @pytest.mark.long
    def test_a_converger_that_hangs_is_found_by_its_silence(self):
        with stopped(self.pid('object-converger', 3)):
            self.find('PROAR', 'WARNING', 'has not reported')
        self.wait_until_well()

    @pytest.mark.long
    def test_a_manager_of_index_servers_that_hangs_is_found(self):
        with stopped(self.pid('object-losf', 1)):
            self.find('LOSF', 'CRITICAL', 'has not reported')
        self.wait_until_well()

    @pytest.mark.long
    def test_an_index_server_that_hangs_is_found(self):
        device = next(iter(self.cluster.device_paths(2).values()))
        socket = Layout(device, SMALL.index).socket
        pid, = [process.pid for process in self.cluster.daemons.all()
                if socket in process.argv or device in process.argv]
        with stopped(pid):
            self.find('LOSF', 'CRITICAL', 'policy 1: its index server')
        self.wait_until_well()

    def test_replicas_that_no_pass_went_over_are_found(self):
        self.find('LightSync', 'WARNING', 'devices without a recent pass',
                  '--patience', '0.001')

    def test_a_recon_file_that_is_damaged_cannot_be_judged(self):
        path = os.path.join(self.cluster.layout.cache_dir(1), 'proar.recon')
        kept = path + '.kept'
        os.rename(path, kept)
        os.mkdir(path)
        try:
            self.find('PROAR', 'WARNING', path)
        finally:
            os.rmdir(path)
            os.rename(kept, path)
        self.wait_until_well()

    def test_it_logs_at_most_a_line_a_minute_for_one_cause(self):
        path = os.path.join(self.cluster.layout.cache_dir(3),
                            'lightsync-failures.json')
        with open(path, 'w') as failures:
            failures.write('garbage')
        begin = time.monotonic()
        for _ in range(4):
            # A node that is slow to answer has not ended.
            status, found = check(self.cluster, '--timeout', '60')
            self.assertEqual(1, status, found)
        minutes = (time.monotonic() - begin) / 60
        os.unlink(path)
        with open(self.cluster.layout.log('object-server.3')) as log:
            lines = [line for line in log if 'Unable to answer' in line
                     and path in line]
        self.assertTrue(1 <= len(lines) <= 1 + minutes, lines)
        self.wait_until_well()


class TestSites(SitesCase):

    def assert_found(self, words):
        cluster = self.sites.clusters['rome']
        wait_for(lambda: any(
            found[0] == 'Versions' and words in found[2]
            for found in check(cluster, '--patience', '1')[1]), words)

    def test_a_site_that_is_cut_off_is_found(self):
        self.put('rome', 'o', b'1')
        self.wait_until_same(1)
        self.sites.cut('rome', 'oslo')
        self.put('rome', 'o', b'2')
        self.assert_found('site oslo')
        self.sites.heal()
        self.wait_until_same(2)

    def test_a_propagator_that_ends_is_found(self):
        cluster = self.sites.clusters['rome']
        self.addCleanup(start_missing, cluster, PROPAGATOR)
        for node in cluster.spec.node_numbers():
            for pid in cluster.pids(node, PROPAGATOR):
                os.kill(pid, signal.SIGKILL)
        wait_for(lambda: any(
            'container-propagator/1 has ended' in found[2]
            for found in check(cluster)[1]), 'it has ended')
