# SPDX-License-Identifier: Apache-2.0
"""``cosbench``: what it needs to answer, and what it says of what is missing.
"""

import argparse
import subprocess
import sys

from cosbench.commands.cli import COMMANDS
from cosbench.commands.common_arguments import check_listener
from tests.unit.cosbench.directory_case import DirectoryCase
from tests.unit.cosbench.documents import work, wrapped
from tests.unit.cosbench.processes import DEADLINE, cosbench, environment

#: Runs the command line where some modules are not installed.
HIDING = '''
import sys
class Hiding:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in sys.argv[1].split(','):
            return None
        return self.finder.find_spec(name, path, target)
sys.meta_path[:] = map(Hiding, sys.meta_path)
from cosbench.commands.cli import main
status = main(sys.argv[2:])
assert not set(sys.argv[1].split(',')) & set(sys.modules)
sys.exit(status)
'''
ALL = 'aiohttp,hdrh,uvloop'


def without(modules, *arguments):
    """Run a command where modules are not installed.

    :param modules: their names, with commas between
    :returns: exit status, stdout, stderr
    """
    done = subprocess.run(
        [sys.executable, '-c', HIDING, modules, *arguments],
        env=environment(), capture_output=True, text=True, timeout=DEADLINE)
    return done.returncode, done.stdout, done.stderr


class TestMissingLibraries(DirectoryCase):

    def setUp(self):
        super().setUp()
        self.workload = self.put('w.xml', wrapped(work(
            attributes='workers="1" totalOps="1"')))
        self.run_it = ('run', self.workload, '--quiet', '--archive',
                       self.path('archive'))

    def test_a_command_names_the_one_that_it_needs_and_how_to_get_it(self):
        for modules, missing, arguments in (
                ('aiohttp', 'aiohttp', ('driver',)),
                ('aiohttp', 'aiohttp', ('controller', '--driver',
                                        'http://127.0.0.1:1')),
                ('aiohttp', 'aiohttp', self.run_it),
                ('aiohttp', 'aiohttp', ('ramp', self.workload)),
                ('hdrh', 'hdrh', ('compare', 'a', 'b')),
                (ALL, 'hdrh, aiohttp', self.run_it)):
            self.assertEqual(
                (1, '', 'cosbench: %s is not installed: pip install '
                 "'swift-lightsync[cosbench]'\n" % missing),
                without(modules, *arguments))

    def test_what_needs_none_of_them_does_without(self):
        status, said, _ = without(ALL, 'validate', self.workload)
        self.assertEqual((0, self.workload + ': ok: n: '),
                         (status, said[:len(self.workload) + 9]))
        status, said, _ = without(ALL, '--help')
        self.assertEqual(0, status)
        for command in COMMANDS:
            self.assertIn('\n    %s ' % command, said.replace('\n ', ' \n '))
        status, _, said = without(ALL, 'info', '--controller',
                                  'http://127.0.0.1:1')
        self.assertEqual(1, status)
        self.assertIn('no answer from http://127.0.0.1:1', said)

    def test_a_faster_event_loop_is_used_where_there_is_one(self):
        # Its drivers, which are other processes, have it.
        status, _, said = without('uvloop', *self.run_it)
        self.assertEqual((0, 1), (status, len(said.splitlines())))


class TestListeners(DirectoryCase):

    def test_other_hosts_are_served_in_the_clear_only_if_asked_for(self):
        secret = self.put('secret', 'x' * 32)
        for command in (('driver', '--secret-file', secret), (
                'controller', '--driver', 'http://127.0.0.1:1',
                '--secret-file', secret, '--token-file', secret,
                '--archive', self.path('archive'))):
            for host in ('0.0.0.0', '::', '192.0.2.7', 'example.org'):
                done = cosbench(*command, '--host', host)
                self.assertEqual(2, done.returncode)
                self.assertRegex(done.stderr, "--host='%s': must be an "
                                 'address of this host.*--insecure' % host)

    def test_what_is_asked_for_is_served(self):
        args = argparse.Namespace(host='0.0.0.0', tls_cert=None,
                                  insecure=True)
        check_listener(args)
        check_listener(argparse.Namespace(
            host='0.0.0.0', tls_cert='x', insecure=False))
        for host in ('127.0.0.1', '127.8.8.8', '::1', 'localhost'):
            check_listener(argparse.Namespace(
                host=host, tls_cert=None, insecure=False))
