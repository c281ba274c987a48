# SPDX-License-Identifier: Apache-2.0
"""Daemons refuse a Swift without the patches, all alike: real processes."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from swift.common.ring import RingBuilder

SWIFT_CONF = """
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
SERVER_CONF = """
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
[pipeline:main]
pipeline = object-server
[app:object-server]
use = egg:swift#object
[object-replicator]
[object-reconstructor]
[object-auditor]
watchers = swift#dark_data
[object-converger]
[object-relinker]
"""
#: runs a daemon with a Swift that lacks something of the patches
UNPATCHED = """
import sys
from swift.common import exceptions, utils
utils.SWIFT_CONF_FILE = sys.argv.pop(1)
from swift.obj import auditor, diskfile
from swift.obj.watchers import dark_data
del {owner}.{hook}
{call}
"""
MANAGER = 'diskfile.BaseDiskFileManager'
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
    'relinker': ('from swift.cli.relinker import main\n'
                 'sys.argv.insert(1, "relink"); sys.exit(main())', ()),
}


class TestRefusal(unittest.TestCase):

    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        os.mkdir(os.path.join(self.root, 'devices'))
        self.swift_conf = self.write('swift.conf', SWIFT_CONF)
        self.log = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.log.close)
        self.log.bind(('127.0.0.1', 0))
        self.log.setblocking(False)
        self.conf = self.write('object-server.conf', SERVER_CONF.format(
            root=self.root, port=self.log.getsockname()[1],
            user=pwd.getpwuid(os.geteuid()).pw_name))
        builder = RingBuilder(1, 3, 0)
        for number in range(3):
            builder.add_dev({'id': number, 'region': 0, 'zone': number,
                             'weight': 1, 'ip': '127.0.0.1', 'port': 1,
                             'device': 'd%d' % number})
        builder.rebalance()
        builder.prepare_increase_partition_power()
        for name in ('object', 'object-1'):
            builder.get_ring().save(os.path.join(
                self.root, name + '.ring.gz'))

    def write(self, name, text):
        path = os.path.join(self.root, name)
        with open(path, 'w') as file:
            file.write(text)
        return path

    def check(self, name, hook, owner=MANAGER):
        call, arguments = DAEMONS[name]
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', UNPATCHED.format(
                owner=owner, hook=hook, call=call), self.swift_conf, self.conf,
             *arguments], capture_output=True, text=True, timeout=300)
        self.assertIn(done.returncode, (1, -signal.SIGUSR2), done.stderr)
        line = ('Swift lacks what objects in volumes need (%s): '
                'run swift-lightsync-patch apply' % hook)
        # Of an auditor that has begun, the log is all that is to be seen.
        self.assertLessEqual(set(done.stderr.strip().splitlines()), {line})
        errors = [each for each in self.logged() if 'Starting' not in each]
        self.assertTrue(errors)
        self.assertEqual([], [each for each in errors if not
                              each.rstrip('\0').endswith(line)])

    def logged(self):
        """Return the lines that came by now."""
        lines = []
        with contextlib.suppress(BlockingIOError):
            while True:
                lines.append(self.log.recv(2 ** 16).decode())
        return lines

    def test_each_daemon_says_what_to_do_and_ends(self):
        for name in DAEMONS:
            with self.subTest(name):
                self.check(name, 'list_dir')

    def test_fragments_need_one_more_patch(self):
        self.check('reconstructor', 'rename_file')

    def test_watchers_need_one_more_patch(self):
        self.check('auditor', 'DeleteRequest', 'exceptions')


if __name__ == '__main__':
    unittest.main()
