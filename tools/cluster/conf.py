# SPDX-License-Identifier: Apache-2.0
"""Renders every conf file of a cluster from its spec."""

import io
import os
import pwd
from configparser import RawConfigParser
from dataclasses import dataclass
from typing import Any

from tools.cluster.layout import NODE_SERVERS, Layout
from tools.cluster.network import Network
from tools.cluster.spec import ClusterSpec, Policy

PIPELINE = (
    'catch_errors gatekeeper healthcheck proxy-logging cache listing_formats '
    'container_sync bulk tempurl s3api tempauth copy container-quotas '
    'account-quotas slo dlo versioned_writes symlink proxy-logging '
    'proxy-server')
INTERNAL_PIPELINE = 'catch_errors cache symlink proxy-server'
#: of the internal client that reads versions as they are stored
VERSIONS_PIPELINE = 'catch_errors cache proxy-server'
OURS = ('versioning',)
#: filter in a pipeline -> its entry point, where the two differ
ENTRY_POINTS = {
    'proxy-logging': 'proxy_logging', 'cache': 'memcache',
    'container-quotas': 'container_quotas', 'account-quotas':
    'account_quotas'}
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
        'account-replicator', 'account-auditor', 'account-reaper')}
#: users of tempauth
USERS = {
    'user_admin_admin': 'admin .admin .reseller_admin',
    'user_test_tester': 'testing .admin',
    'user_test_tester2': 'testing2 .admin',
    'user_test_tester3': 'testing3',
    'user_test2_tester2': 'testing2 .admin'}
#: section -> option -> value; None leaves a section out
Sections = dict[str, Any]


def ini(*several: Sections) -> str:
    parser = RawConfigParser()
    parser.optionxform = str    # type: ignore[method-assign, assignment]
    for sections in several:
        for section, options in sections.items():
            if options is None:
                parser.remove_section(section)
                continue
            if section != 'DEFAULT' and not parser.has_section(section):
                parser.add_section(section)
            for option, value in options.items():
                parser.set(section, option, str(value))
    text = io.StringIO()
    parser.write(text)
    return text.getvalue()


