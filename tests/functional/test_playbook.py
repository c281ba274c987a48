# SPDX-License-Identifier: Apache-2.0
"""The playbook and the package on three Debian nodes with systemd, beside a
client: stock Swift, all systems, stock Swift. It needs root, the network,
systemd-nspawn, and some twenty minutes.
"""

import ctypes
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from functools import partial

import pytest

from tests.functional.served import ask
from tests.functional.test_deb import MIRROR
from tests.functional.traffic import Traffic
from tests.unit.packages.test_ansible import PLAYBOOK, have_ansible
from tools import REPO

CLONE_NEWNET = 0x40000000
WITH = 'adduser,curl,dbus,iproute2,memcached,procps,python3,rsync,' \
    'systemd,systemd-sysv'
NODES = 1, 2, 3
ADDRESS = '10.77.0.1%d'
PORTS = {'account': 6202, 'container': 6201, 'object': 6200, 'object-1': 6200}
DAEMONS = '''
    account-server account-replicator account-auditor account-reaper
    container-server container-replicator container-updater container-auditor
    object-server object-replicator object-updater object-auditor
    proxy-server'''.split()
#: An address for the one interface of a node.
NETWORK = '''\
[Match]
Name=host0
[Network]
Address=%s/24
'''
SWIFT = '''\
[swift-hash]
swift_hash_path_suffix = lab

[storage-policy:0]
name = gold
default = yes

[storage-policy:1]
name = small
'''
SERVER = '''\
[DEFAULT]
bind_ip = 0.0.0.0
bind_port = %(port)d
workers = 1
mount_check = false

[pipeline:main]
pipeline = healthcheck recon %(kind)s-server

[app:%(kind)s-server]
use = egg:swift#%(kind)s

[filter:healthcheck]
use = egg:swift#healthcheck

[filter:recon]
use = egg:swift#recon

[%(kind)s-replicator]
interval = 10

[%(kind)s-auditor]

[%(kind)s-updater]

[%(kind)s-reaper]
'''
FILTERS = ('catch_errors', 'gatekeeper', 'healthcheck', 'proxy-logging',
           'cache', 'tempauth', 'copy', 'slo', 'dlo', 'versioned_writes',
           'symlink')
PROXY = '''\
[DEFAULT]
bind_port = 8080
workers = 1

[pipeline:main]
pipeline = %s proxy-server

[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
''' % ' '.join(FILTERS)
MORE = {'tempauth': 'user_test_tester = testing .admin\n',
        'cache': 'memcache_servers = %s\n' % ','.join(
            ADDRESS % node + ':11211' for node in NODES)}
SYSTEMS = 'lightsync', 'losf', 'proar', 'versioning'


#: What Ansible takes for ssh: its last words are a host and a command.
ENTER = '''\
#!/bin/bash
exec nsenter -a -t $(cat "$(dirname "$0")/${@: -2:1}/leader") sh -c "${@: -1}"
'''


def stock():
    """Return the confs of each node, by name."""
    confs = {'swift.conf': SWIFT, 'proxy-server.conf': PROXY}
    for name in FILTERS:
        egg = {'cache': 'memcache'}.get(name, name.replace('-', '_'))
        confs['proxy-server.conf'] += \
            '\n[filter:%s]\nuse = egg:swift#%s\n' % (name, egg) + \
            MORE.get(name, '')
    for kind in 'account', 'container', 'object':
        confs[kind + '-server.conf'] = SERVER % {
            'kind': kind, 'port': PORTS[kind]}
    return confs


@pytest.mark.long
@unittest.skipUnless(
    os.geteuid() == 0 and shutil.which('debootstrap')
    and shutil.which('systemd-nspawn') and have_ansible(),
    'it needs root, debootstrap, systemd-nspawn and Ansible')
