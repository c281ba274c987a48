# SPDX-License-Identifier: Apache-2.0
"""The playbook, on a conf of this machine, there and back."""

import os
import shutil
import subprocess
import sys
import unittest
from tempfile import TemporaryDirectory

from tools import REPO

PLAYBOOK = os.path.join(REPO, 'tools', 'packages', 'ansible', 'lightsync.yml')
STOCK = '''\
[app:object-server]
use = egg:swift#object
[object-replicator]
concurrency = 2
'''
OURS = '''\
[app:object-server]
use = egg:swift-lightsync#object
[object-replicator]
replicator_class = egg:swift-lightsync#lightsync
concurrency = 2
'''


@unittest.skipUnless(shutil.which('ansible-playbook'), 'needs ansible-core')
class TestPlaybook(unittest.TestCase):

    def test_it_adds_lightsync_and_takes_it_away(self):
        with TemporaryDirectory() as place:
            path = os.path.join(place, 'object-server.conf')
            with open(path, 'w') as conf:
                conf.write(STOCK)
            hosts = os.path.join(place, 'hosts')
            with open(hosts, 'w') as text:
                text.write('[swift_storage]\nlocalhost '
                           'ansible_connection=local '
                           'ansible_python_interpreter=%s\n'
                           % sys.executable)
            for state, wanted in (('present', OURS), ('present', OURS),
                                  ('absent', STOCK), ('absent', STOCK)):
                done = subprocess.run([
                    'ansible-playbook', '-i', hosts, PLAYBOOK, '-e',
                    '{"state": "%s", "swift_dir": "%s", "restart": false, '
                    '"as_root": false}' % (state, place)],
                    capture_output=True, text=True,
                    env={key: value for key, value in os.environ.items()
                         if key != 'PYTHONPATH'})
                self.assertEqual(0, done.returncode,
                                 done.stdout + done.stderr)
                with open(path) as conf:
                    self.assertEqual(wanted, conf.read())
