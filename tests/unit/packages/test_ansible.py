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
#: of the object-server, the replicator and the reconstructor
CONF = '''\
%s[pipeline:main]
pipeline = healthcheck%s recon object-server
[app:object-server]
use = egg:swift%s#object
[object-replicator]
%sconcurrency = 2
[object-reconstructor]
%sconcurrency = 2
[object-auditor]
'''
FILTER = '[filter:lightsync-recon]\nuse = egg:swift-lightsync#recon\n\n'
OURS = FILTER, ' lightsync-recon', '-lightsync'
STOCK = CONF % ('', '', '', '', '')
REPLICATOR = 'replicator_class = egg:swift-lightsync#lightsync\n'
RECONSTRUCTOR = 'reconstructor_class = egg:swift-lightsync#lightsync-ec\n'
REPLICATED = '[storage-policy:0]\nname = gold\n'
CODED = REPLICATED + '[storage-policy:1]\npolicy_type = erasure_coding\n'


@unittest.skipUnless(shutil.which('ansible-playbook'), 'needs ansible-core')
class TestPlaybook(unittest.TestCase):

    def test_it_adds_lightsync_and_takes_it_away(self):
        for policies, ours in (
                (REPLICATED, CONF % (*OURS, REPLICATOR, '')),
                (CODED, CONF % (*OURS, REPLICATOR, RECONSTRUCTOR))):
            self.play(policies, STOCK, ('present', ours), ('present', ours),
                      ('absent', STOCK), ('absent', STOCK))

    def test_a_line_that_is_somewhere_in_its_section_is_left_there(self):
        own = CONF % (*OURS, REPLICATOR, '') + \
            'concurrency = 1\n'
        own = own.replace('[object-auditor]', RECONSTRUCTOR +
                          '[object-auditor]')
        self.play(CODED, own, ('present', own))

    def test_a_section_that_is_missing_is_not_made(self):
        own = FILTER + \
            '[app:object-server]\nuse = egg:swift-lightsync#object\n'
        self.play(CODED, own, ('present', own))

    def play(self, policies, before, *steps):
        """Play the book on confs; each step has a state and what comes of it.
        """
        with TemporaryDirectory() as place:
            path = os.path.join(place, 'object-server.conf')
            with open(path, 'w') as conf:
                conf.write(before)
            with open(os.path.join(place, 'swift.conf'), 'w') as conf:
                conf.write(policies)
            hosts = os.path.join(place, 'hosts')
            with open(hosts, 'w') as text:
                text.write('[swift_storage]\nlocalhost '
                           'ansible_connection=local '
                           'ansible_python_interpreter=%s\n'
                           % sys.executable)
            for state, wanted in steps:
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
