# SPDX-License-Identifier: Apache-2.0
"""The confs say what the spec says, in options that Swift reads."""

import unittest
from configparser import RawConfigParser

from swift.common.storage_policy import StoragePolicy
from swift.common.utils import rsync_module_interpolation

from swift_losf.daemon.manager import kv_policies
from tools.cluster import ClusterSpec, Policy
from tools.cluster.conf import ConfRenderer
from tools.cluster.layout import Layout
from tools.cluster.network import LoopbackNetwork


class TestConf(unittest.TestCase):

    def render(self, **values):
        spec = ClusterSpec(root='/c', base_port=7000, **values)
        self.layout = Layout(spec.root)
        return ConfRenderer(spec, self.layout, LoopbackNetwork(spec),
                            mount_check=True).render()

    def conf(self, server, node=None, **values):
        parser = RawConfigParser()
        parser.read_string(self.render(**values)[
            Layout('/c').conf(server, node)])
        return parser

    def test_the_replicator_runs_for_the_replication_port(self):
        conf = self.conf('object-server', 2)
        self.assertEqual('7020', conf['DEFAULT']['bind_port'])
        self.assertEqual('127.0.0.2', conf['DEFAULT']['bind_ip'])
        replicator = conf['object-replicator']
        self.assertEqual('7023', replicator['bind_port'])
        self.assertEqual('127.0.0.2', replicator['bind_ip'])
        self.assertEqual(
            'rsync://127.0.0.4:7004/object', rsync_module_interpolation(
                replicator['rsync_module'], {'replication_ip': '127.0.0.4'}))

    def test_only_the_replication_server_takes_replication_verbs(self):
        self.assertEqual('False', self.conf('object-server', 1)[
            'app:object-server']['replication_server'])
        server = self.conf('replication-server', 1)
        self.assertNotIn('replication_server', server['app:object-server'])
        self.assertEqual('7013', server['DEFAULT']['bind_port'])

    def test_without_replication_ports_one_server_takes_all(self):
        values = {'replication_ports': False}
        conf = self.conf('object-server', 1, **values)
        self.assertNotIn('replication_server', conf['app:object-server'])
        self.assertEqual('7010', conf['object-replicator']['bind_port'])
        self.assertNotIn(self.layout.conf('replication-server', 1),
                         self.render(**values))

    def test_a_policy_with_parity_is_erasure_coded(self):
        conf = self.conf('swift', policies=(
            Policy('gold', 0, 3), Policy('ec', 2, 5, parity=2)))
        policy = conf['storage-policy:2']
        self.assertEqual(('erasure_coding', '3', '2'), (
            policy['policy_type'], policy['ec_num_data_fragments'],
            policy['ec_num_parity_fragments']))

    def test_a_kv_policy_has_its_diskfile_and_others_have_not(self):
        conf = self.conf('swift', policies=Policy.several('a:3,b:2:kv'))
        self.assertNotIn('diskfile_module', conf['storage-policy:0'])
        policy = StoragePolicy(1, 'b', diskfile_module=conf[
            'storage-policy:1']['diskfile_module'])
        self.assertEqual([policy], kv_policies([policy]))
        self.assertIn('object-losf', self.conf('object-server', 1))

    def test_primary_role_writes_have_their_proxy_and_converger(self):
        values = {'policies': Policy.several('a:3,b:2:proar'),
                  'replicator': 'stock'}
        for name in 'proxy-server', 'internal-client':
            proxy = self.conf(name, **values)
            self.assertEqual('egg:swift-lightsync#proxy',
                             proxy['app:proxy-server']['use'])
            self.assertEqual('True', proxy['proxy-server:policy:1'][
                'primary_role_writes'])
            self.assertNotIn('proxy-server:policy:0', proxy)
        servers = self.conf('object-server', 1, **values)
        self.assertEqual('egg:swift-lightsync#object',
                         servers['app:object-server']['use'])
        self.assertIn('object-converger', servers)

    def test_no_other_conf_is_found_where_swift_init_seeks_replicators(self):
        for path in self.render():
            if path.startswith('/c/etc/object-server'):
                self.assertIn('[object-replicator]', self.render()[path])

    def test_a_cluster_without_versions_has_nothing_of_them(self):
        self.assertFalse([text for text in self.render().values()
                          if 'versioning]' in text or 'propagator' in text])

    def test_the_replicator_kind_chooses_app_and_class(self):
        ours = self.conf('object-server', 1)
        self.assertEqual('egg:swift-lightsync#object',
                         ours['app:object-server']['use'])
        self.assertEqual('egg:swift-lightsync#lightsync',
                         ours['object-replicator']['replicator_class'])
        stock = self.render(replicator='stock')
        self.assertFalse([path for path, text in stock.items()
                          if 'swift-lightsync#' in text])

    def test_options_are_added_to_and_win_over_the_defaults(self):
        conf = self.conf('object-server', 3, options={'object-server': {
            'object-replicator': {'interval': 1, 'sync_method': 'ssync'},
            'object-converger': {'max_lag': 5}, 'DEFAULT': {'workers': 2}}})
        self.assertEqual('1', conf['object-replicator']['interval'])
        self.assertEqual('ssync', conf['object-replicator']['sync_method'])
        self.assertEqual('5', conf['object-converger']['max_lag'])
        self.assertEqual('2', conf['DEFAULT']['workers'])

    def test_a_section_that_is_none_is_left_out(self):
        options = {'object-server': {'object-expirer': None},
                   'object-expirer': {}}
        self.assertNotIn('object-expirer',
                         self.conf('object-server', 1, options=options))
        self.assertIn('object-expirer',
                      self.conf('object-expirer', options=options))
        self.assertNotIn('/c/etc/object-expirer.conf', self.render())

    def test_each_daemon_logs_under_its_own_name(self):
        conf = self.conf('object-server', 5)
        self.assertEqual('object-updater.5',
                         conf['object-updater']['log_name'])
        self.assertEqual('object-server.5',
                         conf['app:object-server']['log_name'])
        self.assertEqual('/c/log.sock', conf['DEFAULT']['log_address'])

    def test_every_filter_of_the_pipeline_has_its_section(self):
        conf = self.conf('proxy-server')
        *filters, app = conf['pipeline:main']['pipeline'].split()
        self.assertIn('app:' + app, conf)
        for name in filters:
            self.assertIn('use', conf['filter:' + name])

    def test_index_0_is_the_default_policy(self):
        conf = self.conf('swift')
        self.assertEqual('yes', conf['storage-policy:0']['default'])
        self.assertEqual('no', conf['storage-policy:1']['default'])

    def test_object_services_alone_get_no_other_conf(self):
        paths = self.render(services=('object',))
        self.assertEqual({'/c/etc/swift.conf'}, {
            path for path in paths if not path.startswith((
                '/c/etc/object-server/', '/c/etc/replication-server/',
                '/c/etc/rsyncd-'))})

    def test_a_module_of_rsync_is_the_directory_of_the_node(self):
        text = self.render()['/c/etc/rsyncd-3.conf']
        self.assertIn('address = 127.0.0.3\nport = 7004\n', text)
        self.assertIn('[object]\npath = /c/srv/node3\n', text)
