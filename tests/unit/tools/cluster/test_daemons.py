# SPDX-License-Identifier: Apache-2.0
"""Processes are told apart by the cluster's paths on their command line."""

import unittest
from unittest import mock

from tools.cluster import ClusterSpec, Policy
from tools.cluster.daemons import INDEX_SERVER, LOG_SINK, Daemons
from tools.cluster.layout import Layout
from tools.cluster.network import LoopbackNetwork
from tools.cluster.processes import Process

SERVER = ('python3', '/c/bin/swift-object-server',
          '/c/etc/object-server/1.conf')
TENTH = ('python3', '/c/bin/swift-object-server',
         '/c/etc/object-server/10.conf')
PROXY = ('python3', '/c/bin/swift-proxy-server', '/c/etc/proxy-server.conf')
RSYNCD = ('rsync', '--daemon', '--no-detach', '--config=/c/etc/rsyncd-1.conf')
PUSH = ('rsync', '-r', '/c/srv/node1/n1d1/objects/3/abc',
        'rsync://127.0.0.2:7004/object/n2d1/objects/3')
SINK = ('python3', '-m', LOG_SINK, '/c/log.sock', '127.0.0.1', '7007',
        '/c/logs')
INDEX = ('python3', '-m', INDEX_SERVER, '--device-path', '/c/srv/node1/n1d1',
         '--policy', '1')
STRANGERS = (
    ('python3', '/c2/bin/swift-object-server', '/c2/etc/object-server/1.conf'),
    ('tail', '-f', '/c/logs/object-server.1.log'),
    ('python3', '-m', 'tools', 'saio', '--dir', '/c', 'down'),
    ('rsync', '--daemon', '--config=/etc/rsyncd.conf'),
    ('python3', '-m', INDEX_SERVER, '--device-path', '/srv/node1/n1d1'))


def daemons(root, **values):
    spec = ClusterSpec(root=root, **values)
    return Daemons(spec, Layout(root), LoopbackNetwork(spec), {})


class TestDaemons(unittest.TestCase):

    def setUp(self):
        argvs = (SERVER, TENTH, PROXY, RSYNCD, PUSH, SINK,
                 INDEX) + STRANGERS
        self.enterContext(mock.patch(
            'tools.cluster.processes.all_processes', lambda: [
                Process(number, argv)
                for number, argv in enumerate(argvs, 2 ** 30)]))
        self.daemons = daemons('/c', nodes=10)

    def argvs(self, processes):
        return [process.argv for process in processes]

    def test_a_cluster_has_what_names_its_paths_and_no_stranger(self):
        self.assertEqual([SERVER, TENTH, PROXY, RSYNCD, PUSH, SINK, INDEX],
                         self.argvs(self.daemons.all()))

    def test_a_node_has_its_daemons_and_what_they_run(self):
        self.assertEqual([SERVER, RSYNCD, PUSH, INDEX],
                         self.argvs(self.daemons.of_node(1)))
        self.assertEqual([TENTH], self.argvs(self.daemons.of_node(10)))
        self.assertEqual([], self.daemons.of_node(2))

    def test_a_daemon_has_the_name_that_swift_init_gives_it(self):
        self.assertEqual(
            ['object-server', 'object-server', 'proxy-server', 'rsync',
             'rsync', 'logsink', 'index-server'],
            [self.daemons.name(process) for process in self.daemons.all()])

    def test_policies_tell_what_a_node_needs_besides_servers(self):
        for text, managers in (('a:1', []), ('a:1:kv', ['object-losf']),
                               ('a:1:proar', ['object-converger']),
                               ('a:1:proar,b:1:kv', [
                                   'object-losf', 'object-converger'])):
            self.assertEqual(managers, daemons(
                '/c', policies=Policy.several(text)).managers())

    def test_the_cluster_is_up_while_its_log_sink_runs(self):
        self.assertTrue(self.daemons.log_sink_runs())
        self.assertFalse(daemons('/c2').log_sink_runs())
