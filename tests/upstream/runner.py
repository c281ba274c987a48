# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Runs pytest over a part of Swift's tests and judges what came out."""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from swift.obj import replicator as stock_replicator

from tests.upstream import environment, gate, replace, source

TIMEOUT = '600'  # seconds a test, so that none hangs for ever
SAIO = source.REPOSITORY / 'tools' / 'saio'
OBJ = 'test/unit/obj/'
PROBE = 'test/probe/'

SUITES = {
    'unit': {
        'replicator': (OBJ + 'test_replicator.py',),
        'diskfile': (OBJ + 'test_diskfile.py',),
        'server': (OBJ + 'test_server.py',),
        'ssync': (OBJ + 'test_ssync.py', OBJ + 'test_ssync_receiver.py',
                  OBJ + 'test_ssync_sender.py'),
        'obj': ('test/unit/obj',),
        'all': ('test/unit',),
    },
    'functional': {'all': ('test/functional',)},
    'probe': {
        name: (PROBE + 'test_%s.py' % name,) for name in (
            'object_failures', 'object_handoff', 'empty_device_handoff',
            'replication_servers_working', 'object_async_update',
            'object_metadata_replication', 'object_partpower_increase')
    },
}


class RunError(Exception):
    """A run that gave no results, or a selection that cannot be run."""


@dataclass(frozen=True)
class Run:
    """One run of pytest over Swift's tests."""

    selection: tuple  #: paths or test ids below Swift's source tree
    section: str  #: section of expected.conf and exclusions.conf
    stock: bool = False
    options: tuple = ()
    scratch: str = None  #: one of environment.SCRATCH
    variables: dict = field(default_factory=dict)
    in_saio: bool = False

    def command(self, work, tree):
        """
        :param work: the run's own directory
        :param tree: Swift's source tree
        :returns: the whole command
        """
        start = (self._saio_command(tree) if self.in_saio else
                 environment.command(work, tree, self.scratch))
        return [*start, '-p', 'tests.upstream.plugin',
                '-p', 'no:cacheprovider', '-p', 'no:requests_mock',
                '--override-ini', 'addopts=',
                '-q', '-r', 'fEs', '--timeout', TIMEOUT,
                '--upstream-report', str(work / 'report'),
                *(['--upstream-stock'] if self.stock else
                  ['--upstream-exclusions', self.section]),
                *self.options, *(str(tree / path) for path in self.selection)]

    def _saio_command(self, tree):
        if not self.stock and not hasattr(
                stock_replicator, 'load_replicator_class'):
            raise RunError("This Swift's object-replicator cannot be told "
                           'to run our class: run swift-lightsync-patch '
                           'apply first')
        return [str(SAIO), '--replicator',
                'stock' if self.stock else 'lightsync', '--probe', 'run',
                sys.executable, '-m', 'pytest', '--rootdir', str(tree)]

    def environ(self):
        """
        :returns: the environment variables for the command
        """
        return dict(os.environ, LIGHTSYNC_VENV=sys.prefix,
                    PYTHONPYCACHEPREFIX=str(source.CACHE / 'bytecode'),
                    **self.variables)


def select(kind, names, tree):
    """
    :param kind: a key of SUITES
    :param names: names of suites, or paths or test ids below the tree
    :param tree: Swift's source tree
    :returns: tuple of paths and test ids
    :raises RunError: if there is no such suite and no such path
    """
    selection = []
    for name in names:
        if name in SUITES[kind]:
            selection += SUITES[kind][name]
        elif (tree / name.partition('::')[0]).exists():
            selection.append(name)
        else:
            raise RunError('%r is neither a suite (%s) nor a path below %s'
                           % (name, ', '.join(sorted(SUITES[kind])), tree))
    return tuple(dict.fromkeys(selection))


