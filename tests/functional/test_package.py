# SPDX-License-Identifier: Apache-2.0
"""The source distribution and the wheel: built, installed, and used."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest
import venv
from glob import glob
from zipfile import ZipFile

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
#: Loads all that the distribution offers to Swift, paste and the shell.
LOAD_ENTRY_POINTS = '''
from importlib.metadata import distribution
for each in distribution('swift-lightsync').entry_points:
    print(each.group, each.name, each.load().__module__)
'''


def run(*command, **kwargs):
    """Run a command that does not see this repository.

    :param command: its words
    :returns: what it printed
    :raises AssertionError: with what it printed, if it fails
    """
    environment = {name: value for name, value in os.environ.items()
                   if name != 'PYTHONPATH'}
    done = subprocess.run(command, capture_output=True, text=True,
                          env=environment, **kwargs)
    if done.returncode:
        raise AssertionError('%s: status %d\n%s%s' % (
            ' '.join(command), done.returncode, done.stdout, done.stderr))
    return done.stdout


class TestPackage(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix='package-')
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        source = os.path.join(cls.directory, 'source')
        shutil.copytree(REPOSITORY, source, ignore=shutil.ignore_patterns(
            '.*', '__pycache__', '*.egg-info', 'build', 'dist'))
        run(sys.executable, '-m', 'build', '--sdist', source)
        archive, = glob(os.path.join(source, 'dist', '*.tar.gz'))
        # From the source distribution, as an installation without a wheel.
        run(sys.executable, '-m', 'pip', 'wheel', '-q', '--no-deps',
            '--disable-pip-version-check', '-w', cls.directory, archive)
        cls.wheel, = glob(os.path.join(cls.directory, '*.whl'))
        cls._install()

    @classmethod
    def _install(cls):
        """Install the wheel where there is what it needs, and not itself."""
        cls.venv = os.path.join(cls.directory, 'venv')
        venv.create(cls.venv, with_pip=True)
        cls.python = os.path.join(cls.venv, 'bin', 'python')
        run(cls.python, '-m', 'pip', 'install', '-q', '--no-deps',
            '--disable-pip-version-check', cls.wheel)
        site = sysconfig.get_path('purelib', 'venv', {'base': cls.venv})
        with open(os.path.join(site, 'dependencies.pth'), 'w',
                  encoding='utf8') as path:
            path.write(sysconfig.get_path('purelib') + '\n')

    def installed(self, *command):
        """Run a command of the installed distribution, away from here."""
        return run(*command, cwd=self.directory)

    def test_three_packages_are_installed_and_no_other(self):
        with ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            top, = [name for name in names
                    if name.endswith('.dist-info/top_level.txt')]
            self.assertEqual(['cosbench', 'swift_lightsync', 'swift_losf'],
                             wheel.read(top).decode().split())
        self.assertEqual(
            {'cosbench', 'swift_lightsync', 'swift_losf'},
            {name.split('/')[0] for name in names
             if '-' not in name.split('/')[0]})

    def test_what_code_reads_is_installed_with_it(self):
        with ZipFile(self.wheel) as wheel:
            names = '\n'.join(wheel.namelist())
        for name in ('cosbench/console/static/console.css',
                     'swift_lightsync/sync/PROTOCOL.md',
                     'share/swift-lightsync/patches/series',
                     'share/swift-lightsync/etc/object-server.conf-sample',
                     'share/swift-lightsync/etc/cosbench/mock.xml'):
            self.assertIn(name, names)

    def test_every_entry_point_loads(self):
        loaded = self.installed(self.python, '-c', LOAD_ENTRY_POINTS)
        for expected in ('console_scripts cosbench cosbench',
                         'paste.app_factory object swift_lightsync',
                         'swift.diskfile replication.kv swift_losf'):
            self.assertIn(expected, loaded)

    def test_the_commands_say_how_they_are_used(self):
        for name in ('cosbench', 'swift-lightsync-patch', 'swift-losf-fsck',
                     'swift-lightsync-report'):
            command = os.path.join(self.venv, 'bin', name)
            self.assertIn('usage:', self.installed(command, '--help').lower())

    def test_the_installed_benchmark_reads_its_own_samples(self):
        sample = os.path.join(self.venv, 'share', 'swift-lightsync', 'etc',
                              'cosbench', 'mock.xml')
        self.assertIn('mock.xml', self.installed(
            os.path.join(self.venv, 'bin', 'cosbench'), 'validate', sample))
