# SPDX-License-Identifier: Apache-2.0
"""tools.cluster.sites and relay: confs that fit, links that obey."""

import asyncio
import io
import os
import shutil
import socket
import tempfile
import time
import unittest
from configparser import ConfigParser
from contextlib import redirect_stderr, suppress
from unittest import mock

from swift_lightsync.versioning.sites.options import load
from tools import ToolError
from tools.cluster import cli, processes, relay
from tools.cluster.cluster import Cluster
from tools.cluster.conf import ConfRenderer
from tools.cluster.relay import Link, Relay
from tools.cluster.sites import Sites, names
from tools.cluster.spec import ClusterSpec


class TestCommandLine(unittest.TestCase):

    def test_the_ports_of_sites_cannot_be_chosen(self):
        said = io.StringIO()
        with tempfile.TemporaryDirectory() as root, redirect_stderr(said):
            self.assertEqual(2, cli.main([
                '--dir', root, '--sites', '2', '--base-port', '7000', 'up']))
        self.assertIn('--base-port is for one cluster', said.getvalue())


class TestSites(unittest.TestCase):

    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.sites = Sites(self.root, 3, ('write-repair', 'read-repair'),
                           {'interval': 0.5}, nodes=1, disks='directory')

    def confs(self, name):
        cluster = self.sites.clusters[name]
        return cluster.layout, ConfRenderer(
            cluster.spec, cluster.layout, cluster.network, False).render()

    def conf(self, name, server, node=None):
        layout, files = self.confs(name)
        parser = ConfigParser(interpolation=None)
        parser.read_string(files[layout.conf(server, node)])
        return parser

    def test_up_replaces_a_relay_that_runs(self):
        # Some sites may be up, and the relay with them.
        done = []
        with mock.patch.multiple(
                processes, start=lambda *_, **__: done.append('start'),
                end=lambda _: done.append('end')), \
                mock.patch.object(Cluster, 'is_up', lambda _: True):
            self.sites.up()
        self.assertEqual(['end', 'start'], done)

    def test_two_sites_share_a_key_that_no_other_has(self):
        keys = {}
        for name in self.sites.names:
            layout, files = self.confs(name)
            path = os.path.join(self.root, name + '.conf')
            with open(path, 'w') as conf:
                conf.write(files[layout.conf('versioning-sites')])
            for other, peer in load(path, name).items():
                keys.setdefault(frozenset((name, other)), set()).update(
                    peer.keys)
        self.assertEqual([1, 1, 1], [len(each) for each in keys.values()])
        self.assertEqual(3, len(set.union(*keys.values())))

    def test_each_reaches_each_other_by_a_link_of_its_own(self):
        links = relay.read(self.sites.state)
        self.assertEqual(6, len({link.port for link in links}))
        for link in links:
            target = self.sites.clusters[link.target].spec
            self.assertEqual(target.port('proxy-server'), link.address[1])
            peers = self.sites.clusters[link.source].spec.peers
            self.assertEqual('http://127.0.0.1:%d' % link.port,
                             peers[link.target]['endpoints'])

    def test_the_filter_and_the_propagator_have_the_same_sites(self):
        for name in self.sites.names:
            proxy = self.conf(name, 'proxy-server')
            daemon = self.conf(name, 'container-server', 1)[
                'container-propagator']
            for option in ('site', 'site_preference'):
                self.assertEqual(proxy['filter:versioning'][option],
                                 daemon[option])
            self.assertEqual(name, daemon['site'])
            self.assertEqual('0.5', daemon['interval'])
            self.assertIn(' symlink versioning proxy-logging ',
                          proxy['pipeline:main']['pipeline'])
            self.assertEqual('egg:swift-lightsync#proxy',
                             proxy['app:proxy-server']['use'])

    def test_what_was_made_is_opened_as_it_is(self):
        found = Sites.open(self.root)
        self.assertEqual({name: cluster.spec for name, cluster
                          in self.sites.clusters.items()},
                         {name: cluster.spec for name, cluster
                          in found.clusters.items()})

    def test_what_was_never_up_is_destroyed(self):
        Sites.open(self.root).destroy()
        self.assertFalse(os.path.exists(self.root))

    def test_a_network_that_cannot_start_is_told(self):
        port = relay.read(self.sites.state)[0].port
        with socket.socket() as sock:
            sock.bind(('127.0.0.1', port))
            sock.listen()
            with self.assertRaisesRegex(
                    ToolError, '(?s)it exited .*%d.* in use' % port):
                self.sites.up()

    def test_links_are_cut_joined_and_slowed(self):
        def state():
            return {(link.source, link.target): (link.cut, link.delay)
                    for link in relay.read(self.sites.state)}
        self.sites.isolate('oslo')
        self.assertEqual({'oslo'}, set.intersection(*(
            set(pair) for pair, (cut, _) in state().items() if cut)))
        self.sites.join('rome', 'oslo')
        self.sites.delay('rome', 'paris', 0.5)
        found = state()
        self.assertEqual((False, 0), found['oslo', 'rome'])
        self.assertEqual((True, 0), found['paris', 'oslo'])
        self.assertEqual((False, 0.5), found['paris', 'rome'])
        self.sites.heal()
        self.assertFalse(any(cut for cut, _ in state().values()))

    def test_what_is_not_allowed_is_named(self):
        for wrong, word in (
                (lambda: names(1), '1'), (lambda: names(7), '7'),
                (lambda: self.sites.cut('rome', 'berlin'), 'berlin'),
                (lambda: self.sites.delay('rome', 'oslo', -1), '-1'),
                (lambda: Sites.open(self.root + '/none'), 'no sites'),
                (lambda: ClusterSpec(root=self.root, versioning={
                    'site': 'rome'}), 'site_preference')):
            with self.assertRaises(ToolError) as caught:
                wrong()
            self.assertIn(word, str(caught.exception))


