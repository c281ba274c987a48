# SPDX-License-Identifier: Apache-2.0
"""A node that is a part of a host, and what its servers say of themselves."""

import socket
import unittest

from cosbench.errors import ConfigError
from cosbench.watch import agent
from cosbench.watch.agent import ControlGroup
from cosbench.watch.core.node_figures import Look, point
from cosbench.watch.core.server_timings import ServerTimings
from swift_lightsync.common.openmetrics import exposition, parse
from tests.unit.cosbench.adaptors.servers import until
from tests.unit.cosbench.directory_case import DirectoryCase

STATSD = (b'object-server.1.PUT.timing:10|ms\n'
          b'object-server.PUT.timing:30.0|ms',
          b'a.b.container-server.PUT.timing:2.5|ms|@0.5',
          b'proxy-server.object.GET.200.timing:7|ms',
          b'object-server.2.async_pendings:1|c')
#: Others' lines, and what would count a request twice.
PASSED_OVER = (
    b'proxy-server.object.policy.0.GET.200.timing:7|ms',
    b'proxy-server.object.GET.200.first-byte.timing:7|ms',
    b'object-server.PUT.errors.timing:7|ms', b'object-server.PUT.timing:|ms',
    b'object-server.PUT.d1.timing:7|ms', b'object-server.PUT.timing:1e5|ms',
    b'object-server.REPLICATE.timing:7|ms', b'\xff' * 100, b'',
    b'object-server.PUT.timing:1.2.3|ms',
    b'object-server.PUT.timing:99999999999999|ms')


def samples(families):
    return {(name, *labels.values()): value
            for name, labels, value in parse(exposition(families))}


class TestServerTimings(unittest.TestCase):

    def test_times_are_added_up_by_server_and_method(self):
        timings = ServerTimings()
        for each in STATSD:
            timings.take(each)
        expected = {
            ('swift_request_seconds_total', 'object-server', 'PUT'): .04,
            ('swift_requests_total', 'object-server', 'PUT'): 2,
            ('swift_request_seconds_total', 'container-server', 'PUT'): .0025,
            ('swift_requests_total', 'container-server', 'PUT'): 1,
            ('swift_request_seconds_total', 'proxy-server', 'GET'): .007,
            ('swift_requests_total', 'proxy-server', 'GET'): 1,
            ('swift_async_pendings_total',): 1}
        self.assertEqual(expected, samples(timings.families()))
        for each in PASSED_OVER:
            timings.take(each)
        self.assertEqual(expected, samples(timings.families()))

    def test_a_point_has_their_means_and_what_waits(self):
        timings = ServerTimings()

        def look(when):
            return Look.of(when, exposition(timings.families()))
        timings.take(STATSD[0])
        before = look(1.0)
        self.assertIsNone(point(before, look(2.0)).object_ms)
        for each in STATSD:
            timings.take(each)
        found = point(before, look(3.0))
        self.assertEqual((20.0, None, 1), (
            found.object_ms, found.container_ms, found.pending))
        # What recon tells wins.
        self.assertEqual(9, point(before, look(3.0), 9).pending)


class TestStatsd(unittest.IsolatedAsyncioTestCase):

    async def test_packets_come_by_udp(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(('127.0.0.1', 0))
            port = free.getsockname()[1]
        async with agent.statsd(port) as timings:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                client.sendto(STATSD[0], ('127.0.0.1', port))
            key = 'swift_requests_total', 'object-server', 'PUT'
            await until(lambda: samples(timings.families()).get(key) == 2,
                        'both timings')


class TestPartOfAHost(DirectoryCase):

    def test_a_group_is_as_busy_as_its_quota_allows(self):
        for version, used, files in (
                (1, 'cpuacct/n1/cpuacct.usage', {
                    'cpu/n1/cpu.cfs_quota_us': '20000\n',
                    'cpu/n1/cpu.cfs_period_us': '100000\n'}),
                (2, 'n1/cpu.stat', {'n1/cpu.max': '20000 100000\n'})):
            top = 'v%d/' % version
            for path, text in files.items():
                self.put(top + path, text)

            def use(seconds, text={1: '%d000000000\n', 2:
                                   'usage_usec %d000000\nuser_usec 1\n'}[
                                       version], path=top + used):
                self.put(path, text % seconds)
            use(5)
            group = ControlGroup('n1', self.path(top))
            first, group._begun = group.processors(), group._begun - 10
            # All that a fifth of a processor can do in ten seconds.
            use(7)
            before, after = (Look.of(when, exposition([each]))
                             for when, each in ((10.0, first), (
                                 20.0, group.processors())))
            self.assertAlmostEqual(100.0, point(before, after).cpu, 0)

    def test_one_that_is_not_there_is_refused(self):
        with self.assertRaisesRegex(ConfigError, "cgroup.*'none'"):
            ControlGroup('none', self.path('cgroup'))

    def test_only_its_disks_are_told_and_its_cards_can_what_it_says(self):
        disk = '8 %d %s 1 0 8 1 1 0 8 1 0 5 0 0 0 0\n'
        self.put('proc/diskstats', disk % (0, 'sda') + disk % (1, 'sdb'))
        for name in ('sda', 'sdb'):
            self.put('sys/block/%s/x' % name, '')
        self.put('proc/net/dev', '\n\n  eth0: 1 0 0 0 0 0 0 0 1\n')
        self.put('sys/class/net/eth0/speed', '10000\n')
        found = samples(agent.families(agent.Sources(
            self.path('proc'), self.path('sys'), ('sdb',), 100)))
        self.assertEqual({'sdb'}, {
            key[1] for key in found if key[0].startswith('node_disk')})
        self.assertEqual(12.5e6, found['node_network_speed_bytes', 'eth0'])
