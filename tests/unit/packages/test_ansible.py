# SPDX-License-Identifier: Apache-2.0
"""The playbook, on a conf of this machine, there and back."""

import json
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
#: Stands in for systemd: tells when units began, and notes what is told.
SYSTEMCTL = '''\
#!/bin/sh
cd "$(dirname "$0")"
case "$*" in
    *ActiveEnterTimestamp*) cat began ;;
    show*) echo LoadState=loaded; echo ActiveState=active ;;
    restart*) echo "$2" >> told; date -u '+%F %T.%N UTC' > began ;;
esac
'''
#: What the replicator keeps beside the objects, and what is not its own.
KEPT = ('disks/d1/objects/7/changed.pkl', 'disks/d1/objects-1/8/changed.pkl',
        'disks/d1/lightsync.journal', 'cache/lightsync.recon')
OTHERS = 'disks/d1/objects/7/hashes.pkl', 'cache/object.recon'


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

    def test_a_check_shows_the_lines_and_changes_nothing(self):
        for policies in (REPLICATED, CODED):
            with TemporaryDirectory() as place:
                self.install(place)
                shown = self.play(
                    policies, STOCK, ('present', STOCK), place=place,
                    values={'restart': True}, more=('--check', '--diff'))
                self.assertIn('+' + REPLICATOR, shown)
                self.assertEqual(policies == CODED,
                                 '+' + RECONSTRUCTOR in shown)
                self.assertEqual([], self.told(place))

    def test_what_runs_with_an_older_conf_is_restarted_once(self):
        ours = CONF % (*OURS, REPLICATOR, '')
        # as a play leaves it that ended after it wrote the conf
        with TemporaryDirectory() as place:
            self.install(place)
            for told in (['swift-object-server', 'swift-object-replicator'],
                         []):
                self.play(REPLICATED, ours, ('present', ours), place=place,
                          values={'restart': True})
                self.assertEqual(told, self.told(place))

    def test_what_it_kept_goes_with_it(self):
        with TemporaryDirectory() as place:
            self.install(place)
            for name in KEPT + OTHERS:
                path = os.path.join(place, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                open(path, 'w').close()
            self.play(REPLICATED, CONF % (*OURS, REPLICATOR, ''),
                      ('absent', STOCK), place=place,
                      values={'restart': True})
            self.assertEqual(list(OTHERS), [
                name for name in KEPT + OTHERS
                if os.path.exists(os.path.join(place, name))])

    def install(self, place):
        """Put a systemctl whose units began long ago into a place, and a
        health command that says all is well.
        """
        for name, text in (('systemctl', SYSTEMCTL),
                           ('swift-lightsync-health', '#!/bin/sh\n')):
            path = os.path.join(place, name)
            with open(path, 'w') as command:
                command.write(text)
            os.chmod(path, 0o755)
        with open(os.path.join(place, 'began'), 'w') as began:
            began.write('2001-01-01 UTC')

    def told(self, place):
        """Return the units that were restarted since this was last asked."""
        path = os.path.join(place, 'told')
        if not os.path.exists(path):
            return []
        with open(path) as told:
            units = told.read().split()
        os.remove(path)
        return units

    def play(self, policies, before, *steps, place=None, values=(), more=()):
        """Play the book on confs; each step has a state and what comes of it.

        :returns: what the last play said
        """
        if place is None:
            with TemporaryDirectory() as place:
                return self.play(policies, before, *steps, place=place,
                                 values=values, more=more)
        path = os.path.join(place, 'object-server.conf')
        if not os.path.exists(path):
            with open(path, 'w') as conf:
                conf.write(before)
        with open(os.path.join(place, 'swift.conf'), 'w') as conf:
            conf.write(policies)
        hosts = os.path.join(place, 'hosts')
        with open(hosts, 'w') as text:
            text.write('[swift_storage]\nlocalhost '
                       'ansible_connection=local '
                       'ansible_python_interpreter=%s\n' % sys.executable)
        environment = dict(os.environ, PATH=place + ':' + os.environ['PATH'])
        environment.pop('PYTHONPATH', None)
        for state, wanted in steps:
            done = subprocess.run([
                'ansible-playbook', '-i', hosts, PLAYBOOK, *more, '-e',
                json.dumps({
                    'state': state, 'swift_dir': place, 'as_root': False,
                    'devices': os.path.join(place, 'disks'),
                    'cache': os.path.join(place, 'cache'),
                    'restart': False, **dict(values)})],
                capture_output=True, text=True, env=environment)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            with open(path) as conf:
                self.assertEqual(wanted, conf.read())
        return done.stdout