@dataclass(frozen=True)
class ConfRenderer:
    """Renders the conf files of one cluster.

    :param spec: a ClusterSpec
    :param layout: its Layout
    :param network: its network, which knows the addresses
    :param mount_check: whether devices are mounts
    """

    spec: ClusterSpec
    layout: Layout
    network: Network
    mount_check: bool

    def render(self) -> dict[str, str]:
        """Return a dict of path -> text."""
        spec, conf = self.spec, self.layout.conf
        files = {conf('swift'): self._text('swift', self._swift())}
        if 'object' in spec.services:
            files.update({self.layout.rsyncd_conf(node): self._rsyncd(node)
                          for node in spec.node_numbers()})
        if spec.versioning:
            files[conf('versioning-sites')] = ini(spec.peers)
        if 'proxy' in spec.services:
            files.update({conf(name): self._text(name, self._proxy(
                name, pipeline)) for name, pipeline in self._pipelines()})
        for server in spec.servers():
            files.update({conf(server, node): self._text(
                server, self._node_server(server, node))
                for node in spec.node_numbers()})
        return files

    def _text(self, conf: str, sections: Sections) -> str:
        return ini(sections, self.spec.options.get(conf, {}))

    def _swift(self) -> Sections:
        sections: Sections = {'swift-hash': {
            'swift_hash_path_prefix': 'saio',
            'swift_hash_path_suffix': 'saio'}}
        for policy in self.spec.policies:
            sections['storage-policy:%d' % policy.index] = {
                'name': policy.name, **self._policy_type(policy),
                'default': 'yes' if policy.index == 0 else 'no'}
        return sections

    @staticmethod
    def _policy_type(policy: Policy) -> dict[str, Any]:
        module = {'diskfile_module': 'egg:swift-lightsync#%s.kv' % (
            'erasure_coding' if policy.parity else 'replication')} \
            if policy.kv else {}
        if policy.parity:
            return {'policy_type': 'erasure_coding', **module,
                    'ec_type': 'liberasurecode_rs_vand',
                    'ec_num_data_fragments': policy.replicas - policy.parity,
                    'ec_num_parity_fragments': policy.parity}
        return {'policy_type': 'replication', **module}

    def _defaults(self, port: int, ip: str) -> dict[str, Any]:
        return {'swift_dir': self.layout.etc,
                'user': pwd.getpwuid(os.geteuid()).pw_name, 'bind_ip': ip,
                'bind_port': port, 'bind_timeout': 5, 'workers': 0,
                'log_address': self.layout.log_socket, 'fallocate_reserve': 0}

    def _node_server(self, server: str, node: int) -> Sections:
        spec, service = self.spec, NODE_SERVERS[server]
        is_ours = {'object': spec.replicator == 'lightsync' or
                   spec.has_proar(),
                   'container': bool(spec.versioning)}.get(service, False)
        app = 'app:%s' % ('object-server' if service == 'object' else server)
        extra = ['lightsync-recon'] if is_ours or service == 'object' and any(
            policy.kv for policy in spec.policies) else []
        sections: Sections = {
            'DEFAULT': {
                **self._defaults(spec.port(server, node),
                                 self.network.node_ip(node)),
                'devices': self.layout.node_dir(node),
                'mount_check': self.mount_check,
                'recon_cache_path': self.layout.cache_dir(node)},
            'pipeline:main': {'pipeline': ' '.join(
                ['healthcheck', *extra, 'recon', app[len('app:'):]])},
            app: {'use': 'egg:%s#%s' % (
                'swift-lightsync' if is_ours else 'swift', service),
                'log_name': '%s.%d' % (server, node)},
            'filter:healthcheck': {'use': 'egg:swift#healthcheck'},
            'filter:recon': {'use': 'egg:swift#recon'},
            **{'filter:' + each: {'use': 'egg:swift-lightsync#recon',
                                  'run_dir': self.layout.run}
               for each in extra}}
        if server == 'object-server' and spec.replication_ports:
            sections[app]['replication_server'] = False
        daemons = DAEMONS[server]
        if server == 'container-server' and spec.versioning:
            daemons += ('container-propagator',)
        for daemon in daemons:
            sections[daemon] = dict(self._daemon(daemon, node),
                                    log_name='%s.%d' % (daemon, node))
        return sections

    def _daemon(self, daemon: str, node: int) -> dict[str, Any]:
        kind, _, task = daemon.partition('-')
        options: dict[str, Any] = {}
        if task in ('replicator', 'sharder'):
            options['rsync_module'] = 'rsync://{replication_ip}:%d/%s' % (
                self.spec.port('rsync'), kind)
        if daemon in ('object-replicator', 'object-reconstructor'):
            options['bind_port'] = self.spec.port('replication-server', node)
        if daemon == 'object-replicator':
            options['sync_method'] = self.spec.sync_method
            if self.spec.replicator == 'lightsync':
                options['replicator_class'] = 'egg:swift-lightsync#lightsync'
        if daemon == 'object-reconstructor' \
                and self.spec.replicator == 'lightsync':
            options['reconstructor_class'] = (
                'egg:swift-lightsync#lightsync-ec')
        if task == 'propagator':
            options.update(
                internal_client_conf_path=self.layout.conf('versions-client'),
                **{name: self.spec.versioning[name]
                   for name in ('site', 'site_preference')})
        if task in ('sync', 'sharder', 'expirer'):
            options['internal_client_conf_path'] = self.layout.conf(
                'internal-client')
        if task == 'expirer':
            options.update(processes=self.spec.nodes, process=node - 1,
                           dequeue_from_legacy=True)
        return options

    def _pipelines(self) -> list[tuple[str, str]]:
        """Return the confs that have a proxy's pipeline, with it."""
        found = [('proxy-server', PIPELINE),
                 ('internal-client', INTERNAL_PIPELINE),
                 ('container-reconciler', INTERNAL_PIPELINE)]
        if 'object-expirer' in self.spec.options:
            found.append(('object-expirer', INTERNAL_PIPELINE))
        if self.spec.versioning:
            found[0] = ('proxy-server', PIPELINE.replace(
                ' symlink ', ' symlink versioning '))
            found.append(('versions-client', VERSIONS_PIPELINE))
        return found

    def _proxy(self, name: str, pipeline: str) -> Sections:
        spec, ip = self.spec, self.network.client_ip
        is_ours = spec.has_proar() or bool(spec.versioning)
        sections: Sections = {
            'DEFAULT': self._defaults(spec.port('proxy-server'), ip),
            'pipeline:main': {'pipeline': pipeline},
            'app:proxy-server': {
                'use': 'egg:%s#proxy' % (
                    'swift-lightsync' if is_ours else 'swift'),
                'log_name': name, 'account_autocreate': True,
                'allow_account_management': True},
            **{'proxy-server:policy:%d' % policy.index: {
                'primary_role_writes': True}
                for policy in spec.policies if policy.proar},
            **{'filter:' + each: {'use': 'egg:%s#%s' % (
                'swift-lightsync' if each in OURS else 'swift',
                ENTRY_POINTS.get(each, each))}
                for each in pipeline.split()[:-1]}}
        sections['filter:cache']['memcache_servers'] = '%s:%d' % (
            ip, spec.port('memcached'))
        if name in ('container-reconciler', 'object-expirer'):
            sections[name] = {'log_name': name}
        if name == 'proxy-server':
            for each, options in (
                    ('proxy-logging', {
                        'access_log_name': 'proxy-access',
                        'access_log_udp_host': ip,
                        'access_log_udp_port': spec.port('log-sink')}),
                    ('versioned_writes', {
                        'allow_versioned_writes': True,
                        'allow_object_versioning': not spec.versioning}),
                    ('versioning', spec.versioning), ('tempauth', USERS)):
                sections.get('filter:' + each, {}).update(options)
        return sections

    def _rsyncd(self, node: int) -> str:
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
