# SPDX-License-Identifier: Apache-2.0
"""Renders every conf file of a cluster from its spec."""

import os
import pwd
from configparser import RawConfigParser

PIPELINE = (
    'catch_errors gatekeeper healthcheck proxy-logging cache listing_formats '
    'container_sync bulk tempurl s3api tempauth copy container-quotas '
    'account-quotas slo dlo versioned_writes symlink proxy-logging '
    'proxy-server')
#: of the internal client that reads versions as they are stored
VERSIONS_PIPELINE = 'catch_errors cache proxy-server'
OURS = ('versioning',)
#: filter in a pipeline -> its entry point, where the two differ
ENTRY_POINTS = {
    'proxy-logging': 'proxy_logging', 'cache': 'memcache',
    'container-quotas': 'container_quotas', 'account-quotas':
    'account_quotas'}
APPS = {'object-server': 'object', 'replication-server': 'object',
        'container-server': 'container', 'account-server': 'account'}
DAEMONS = {
    'object-server': (
        'object-replicator', 'object-reconstructor', 'object-updater',
        'object-auditor', 'object-expirer', 'object-relinker',
        'object-losf', 'object-converger'),
    'replication-server': (),
    'container-server': (
        'container-replicator', 'container-updater', 'container-auditor',
        'container-sync', 'container-sharder'),
    'account-server': (
        'account-replicator', 'account-auditor', 'account-reaper'),
}