def execute(run, quiet=False):
    """
    :param run: a Run
    :param quiet: keep pytest's output to ourselves
    :returns: (Results, seconds)
    :raises RunError: if pytest could not run to its end
    """
    tree = source.source_tree()
    with tempfile.TemporaryDirectory(prefix='upstream-') as name:
        work = Path(name)
        started = time.monotonic()
        done = subprocess.run(
            run.command(work, tree), cwd=source.REPOSITORY,
            env=run.environ(), text=True,
            **({'stdout': subprocess.PIPE, 'stderr': subprocess.STDOUT}
               if quiet else {}))
        seconds = time.monotonic() - started
        # 0: all passed, 1: some failed, 5: none was selected
        if done.returncode not in (0, 1, 5):
            raise RunError('pytest ended with status %d\n%s'
                           % (done.returncode, done.stdout or ''))
        try:
            report = json.loads((work / 'report').read_text())
        except FileNotFoundError:
            raise RunError('pytest left no report\n%s' % (done.stdout or ''))
    return gate.Results(**report), seconds


def _say(text):
    print('upstream: ' + text, flush=True)


def judge(run, results):
    """
    Hold a run against the gate and say what is wrong.

    :returns: 0 if nothing is wrong, else 1
    """
    exclusions = {} if run.stock else gate.read_exclusions(run.section)
    whole = [path for path in run.selection if '::' not in path]
    version = source.installed_version()
    if version != gate.recorded_version():
        _say("the baseline is of Swift %s, but %s is installed"
             % (gate.recorded_version(), version))
    wrong = gate.violations(results, gate.read_expected(run.section),
                            exclusions, whole)
    if len(whole) < len(run.selection):
        _say('single tests are held to nothing but that they do not fail')
    for line in wrong:
        _say('WRONG: ' + line)
    _say('gate %s' % ('FAILED' if wrong else 'passed'))
    return 1 if wrong else 0


def gated(run):
    """
    Run and judge.

    :returns: exit status
    """
    results, seconds = execute(run)
    _say('%d passed, %d failed, %d skipped, %d excluded in %.0f s'
         % (*(len(results.tests(outcome))
              for outcome in ('passed', 'failed', 'skipped')),
            len(results.excluded), seconds))
    return judge(run, results)


def record(run):
    """
    Run stock Swift and make its counts the baseline.

    :returns: exit status
    """
    results, seconds = execute(run)
    gate.record(run.section, results, source.installed_version())
    _say('recorded %d files in %s, %.0f s'
         % (len(results.counts()), gate.EXPECTED, seconds))
    return 0


def check_exclusions(run):
    """
    Run only the excluded tests, and find the ones that would pass.

    :returns: exit status
    """
    needed = Run(run.selection, run.section, scratch=run.scratch,
                 options=('--upstream-only-excluded',),
                 variables=run.variables, in_saio=run.in_saio)
    results, _seconds = execute(needed, quiet=True)
    idle = results.tests('passed')
    for test in idle:
        _say('WRONG: %s is excluded, but passes' % test)
    _say('%d exclusions, %d of them not needed'
         % (len(results.excluded), len(idle)))
    return 1 if idle else 0


def _failing(suite, scratch, broken=None):
    """
    :param suite: name of a unit suite
    :param scratch: one of environment.SCRATCH, or None
    :param broken: 'module:class.method' to break, or None
    :returns: (set of the tests that fail, seconds)
    """
    options = ('--upstream-sabotage', broken) if broken else ()
    results, seconds = execute(Run(SUITES['unit'][suite], 'unit',
                                   options=options, scratch=scratch),
                               quiet=True)
    return set(results.tests('failed')), seconds


def prove(scratch=None):
    """
    Break each listed method of our classes: tests must notice.

    A test that fails with sound classes too is no witness.

    :returns: exit status
    """
    status, unsound = 0, {}
    for row in replace.ROWS:
        for broken in row.sabotages:
            if broken.suite not in unsound:
                unsound[broken.suite] = _failing(broken.suite, scratch)[0]
            method = '%s.%s' % (row.ours, broken.method)
            failing, seconds = _failing(broken.suite, scratch, method)
            noticed = len(failing - unsound[broken.suite])
            enough = noticed >= broken.failures
            _say('%s%s broken: %d tests of %s notice, at least %d must '
                 '(%.0f s)' % ('' if enough else 'WRONG: ', method, noticed,
                               broken.suite, broken.failures, seconds))
            status = status if enough else 1
    return status
