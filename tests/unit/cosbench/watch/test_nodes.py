# SPDX-License-Identifier: Apache-2.0
"""Nodes: from counters to figures, asked while a run goes on."""

import asyncio
import os
import unittest
from unittest import mock

from aiohttp import ClientSession, web

from cosbench.measure.nodes import NodePoint, NodeResult
from cosbench.watch import agent, collector
from cosbench.watch.collector import Node, watching
from cosbench.watch.core.node_figures import Look, busy_disks, point
from cosbench.watch.core.targets import Target
from swift_lightsync.common.openmetrics import exposition, parse
from tests.unit.cosbench.directory_case import DirectoryCase

STAT = 'cpu  1 1 1 1\ncpu0 %d 0 0 %d 0 0 0 0 0 0\ncpu1 %d 0 0 %d 0 0 0 0 0 0\n'
DISK = '   8  0 sda %d 0 %d %d %d 0 %d %d 0 %d 0 0 0 0\n' \
    '   8  1 sda1 9 0 9 9 9 0 9 9 0 9 0 0 0 0\n' \
    '   7  0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n'
NET = 'Inter-|\n face |\n    lo: 9 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n' \
    '  eth0: %d 0 0 0 0 0 0 0 %d 0 0 0 0 0 0 0\n'
TICK = os.sysconf('SC_CLK_TCK')


class Host(DirectoryCase):
    """A host whose /proc and /sys are the test's."""

    def setUp(self):
        super().setUp()
        for path in ('sys/block/sda', 'sys/block/loop0',
                     'sys/class/net/eth0', 'sys/class/net/lo', 'proc/net'):
            os.makedirs(self.path(path))
        self.put('sys/class/net/eth0/speed', '1000\n')

    def text(self, busy, disk, net):
        self.put('proc/stat', STAT % tuple(
            each * TICK for pair in zip(busy, (10 - each for each in busy))
            for each in pair))
        self.put('proc/diskstats', DISK % disk)
        self.put('proc/net/dev', NET % net)
        return exposition(agent.families(agent.Sources(
            self.path('proc'), self.path('sys'))))

    def looks(self):
        """Ten seconds in which one core is busy for 4, the other for 10."""
        before = self.text((0, 0), (1, 1, 1, 1, 1, 1, 1), (0, 0))
        self.put('proc/x', '')
        after = self.text((0, 0), (101, 20001, 1001, 201, 40001, 4001, 9501),
                          (125000000, 1250000000))
        # Idle for 10 more seconds, less what was busy.
        after = after.replace('cpu="0",mode="idle"} 10.0',
                              'cpu="0",mode="idle"} 16.0').replace(
            'cpu="1",mode="idle"} 10.0', 'cpu="1",mode="idle"} 10.0')
        return Look.of(100.0, before), Look.of(110.0, after)


class TestFigures(Host):

    def test_the_worked_example(self):
        found = point(*self.looks(), 7)
        self.assertEqual((110.0, 70.0, 100.0, 95.0, 20.0), (
            found.when, found.cpu, found.core, found.disk, found.wait))
        # Sectors have 512 bytes; a gigabit is 125 MB.
        self.assertEqual((1024000, 2048000, 12.5e6, 125e6, 100.0, 7), (
            found.read, found.written, found.received, found.sent,
            found.network, found.pending))
        self.assertEqual({'sda': 95.0}, busy_disks(*self.looks()))

    def test_a_counter_that_begins_again_is_no_negative_rate(self):
        before, after = self.looks()
        back = Look(after.when + 1, before.counters)
        found = point(after, back)
        self.assertEqual((0, 0), (found.read, found.sent))

    def test_what_a_node_does_not_tell_is_not_known(self):
        self.assertEqual(NodePoint(2.0), point(Look(1.0, {}), Look(2.0, {})))
        self.assertIsNone(point(Look(1.0, {}), Look(1.0, {})))

    def test_this_host_has_processors(self):
        found = list(parse(exposition(agent.families()), 'node_cpu'))
        self.assertGreaterEqual(len(found), 8)


class TestCollector(unittest.IsolatedAsyncioTestCase):

    async def served(self, handler):
        app = web.Application()
        app.router.add_get('/metrics', handler)
        app.router.add_get('/recon/async', handler)
        runner = web.AppRunner(app)
        await runner.setup()
        self.addAsyncCleanup(runner.cleanup)
        await web.TCPSite(runner, '127.0.0.1', 0).start()
        return 'http://127.0.0.1:%d' % runner.addresses[0][1]

    async def test_a_node_is_asked_until_the_run_ends(self):
        asked, enough = [], asyncio.Event()

        async def answer(request):
            asked.append(request.path)
            if request.path == '/recon/async':
                return web.json_response({'async_pending': 3})
            if len(asked) >= 5:
                enough.set()
            return web.Response(text=exposition(agent.families()))
        url = await self.served(answer)
        with mock.patch.object(collector, 'PERIOD', .01):
            async with watching([Target('a', url + '/metrics', url)]
                                ) as nodes:
                await asyncio.wait_for(enough.wait(), 60)
        found = NodeResult.from_json(nodes[0].to_json())
        self.assertEqual(('a', 0, ''),
                         (found.name, found.missed, found.reason))
        self.assertEqual({3}, {each.pending for each in found.points})
        before = len(asked)
        await asyncio.sleep(0)
        self.assertEqual(before, len(asked))

    async def test_one_that_does_not_answer_costs_its_figures_only(self):
        answers = iter((web.Response(status=500), web.Response(
            text='<html>'), web.Response(status=302, headers={
                'Location': 'http://127.0.0.1:1/'})))

        async def answer(request):
            return next(answers)
        url = await self.served(answer)
        node = Node(Target('a', url + '/metrics'))
        async with ClientSession() as http:
            for words in ('500', None, '302'):
                try:
                    node.take(1.0, await collector._text(
                        http, node.target.url))
                except ValueError as err:
                    self.assertIn(words, str(err))
        self.assertIn('no metric', node.reason)
        with mock.patch.object(collector, 'PERIOD', .01), \
                self.assertLogs('cosbench.watch', 'WARNING') as logged:
            async with watching([Target('b', 'http://127.0.0.1:1/metrics')]
                                ) as nodes:
                while nodes[0].missed < 3:
                    await asyncio.sleep(.01)
        self.assertEqual(1, len(logged.output))
        self.assertIn('no figures', nodes[0].to_json()['reason'])

    async def test_without_nodes_nothing_is_done(self):
        async with watching([]) as nodes:
            self.assertEqual([], nodes)