class TestPlaybook(unittest.TestCase):

    def setUp(self):
        self.place = self.enterContext(tempfile.TemporaryDirectory(
            dir='/var/tmp'))
        self.base = os.path.join(self.place, 'base')
        self.make_base()
        self.enter_network()
        for node in NODES:
            self.boot(node)
        self.write_inventory()
        for node in NODES:
            self.wait_for_proxy(node)

    def test_all_systems_come_and_go_beside_a_client(self):
        traffics = [self.traffic(node, policy) for node, policy in (
            (1, 'gold'), (2, 'small'))]
        with traffics[0].from_clients(1), traffics[1].from_clients(1):
            self.play(SYSTEMS)
            health = self.on(1, 'swift-lightsync-health', *(
                word for system in SYSTEMS[:3]
                for word in ('--expect', system)))
            self.assertIn('OK: all is well', health)
            # Ended while the object daemons of a node are stopped.
            self.play([], until='What came meanwhile is copied')
            self.play([])
        for node in NODES:
            for name, text in stock().items():
                self.assertEqual(
                    text.replace('[object-replicator]\ninterval = 10\n',
                                 '[object-replicator]\ninterval = 10\n'
                                 'sync_method = ssync\n'),
                    self.on(node, 'cat', '/etc/swift/' + name), name)
            self.assertEqual('', self.on(
                node, 'find', '/srv/node', '/var/cache/swift', '-regextype',
                'egrep', '-regex', r'.*/(changed\.pkl|lightsync.*|'
                r'proar.*|losf.*|versioning\.recon)'))
            self.assertEqual(sorted(
                'swift-%s.service' % each for each in DAEMONS),
                sorted(line.split()[0] for line in self.on(
                    node, 'systemctl', 'list-units', '--plain',
                    '--no-legend', 'swift-*').splitlines()))
        for traffic in traffics:
            self.assert_kept(traffic)

    def assert_kept(self, traffic):
        """Check that no request of a client failed, and that all is as it
        wrote it last.

        A POST may, with 503: while a node is away two are left, and they
        answer differently where one has missed the object's last deletion,
        until the replicators bring it. So it is with stock Swift whose nodes
        are away one after the other.
        """
        self.assertEqual({}, {
            key: number for key, number in traffic.counts().items()
            if key[1] not in (200, 201, 202, 204, 404)
            and key != ('POST', 503)})
        for name in traffic.names:
            writes = [each for each in traffic.requests if each.name == name
                      and each.verb in ('PUT', 'DELETE')]
            last = traffic.ask('GET', name)
            if writes:
                self.assertEqual(
                    (200, writes[-1].body) if writes[-1].verb == 'PUT'
                    else (404, None), (last.status, last.body), name)

    def make_base(self):
        """Install the package and stock confs into a Debian."""
        run = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL)
        run([os.path.join(REPO, 'tools', 'package'), 'deb', '--output',
             self.place])
        run(['debootstrap', '--variant=minbase', '--include=' + WITH,
             'bookworm', self.base, MIRROR])
        package, = pathlib.Path(self.place).glob('*.deb')
        shutil.copy(package, self.base)
        run(['chroot', self.base, 'dpkg', '-i', '/' + package.name])
        etc = os.path.join(self.base, 'etc/swift')
        for name, text in stock().items():
            self.write(os.path.join(etc, name), text)
        for name, port in PORTS.items():
            build = partial(run, cwd=etc)
            builder = name + '.builder'
            build(['swift-ring-builder', builder, 'create', '5', '3', '0'])
            for node in NODES:
                build(['swift-ring-builder', builder, 'add', 'r1z%d-%s:%d/d1'
                       % (node, ADDRESS % node, port), '1'])
            build(['swift-ring-builder', builder, 'rebalance'])
        modules = ''.join(
            '[%s]\npath = /srv/node\nread only = false\n' % kind
            for kind in ('account', 'container', 'object'))
        self.write(os.path.join(self.base, 'etc/rsyncd.conf'),
                   'uid = swift\ngid = swift\n' + modules)
        self.write(os.path.join(self.base, 'etc/memcached.conf'),
                   '-u memcache\n-l 0.0.0.0\n')
        run(['chroot', self.base, 'systemctl', 'enable', 'systemd-networkd',
             'memcached', 'rsync', *('swift-' + each for each in DAEMONS)],
            stderr=subprocess.DEVNULL)

    def enter_network(self):
        """Go on in a network namespace that has nothing but a bridge."""
        libc = ctypes.CDLL(None, use_errno=True)
        before = os.open('/proc/thread-self/ns/net', os.O_RDONLY)
        self.addCleanup(os.close, before)
        self.assertEqual(0, libc.unshare(CLONE_NEWNET))
        self.addCleanup(libc.setns, before, CLONE_NEWNET)
        for command in ('link set lo up', 'link add name lab type bridge',
                        'addr add 10.77.0.1/24 dev lab', 'link set lab up'):
            subprocess.run(['ip', *command.split()], check=True)

    def boot(self, node):
        """Boot a node whose disks are its own."""
        place = os.path.join(self.place, 'n%d' % node)
        paths = {name: os.path.join(place, name)
                 for name in ('upper', 'work', 'root')}
        for path in paths.values():
            os.makedirs(path)
        subprocess.run([
            'mount', '-t', 'overlay', 'overlay', '-o',
            'lowerdir=%s,upperdir=%s,workdir=%s' % (
                self.base, paths['upper'], paths['work']), paths['root']],
            check=True)
        self.addCleanup(subprocess.run, ['umount', paths['root']])
        self.write(paths['root'] + '/etc/systemd/network/10-host0.network',
                   NETWORK % (ADDRESS % node))
        # On the disk of the machine, for an overlay has no files without name.
        disk = os.path.join(place, 'd1')
        os.makedirs(disk)
        owner = os.stat(os.path.join(self.base, 'var/cache/swift'))
        os.chown(disk, owner.st_uid, owner.st_gid)
        with open(os.path.join(place, 'console'), 'w') as console:
            machine = subprocess.Popen(
                ['systemd-nspawn', '-q', '-b', '-D', paths['root'],
                 '--machine=n%d' % node, '--register=no', '--keep-unit',
                 '--network-bridge=lab', '--resolv-conf=off',
                 '--bind=%s:/srv/node/d1' % disk],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console)
        self.addCleanup(machine.wait, 60)
        self.addCleanup(machine.terminate)
        children = '/proc/%d/task/%d/children' % (machine.pid, machine.pid)
        leader, = self.wait(
            lambda: pathlib.Path(children).read_text().split(), 30)
        self.write(os.path.join(place, 'leader'), leader)

    def write_inventory(self):
        enter = os.path.join(self.place, 'enter')
        self.write(enter, ENTER)
        os.chmod(enter, 0o755)
        self.inventory = os.path.join(self.place, 'hosts.json')
        nodes = {'n%d' % node: {} for node in NODES}
        self.write(self.inventory, json.dumps({'all': {
            'vars': {
                'ansible_ssh_executable': enter,
                'ansible_ssh_transfer_method': 'piped',
                'ansible_python_interpreter': '/usr/bin/python3',
                'losf_policies': [1], 'proar_policies': [0],
                'conversion': '--no-mount-check',
                'sites': {'site': 'rome', 'site_preference': 'rome'}},
            'children': {group: {'hosts': nodes} for group in (
                'swift_storage', 'swift_proxy')}}}))

    def wait_for_proxy(self, node):
        def is_there():
            try:
                return ask(
                    (ADDRESS % node, 8080), 'GET', '/auth/v1.0', headers={
                        'X-Auth-User': 'test:tester',
                        'X-Auth-Key': 'testing'}).headers['x-auth-token']
            except (OSError, KeyError):
                return None
        self.token = self.wait(is_there, 120)

    def traffic(self, node, policy):
        address, path = (ADDRESS % node, 8080), '/v1/AUTH_test/' + policy
        self.wait(lambda: ask(address, 'PUT', path, headers={
            'X-Auth-Token': self.token, 'X-Storage-Policy': policy
            }).status // 100 == 2, 60)
        return Traffic(address, path, self.token,
                       ['o%d' % number for number in range(100)], seed=1)

    def play(self, systems, until=None):
        """Play the book, or until it says something, when it is killed."""
        player = subprocess.Popen(
            ['ansible-playbook', '-i', self.inventory, PLAYBOOK, '-e',
             json.dumps({'systems': list(systems), 'no_versions': True})],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True)
        said = []
        with player:
            for line in player.stdout:
                said.append(line)
                if until and until in line:
                    time.sleep(1)
                    os.killpg(player.pid, signal.SIGKILL)
                    return
        self.assertIsNone(until, 'it was not said')
        self.assertEqual(0, player.returncode, ''.join(said))

    def on(self, node, *command):
        """Run a command on a node, and return its output."""
        return subprocess.run(
            [os.path.join(self.place, 'enter'), 'n%d' % node,
             shlex.join(command)], check=True, stdout=subprocess.PIPE,
            text=True).stdout

    def wait(self, is_so, seconds):
        deadline = time.monotonic() + seconds
        while not (found := is_so()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.2)
        return found

    @staticmethod
    def write(path, text):
        with open(path, 'w') as file:
            file.write(text)
