# SPDX-License-Identifier: Apache-2.0
"""Real daemons of a node without rings of accounts: their log is read."""

import contextlib
import os
import pwd
import socket
import subprocess
import sys
import tempfile
import unittest

from swift.common.ring import RingBuilder

_SWIFT_CONF = """
[swift-hash]
swift_hash_path_suffix = refusal
[storage-policy:0]
name = small
default = yes
diskfile_module = egg:swift-lightsync#replication.kv
[storage-policy:1]
name = ec
policy_type = erasure_coding
ec_type = liberasurecode_rs_vand
ec_num_data_fragments = 2
ec_num_parity_fragments = 1
diskfile_module = egg:swift-lightsync#erasure_coding.kv
"""
_SERVER_CONF = """
[DEFAULT]
devices = {root}/devices
mount_check = false
bind_port = 1
swift_dir = {root}
user = {user}
log_udp_host = 127.0.0.1
log_udp_port = {port}
recon_cache_path = {root}
interval = 1
losf_index_timeout = 1
[pipeline:main]
pipeline = object-server
[app:object-server]
use = egg:swift#object
[object-replicator]
sync_method = {sync_method}
[object-reconstructor]
[object-auditor]
watchers = {watchers}
[object-converger]
[object-relinker]
"""
#: runs a daemon
_RUN = """
import sys
from swift.common import utils
utils.SWIFT_CONF_FILE = sys.argv.pop(1)
{first}
{call}
"""
#: daemon -> (what runs it, its arguments besides the configuration)
DAEMONS = {
    'object-server': (
        'from swift.common.wsgi import run_wsgi\n'
        'sys.exit(run_wsgi(sys.argv[1], "object-server"))', ()),
    'replicator': ('from swift.obj.replicator import main; main()',
                   ('once',)),
    'lightsync': ('from swift_lightsync.sync.replicator import main; main()',
                  ('once',)),
    'reconstructor': ('from swift.obj.reconstructor import main; main()',
                      ('once',)),
    'auditor': ('from swift.obj.auditor import main; main()', ()),
    'auditor once': ('from swift.obj.auditor import main; main()',
                     ('once',)),
    'auditor -z': ('from swift.obj.auditor import main; main()',
                   ('-z', '1')),
    'converger': (
        'from swift_lightsync.proar.converger.daemon import main; main()',
        ('once',)),
    **{'relinker ' + step: (
        'from swift.cli.relinker import main\n'
        'sys.argv.insert(1, "%s"); sys.exit(main())' % step, ())
       for step in ('relink', 'cleanup')},
}
DEVICES = 'd0', 'd1', 'd2'


class DaemonTest(unittest.TestCase):
    """A node with a ring, whose daemons log to a socket of the test."""

    part_power = 1
    sync_method = 'rsync'
    watchers = ''

    def setUp(self):
        self.root = self.enterContext(
            tempfile.TemporaryDirectory(prefix='kv', dir='/tmp'))
        for device in DEVICES:
            os.makedirs(self.device(device))
        self.swift_conf = self.write('swift.conf', _SWIFT_CONF)
        self.log = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.log.close)
        self.log.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2 ** 22)
        self.log.bind(('127.0.0.1', 0))
        self.log.setblocking(False)
        self.conf = self.write('object-server.conf', _SERVER_CONF.format(
            root=self.root, port=self.log.getsockname()[1],
            user=pwd.getpwuid(os.geteuid()).pw_name,
            sync_method=self.sync_method, watchers=self.watchers))
        builder = self.builder = RingBuilder(self.part_power, 3, 0)
        for number, device in enumerate(DEVICES):
            builder.add_dev({'id': number, 'region': 0, 'zone': number,
                             'weight': 1, 'ip': '127.0.0.1', 'port': 1,
                             'device': device})
        builder.rebalance()
        self.save_rings()

    def save_rings(self):
        # A builder keeps the ring that it has made before.
        ring = RingBuilder.from_dict(self.builder.to_dict()).get_ring()
        for name in ('object', 'object-1'):
            ring.save(os.path.join(self.root, name + '.ring.gz'))

    def device(self, name):
        return os.path.join(self.root, 'devices', name)

    def write(self, name, text):
        path = os.path.join(self.root, name)
        with open(path, 'w') as file:
            file.write(text)
        return path

    def run_daemon(self, name, first=''):
        """Run a daemon until it ends.

        :param name: of DAEMONS
        :param first: Python statements that it begins with
        """
        call, arguments = DAEMONS[name]
        return subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', _RUN.format(
                first=first, call=call), self.swift_conf, self.conf,
             *arguments], capture_output=True, text=True, timeout=300)

    def logged(self):
        """Return the lines that came by now."""
        lines = []
        with contextlib.suppress(BlockingIOError):
            while True:
                lines.append(self.log.recv(2 ** 16).decode().rstrip('\0'))
        return lines
