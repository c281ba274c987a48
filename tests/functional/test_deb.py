# SPDX-License-Identifier: Apache-2.0
"""The Debian package in a Debian that has nothing else: what it brings runs,
and goes again. It needs root, the network, and some three minutes.
"""

import glob
import os
import shutil
import subprocess
import tempfile
import unittest

import pytest

from tools import REPO

MIRROR = 'http://deb.debian.org/debian'
WITH = 'python3,adduser,procps,rsync,systemd'
CONF = '''\
[DEFAULT]
devices = /srv/node
mount_check = false
bind_ip = 127.0.0.9
bind_port = 6999
log_address = /nowhere
[pipeline:main]
pipeline = healthcheck lightsync-recon recon object-server
[app:object-server]
use = egg:swift-lightsync#object
[object-losf]
[filter:healthcheck]
use = egg:swift#healthcheck
[filter:recon]
use = egg:swift-lightsync#losf-recon
[filter:lightsync-recon]
use = egg:swift-lightsync#recon
'''
#: Starts the installed object-server, and asks it how it is. It has a process
#: group of its own: when it is told to end it tells all of its group, which
#: no namespace of process ids bounds.
PLAY = '''\
cd /etc/swift
swift-ring-builder object.builder create 4 1 0
swift-ring-builder object.builder add r1z1-127.0.0.9:6999/d1 1
swift-ring-builder object.builder rebalance
install -d -o swift -g swift /srv/node/d1
setsid swift-object-server /etc/swift/object-server.conf >/tmp/log 2>&1 &
server=$!
for each in $(seq 120); do
    sleep 1
    python3 - <<'END' && break
import urllib.request
print(urllib.request.urlopen(
    'http://127.0.0.9:6999/recon/swift-lightsync').read().decode())
END
done
kill $server
wait $server || :
cat /tmp/log >&2
'''
#: Starts what a unit starts, as its user, and has root mend what it serves.
UNPRIVILEGED = '''\
set -e
unit() {
    setsid setpriv --reuid swift --regid swift --init-groups -- $(
        sed -n 's/^ExecStart=//p' /lib/systemd/system/swift-$1.service) &
    for each in $(seq 120); do sleep 1; ! swift-losf-status || return 0; done
}
unit object-losf
kill $!
wait $! || :
swift-losf-fsck rebuild /srv/node/d1 --no-mount-check
unit object-losf
swift-losf-status
kill $!
wait $! || :
find /srv/node/d1 /var/cache/swift ! -user swift -exec echo foreign {} +
'''


@pytest.mark.long
@unittest.skipUnless(os.geteuid() == 0 and shutil.which('debootstrap'),
                     'it needs root and debootstrap')
class TestDeb(unittest.TestCase):

    def setUp(self):
        self.place = self.enterContext(tempfile.TemporaryDirectory())
        self.root = os.path.join(self.place, 'root')

    def run_in(self, script, check=True):
        return subprocess.run(
            ['unshare', '-m', '-p', '-f', '--mount-proc=%s/proc' % self.root,
             'chroot', self.root, 'sh', '-c', script], check=check,
            capture_output=True, text=True, timeout=300,
            env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'LC_ALL': 'C'})

    def test_it_is_installed_runs_and_leaves_nothing_but_data(self):
        subprocess.run([os.path.join(REPO, 'tools', 'package'), 'deb',
                        '--output', self.place], check=True)
        subprocess.run(['debootstrap', '--variant=minbase',
                        '--include=' + WITH, 'bookworm', self.root, MIRROR],
                       check=True, stdout=subprocess.DEVNULL)
        package, = [name for name in os.listdir(self.place)
                    if name.endswith('.deb')]
        shutil.copy(os.path.join(self.place, package), self.root)
        self.run_in('dpkg -i /' + package)
        for command in ('swift-lightsync-health', 'swift-object-converger',
                        'swift-losf-fsck', 'cosbench', 'swift-init',
                        'swift-object-losf', 'swift-object-replicator'):
            self.run_in(command + ' --help')
        self.assertIn('Applied.', self.run_in(
            'swift-lightsync-patch check').stdout)
        verified = self.run_in(
            'systemd-analyze verify /lib/systemd/system/swift-*.service',
            check=False)
        self.assertEqual('', verified.stderr)
        etc = os.path.join(self.root, 'etc', 'swift')
        for name, text in (('object-server.conf', CONF), (
                'swift.conf', '[swift-hash]\nswift_hash_path_suffix = x\n'
                '[storage-policy:0]\nname = small\ndefault = yes\n'
                'diskfile_module = egg:swift-lightsync#replication.kv\n')):
            with open(os.path.join(etc, name), 'w') as conf:
                conf.write(text)
        # Swift's logs go there where there is no /dev/log.
        with open(os.path.join(self.root, 'etc', 'hosts'), 'w') as hosts:
            hosts.write('127.0.0.1 localhost\n')
        found = self.run_in(PLAY, check=False)
        self.assertIn('"unpatched": []', found.stdout, found.stderr)
        served = self.run_in(UNPRIVILEGED)
        self.assertNotIn('foreign', served.stdout)
        self.run_in('systemctl enable swift-object-server')
        self.run_in('dpkg -r swift-lightsync')
        self.assertEqual([], glob.glob(
            self.root + '/etc/systemd/system/*/swift-*'))
        self.assertEqual('', self.run_in(
            'ls -d /usr/bin/swift* /usr/lib/swift-lightsync '
            '/lib/systemd/system/swift-* 2>/dev/null', check=False).stdout)
        self.assertTrue(os.path.exists(os.path.join(
            etc, 'object-server.conf')))
