# SPDX-License-Identifier: Apache-2.0
"""A Keystone of its own: from PyPI, with SQLite and Fernet, on 127.0.0.1.

KEYSTONE_VENV may name a virtual environment that has keystone and waitress
already; without it one is made, which takes minutes and the package index.
"""

import grp
import json
import os
import pwd
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

from tests.waiting import wait_for

PASSWORD = 'a password of the tests'
REGION = 'here'
#: Seconds for it to install, to set up its database, to answer.
INSTALLING, STARTING = 1200, 300
CONF = '''[DEFAULT]
log_file = {root}/keystone.log
[database]
connection = sqlite:///{root}/keystone.db
[token]
provider = fernet
expiration = {expiration}
[fernet_tokens]
key_repository = {root}/tokens
[fernet_receipts]
key_repository = {root}/receipts
[credential]
key_repository = {root}/credentials
[cache]
enabled = false
[identity]
password_hash_rounds = 4
'''
# Keystone reads sys.argv.
SERVE = '''
import sys
port = int(sys.argv.pop())
from keystone.wsgi.api import application
import waitress
waitress.serve(application, host='127.0.0.1', port=port)
'''


class Keystone:
    """:param root: a directory for all that it writes
    :param expiration: seconds that its tokens are good for
    """

    def __init__(self, root, expiration):
        self._root = root
        self._expiration = expiration
        self._venv = os.environ.get('KEYSTONE_VENV') or self._path('venv')
        self._process = None
        with socket.create_server(('127.0.0.1', 0)) as free:
            self.url = 'http://127.0.0.1:%d' % free.getsockname()[1]

    def _path(self, name):
        return os.path.join(self._root, name)

    def _run(self, name, *arguments, seconds=STARTING):
        done = subprocess.run(
            [os.path.join(self._venv, 'bin', name), *arguments], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=seconds, cwd=self._root)
        if done.returncode:
            raise AssertionError('%s: %s' % (name, done.stdout[-2000:]))

    def start(self):
        """Install it, if need be, and serve it."""
        if not os.path.exists(self._venv):
            subprocess.run([sys.executable, '-m', 'venv', self._venv],
                           check=True, timeout=INSTALLING)
            self._run('pip', 'install', '-q', 'keystone', 'waitress',
                      seconds=INSTALLING)
        with open(self._path('keystone.conf'), 'w') as conf:
            conf.write(CONF.format(root=self._root,
                                   expiration=self._expiration))
        os.mkdir(self._path('tokens'), 0o700)
        for command in (
                ['db_sync'],
                ['fernet_setup', '--keystone-user',
                 pwd.getpwuid(os.geteuid()).pw_name, '--keystone-group',
                 grp.getgrgid(os.getegid()).gr_name],
                ['bootstrap', '--bootstrap-password', PASSWORD,
                 '--bootstrap-public-url', self.url + '/v3',
                 '--bootstrap-internal-url', self.url + '/v3',
                 '--bootstrap-region-id', REGION]):
            self._run('keystone-manage', '--config-file',
                      self._path('keystone.conf'), *command)
        self._serve()

    def _serve(self):
        log = self._path('waitress.log')
        with open(log, 'w') as output:
            self._process = subprocess.Popen(
                [os.path.join(self._venv, 'bin', 'python'), '-c', SERVE,
                 self.url.rpartition(':')[2]], cwd=self._root,
                env={**os.environ, 'OS_KEYSTONE_CONFIG_DIR': self._root},
                stdout=output, stderr=output)

        def answers():
            if self._process.poll() is not None:
                with open(log) as text:
                    raise AssertionError('keystone: ' + text.read()[-2000:])
            try:
                return self._ask('GET', '/v3')
            except urllib.error.URLError:
                return None
        wait_for(answers, 'keystone answers', STARTING, pause=0.2)

    def stop(self):
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(STARTING)

    def _ask(self, method, path, body=None, token=None):
        """:returns: (headers, parsed body)"""
        headers = {'Content-Type': 'application/json'}
        if token:
            headers['X-Auth-Token'] = token
        request = urllib.request.Request(
            self.url + path, body and json.dumps(body).encode(), headers,
            method=method)
        with urllib.request.urlopen(request, timeout=STARTING) as answer:
            return answer.headers, json.loads(answer.read() or b'null')

    def token(self, user='admin', password=PASSWORD, project='admin',
              domain='default'):
        """:returns: one for a project; both names are of the domain's id"""
        headers, _ = self._ask('POST', '/v3/auth/tokens', {'auth': {
            'identity': {'methods': ['password'], 'password': {'user': {
                'name': user, 'password': password,
                'domain': {'id': domain}}}},
            'scope': {'project': {'name': project,
                                  'domain': {'id': domain}}}}})
        return headers['X-Subject-Token']

    def create(self, kind, **fields):
        """:returns: the id of a new domain, user, ..."""
        # Tokens live for seconds: another each time.
        _, found = self._ask('POST', '/v3/%ss' % kind, {kind: fields},
                             self.token())
        return found[kind]['id']

    def member(self, name, password, project, domain='default'):
        """Make a user and a project in which it is a member.

        :param domain: the id of the domain of both
        :returns: the id of the project
        """
        place = self.create('project', name=project, domain_id=domain)
        user = self.create('user', name=name, password=password,
                           domain_id=domain)
        _, found = self._ask('GET', '/v3/roles?name=member',
                             token=self.token())
        self._ask('PUT', '/v3/projects/%s/users/%s/roles/%s' % (
            place, user, found['roles'][0]['id']), token=self.token())
        return place