class TestRelay(unittest.IsolatedAsyncioTestCase):

    def link(self, **values):
        return Link('rome', 'paris', self.port, self.address, **values)

    async def scene(self):
        async def echo(reader, writer):
            writer.write(await reader.readexactly(4))
            await writer.drain()
        server = await asyncio.start_server(echo, '127.0.0.1', 0)
        self.address = server.sockets[0].getsockname()
        free = await asyncio.start_server(echo, '127.0.0.1', 0)
        self.port = free.sockets[0].getsockname()[1]
        free.close()
        await free.wait_closed()
        found = Relay(self.link())
        await found.follow(found.link)
        return found

    async def ask(self):
        reader, writer = await asyncio.open_connection(
            '127.0.0.1', self.port)
        try:
            writer.write(b'ping')
            return await asyncio.wait_for(reader.read(4), 20)
        finally:
            writer.close()

    async def test_a_link_passes_on_what_is_sent_in_its_time(self):
        found = await self.scene()
        self.assertEqual(b'ping', await self.ask())
        await found.follow(self.link(delay=0.2))
        start = time.monotonic()
        self.assertEqual(b'ping', await self.ask())
        # It takes its time each way.
        self.assertGreaterEqual(time.monotonic() - start, 0.4)

    async def test_a_cut_link_breaks_what_there_is_and_takes_nothing_new(
            self):
        found = await self.scene()
        reader, writer = await asyncio.open_connection('127.0.0.1', self.port)
        writer.write(b'pi')
        while not found._tasks:
            await asyncio.sleep(0.01)
        await found.follow(self.link(cut=True))
        with suppress(ConnectionResetError):
            self.assertEqual(b'', await asyncio.wait_for(reader.read(4), 20))
        with self.assertRaises(OSError):
            await self.ask()
        await found.follow(self.link())
        self.assertEqual(b'ping', await self.ask())
