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

ALONE = {'replication_ports': False}
STOCK = {'replicator': 'stock'}
KINDS = {'policies': Policy.several('a:3,b:2:kv')}
ROLES = {'policies': Policy.several('a:3,b:2:proar'), 'replicator': 'stock'}
CODED = {'policies': (Policy('gold', 0, 3), Policy('ec', 2, 5, parity=2))}
MORE = {'options': {'object-server': {
    'object-replicator': {'interval': 1, 'sync_method': 'ssync'},
    'object-converger': {'max_lag': 5}, 'DEFAULT': {'workers': 2},
    'object-expirer': None}, 'object-expirer': {}}}
APP = 'app:object-server'
#: fields of the spec, conf and node, section, option -> value; None: neither
#: the option nor, without one, the section is there
CASES = (
    # each daemon listens where the rings say, and logs under its own name
    ({}, 'object-server', 2, 'DEFAULT', 'bind_port', '7020'),
    ({}, 'object-server', 2, 'DEFAULT', 'bind_ip', '127.0.0.2'),
    ({}, 'object-server', 2, 'object-replicator', 'bind_port', '7023'),
    ({}, 'object-server', 2, 'object-replicator', 'bind_ip', '127.0.0.2'),
    ({}, 'replication-server', 1, 'DEFAULT', 'bind_port', '7013'),
    ({}, 'object-server', 5, 'object-updater', 'log_name',
     'object-updater.5'),
    ({}, 'object-server', 5, APP, 'log_name', 'object-server.5'),
    ({}, 'object-server', 5, 'DEFAULT', 'log_address', '/c/log.sock'),
    # only the replication server takes replication verbs, if there is one
    ({}, 'object-server', 1, APP, 'replication_server', 'False'),
    ({}, 'replication-server', 1, APP, 'replication_server', None),
    (ALONE, 'object-server', 1, APP, 'replication_server', None),
    (ALONE, 'object-server', 1, 'object-replicator', 'bind_port', '7010'),
    # kinds of policies
    (CODED, 'swift', None, 'storage-policy:2', 'policy_type',
     'erasure_coding'),
    (CODED, 'swift', None, 'storage-policy:2', 'ec_num_data_fragments', '3'),
    (CODED, 'swift', None, 'storage-policy:2', 'ec_num_parity_fragments',
     '2'),
    ({}, 'swift', None, 'storage-policy:0', 'default', 'yes'),
    ({}, 'swift', None, 'storage-policy:1', 'default', 'no'),
    (KINDS, 'swift', None, 'storage-policy:0', 'diskfile_module', None),
    (KINDS, 'object-server', 1, 'object-losf', 'log_name', 'object-losf.1'),
    *((ROLES, name, None, section, option, value)
      for name in ('proxy-server', 'internal-client')
      for section, option, value in (
          ('app:proxy-server', 'use', 'egg:swift-lightsync#proxy'),
          ('proxy-server:policy:1', 'primary_role_writes', 'True'),
          ('proxy-server:policy:0', None, None))),
    (ROLES, 'object-server', 1, APP, 'use', 'egg:swift-lightsync#object'),
    (ROLES, 'object-server', 1, 'object-converger', 'log_name',
     'object-converger.1'),
    # the kind of replicator
    ({}, 'object-server', 1, APP, 'use', 'egg:swift-lightsync#object'),
    ({}, 'object-server', 1, 'object-replicator', 'replicator_class',
     'egg:swift-lightsync#lightsync'),
    ({}, 'object-server', 1, 'object-reconstructor', 'reconstructor_class',
     'egg:swift-lightsync#lightsync-ec'),
    # options are added to and win over the defaults; None leaves one out
    (MORE, 'object-server', 3, 'object-replicator', 'interval', '1'),
    (MORE, 'object-server', 3, 'object-replicator', 'sync_method', 'ssync'),
    (MORE, 'object-server', 3, 'object-converger', 'max_lag', '5'),
    (MORE, 'object-server', 3, 'DEFAULT', 'workers', '2'),
    (MORE, 'object-server', 3, 'object-expirer', None, None),
    (MORE, 'object-expirer', None, 'object-expirer', 'log_name',
     'object-expirer'))


class TestConf(unittest.TestCase):

    def render(self, **values):
        spec = ClusterSpec(root='/c', base_port=7000, **values)
        return ConfRenderer(spec, Layout('/c'), LoopbackNetwork(spec),
                            mount_check=True).render()

    def conf(self, server, node=None, **values):
        parser = RawConfigParser()
        parser.read_string(self.render(**values)[
            Layout('/c').conf(server, node)])
        return parser

    def test_options_are_as_the_spec_says(self):
        for values, server, node, section, option, value in CASES:
            with self.subTest(server=server, section=section, option=option):
                conf = self.conf(server, node, **values)
                if option is None:
                    self.assertNotIn(section, conf)
                else:
                    self.assertEqual(value, conf[section].get(option))

    def test_rsync_modules_are_the_directories_of_the_nodes(self):
        text = self.render()['/c/etc/rsyncd-3.conf']
        self.assertIn('address = 127.0.0.3\nport = 7004\n', text)
        self.assertIn('[object]\npath = /c/srv/node3\n', text)
        module = self.conf('object-server', 2)['object-replicator'][
            'rsync_module']
        self.assertEqual(
            'rsync://127.0.0.4:7004/object', rsync_module_interpolation(
                module, {'replication_ip': '127.0.0.4'}))

    def test_a_kv_policy_has_the_diskfile_that_losf_knows(self):
        policy = StoragePolicy(1, 'b', diskfile_module=self.conf(
            'swift', **KINDS)['storage-policy:1']['diskfile_module'])
        self.assertEqual([policy], kv_policies([policy]))

    def test_no_other_conf_is_found_where_swift_init_seeks_replicators(self):
        for path, text in self.render().items():
            if path.startswith('/c/etc/object-server'):
                self.assertIn('[object-replicator]', text)

    def test_what_is_not_asked_for_has_no_conf(self):
        self.assertNotIn('/c/etc/object-expirer.conf', self.render())
        self.assertNotIn('/c/etc/replication-server/1.conf',
                         self.render(**ALONE))
        self.assertEqual({'/c/etc/swift.conf'}, {
            path for path in self.render(services=('object',))
            if not path.startswith((
                '/c/etc/object-server/', '/c/etc/replication-server/',
                '/c/etc/rsyncd-'))})
        for words, values in ((('swift-lightsync#',), STOCK),
                              (('versioning]', 'propagator'), {})):
            self.assertFalse([text for text in self.render(**values).values()
                              if any(word in text for word in words)])

    def test_every_filter_of_the_pipeline_has_its_section(self):
        conf = self.conf('proxy-server')
        *filters, app = conf['pipeline:main']['pipeline'].split()
        self.assertIn('app:' + app, conf)
        for name in filters:
            self.assertIn('use', conf['filter:' + name])