class ConfRenderer:
    """
    Renders the conf files of one cluster.

    :param spec: a ClusterSpec
    :param layout: its Layout
    :param network: its network, which knows the addresses
    :param mount_check: whether devices are mounts
    """

    def __init__(self, spec, layout, network, mount_check):
        self.spec = spec
        self.layout = layout
        self.network = network
        self.mount_check = mount_check
        self.user = pwd.getpwuid(os.geteuid()).pw_name

    def render(self):
        """:returns: a dict of path -> text"""
        files = {self.layout.swift_conf: self._text('swift', self._swift())}
        if 'object' in self.spec.services:
            files.update(self._rsyncds())
        if self.spec.versioning:
            files[self.layout.sites_conf] = self._ini(self.spec.peers)
        if 'proxy' in self.spec.services:
            for name in self._proxies():
                files[self.layout.conf(name)] = self._text(
                    name, self._proxy(name))
        for server, kind in APPS.items():
            if kind in self.spec.services and (
                    server != 'replication-server'
                    or self.spec.replication_ports):
                for node in self.spec.node_numbers():
                    files[self.layout.conf(server, node)] = self._text(
                        server, self._node_server(server, node))
        return files

    def _proxies(self):
        """The confs that have a proxy's pipeline."""
        yield from ('proxy-server', 'internal-client', 'container-reconciler')
        if 'object-expirer' in self.spec.options:
            yield 'object-expirer'
        if self.spec.versioning:
            yield 'versions-client'

    def _text(self, conf, sections):
        return self._ini(sections, self.spec.options.get(conf, {}))

    @staticmethod
    def _ini(*several):
        parser = RawConfigParser()
        parser.optionxform = str
        for extra in several:
            for section, options in extra.items():
                if options is None:
                    parser.remove_section(section)
                    continue
                if section != 'DEFAULT' and not parser.has_section(section):
                    parser.add_section(section)
                for option, value in options.items():
                    parser.set(section, option, str(value))
        lines = _Lines()
        parser.write(lines)
        return ''.join(lines)

    def _swift(self):
        sections = {'swift-hash': {'swift_hash_path_prefix': 'saio',
                                   'swift_hash_path_suffix': 'saio'}}
        for policy in self.spec.policies:
            sections['storage-policy:%d' % policy.index] = {
                'name': policy.name, **self._policy_type(policy),
                'default': 'yes' if policy.index == 0 else 'no'}
        return sections

    @staticmethod
    def _policy_type(policy):
        if policy.kv:
            return {'policy_type': 'replication', 'diskfile_module':
                    'egg:swift-lightsync#replication.kv'}
        if not policy.parity:
            return {'policy_type': 'replication'}
        return {'policy_type': 'erasure_coding',
                'ec_type': 'liberasurecode_rs_vand',
                'ec_num_data_fragments': policy.replicas - policy.parity,
                'ec_num_parity_fragments': policy.parity}

    def _defaults(self, port, ip):
        return {
            'swift_dir': self.layout.etc,
            'user': self.user,
            'bind_ip': ip,
            'bind_port': port,
            'bind_timeout': 5,
            'workers': 0,
            'log_address': self.layout.log_socket,
            'fallocate_reserve': 0,
        }

    def _node_server(self, server, node):
        defaults = self._defaults(self.spec.port(server, node),
                                  self.network.node_ip(node))
        defaults.update({
            'devices': self.layout.node_dir(node),
            'mount_check': self.mount_check,
            'recon_cache_path': self.layout.cache_dir(node)})
        app = 'object-server' if APPS[server] == 'object' else server
        extra = ['lightsync-recon'] if self._is_ours(server) else []
        sections = {
            'DEFAULT': defaults,
            'pipeline:main': {
                'pipeline': ' '.join(['healthcheck', *extra, 'recon', app])},
            'app:' + app: {'use': self._app(server),
                           'log_name': '%s.%d' % (server, node)},
            'filter:healthcheck': {'use': 'egg:swift#healthcheck'},
            'filter:recon': {'use': 'egg:swift#recon'}}
        for each in extra:
            sections['filter:' + each] = {'use': 'egg:swift-lightsync#recon'}
        if server == 'object-server' and self.spec.replication_ports:
            sections['app:' + app]['replication_server'] = False
        for daemon in self._daemons(server):
            sections[daemon] = dict(
                self._daemon(daemon, node),
                log_name='%s.%d' % (daemon, node))
        return sections

    def _daemons(self, server):
        versions = server == 'container-server' and self.spec.versioning
        return DAEMONS[server] + (('container-propagator',)
                                  if versions else ())

    def _is_ours(self, server):
        return APPS[server] == 'object' and (
            self.spec.replicator == 'lightsync' or self.spec.has_proar())

    def _app(self, server):
        if self._is_ours(server):
            return 'egg:swift-lightsync#object'
        return 'egg:swift#' + APPS[server]

    def _daemon(self, daemon, node):
        kind, _, task = daemon.partition('-')
        options = {}
        if task in ('replicator', 'sharder'):
            options['rsync_module'] = 'rsync://{replication_ip}:%d/%s' % (
                self.spec.port('rsync'), kind)
        if daemon in ('object-replicator', 'object-reconstructor'):
            options['bind_port'] = self.spec.port('replication-server', node)
        if daemon == 'object-replicator':
            options['sync_method'] = self.spec.sync_method
            if self.spec.replicator == 'lightsync':
                options['replicator_class'] = 'egg:swift-lightsync#lightsync'
        if task == 'propagator':
            options.update(
                internal_client_conf_path=self.layout.conf('versions-client'),
                **{name: self.spec.versioning[name]
                   for name in ('site', 'site_preference')})
        if task in ('sync', 'sharder', 'expirer'):
            options['internal_client_conf_path'] = \
                self.layout.internal_client_conf
        if task == 'expirer':
            options.update(processes=self.spec.nodes, process=node - 1,
                           dequeue_from_legacy=True)
        return options

    def _proxy(self, name):
        pipeline = self._pipeline(name)
        sections = {
            'DEFAULT': self._defaults(self.spec.port('proxy-server'),
                                      self.network.client_ip),
            'pipeline:main': {'pipeline': pipeline},
            'app:proxy-server': {
                'use': 'egg:%s#proxy' % (
                    'swift-lightsync' if self.spec.has_proar()
                    or self.spec.versioning else 'swift'),
                'log_name': name,
                'account_autocreate': True,
                'allow_account_management': True}}
        for policy in self.spec.policies:
            if policy.proar:
                sections['proxy-server:policy:%d' % policy.index] = {
                    'primary_role_writes': True}
        for each in dict.fromkeys(pipeline.split()[:-1]):
            sections['filter:' + each] = {'use': 'egg:%s#%s' % (
                'swift-lightsync' if each in OURS else 'swift',
                ENTRY_POINTS.get(each, each))}
        sections['filter:cache']['memcache_servers'] = '%s:%d' % (
            self.network.client_ip, self.spec.port('memcached'))
        if name in ('container-reconciler', 'object-expirer'):
            sections[name] = {'log_name': name}
        if name == 'proxy-server':
            sections['filter:proxy-logging'].update(
                access_log_name='proxy-access',
                access_log_udp_host=self.network.client_ip,
                access_log_udp_port=self.spec.port('log-sink'))
            sections['filter:versioned_writes'].update(
                allow_versioned_writes=True,
                allow_object_versioning=not self.spec.versioning)
            sections.get('filter:versioning', {}).update(self.spec.versioning)
            sections['filter:tempauth'].update(
                user_admin_admin='admin .admin .reseller_admin',
                user_test_tester='testing .admin',
                user_test_tester2='testing2 .admin',
                user_test_tester3='testing3',
                user_test2_tester2='testing2 .admin')
        return sections

    def _pipeline(self, name):
        if name == 'versions-client':
            return VERSIONS_PIPELINE
        if name != 'proxy-server':
            return 'catch_errors cache symlink proxy-server'
        if self.spec.versioning:
            return PIPELINE.replace(' symlink ', ' symlink versioning ')
        return PIPELINE

    def _rsyncds(self):
        return {self.layout.rsyncd_conf(node): self._rsyncd(node)
                for node in self.spec.node_numbers()}

    def _rsyncd(self, node):
        lines = ['address = %s' % self.network.node_ip(node),
                 'port = %d' % self.spec.port('rsync'),
                 'log file = %s' % self.layout.log('rsyncd.%d' % node),
                 'use chroot = no', 'reverse lookup = no']
        if os.geteuid() == 0:
            lines += ['uid = root', 'gid = root']
        for module in ('account', 'container', 'object'):
            lines += ['[%s]' % module,
                      'path = %s' % self.layout.node_dir(node),
                      'read only = no', 'max connections = 0']
        return '\n'.join(lines) + '\n'


class _Lines(list):
    """A list that RawConfigParser can write to."""

    write = list.append
