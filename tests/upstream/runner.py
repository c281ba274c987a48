# SPDX-License-Identifier: Apache-2.0
"""Runs pytest over a part of Swift's tests and judges what came out."""

import contextlib
import dataclasses
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from swift.common import daemon as stock_daemon

from tests.upstream import environment, gate, live, source, subject
from tools import ToolError

TIMEOUT = '600'  # seconds a test, so that none hangs for ever
SAIO = source.REPOSITORY / 'tools' / 'saio'
OBJ = 'test/unit/obj/'

SUITES = {
    'unit': {
        **{name: (OBJ + 'test_%s.py' % name,) for name in (
            'auditor', 'diskfile', 'expirer', 'reconstructor', 'replicator',
            'server', 'updater')},
        'ssync': (OBJ + 'test_ssync.py', OBJ + 'test_ssync_receiver.py',
                  OBJ + 'test_ssync_sender.py'),
        'container': ('test/unit/container/test_server.py',),
        'obj': ('test/unit/obj',),
        'proxy': ('test/unit/proxy',),
        'all': ('test/unit',),
    },
    'functional': {'all': ('test/functional',)},
    'sites': {'all': ('test/functional',)},
    'probe': {name: ('test/probe/test_%s.py' % name,) for name in (
        *subject.PROBE_SUITES, 'container_merge_policy_index',
        'object_expirer', 'object_metadata_replication',
        'object_partpower_increase', 'reconstructor_rebuild',
        'reconstructor_revert', 'signals')},
}


@dataclass(frozen=True)
class Run:
    """One run of pytest over Swift's tests."""

    selection: tuple  #: paths or test ids below Swift's source tree
    section: str  #: section of expected.conf
    subject: str = None  #: name of the subject; None is stock Swift
    options: tuple = ()
    variables: dict = field(default_factory=dict)
    kind: str = 'unit'  #: a key of SUITES

    @property
    def exclusions(self):
        """Section of exclusions.conf, the same for all loaders, or None."""
        if self.kind == 'sites':
            return 'write_repair functional'
        return self.subject and '%s %s' % (self.subject, self.kind)

    def command(self, work, tree):
        """Return the command, for a directory of its own and Swift's tree."""
        if self.kind == 'sites':
            start = [sys.executable, '-m', 'pytest', '--rootdir', str(tree)]
        else:
            start = (self._saio_command(tree) if self.kind == 'probe' else
                     environment.command(work, tree))
        return [*start, '-p', 'tests.upstream.replace',
                '-p', 'no:cacheprovider', '-p', 'no:requests_mock',
                '--override-ini', 'addopts=',
                '-q', '-r', 'fEs', '--timeout', TIMEOUT,
                '--upstream-report', str(work / 'report'),
                '--upstream-kind', self.kind,
                *(['--upstream-subject', self.subject]
                  if self.subject else []),
                *(['--upstream-exclusions', self.exclusions]
                  if self.exclusions else []),
                *self.options, *(str(tree / path) for path in self.selection)]

    def _saio_command(self, tree):
        if self.subject and not hasattr(stock_daemon, 'load_daemon_class'):
            raise ToolError('This Swift cannot be told to run our classes: '
                            'run swift-lightsync-patch apply first')
        cluster = subject.load(self.subject, self.kind).cluster \
            if self.subject else ('--replicator', 'stock')
        return [str(SAIO), *cluster, '--probe', 'run',
                sys.executable, '-m', 'pytest', '--rootdir', str(tree)]

    def environ(self):
        """Return the environment variables for the command."""
        environ = dict(os.environ, LIGHTSYNC_VENV=sys.prefix,
                       PYTHONPYCACHEPREFIX=str(source.CACHE / 'bytecode'),
                       **self.variables)
        # With it, each of the many daemons would compile Swift for itself.
        # Trio's would be imported when Swift has patched the sockets.
        environ['HYPOTHESIS_NO_PLUGINS'] = '1'
        environ.pop('PYTHONDONTWRITEBYTECODE', None)
        return environ


def select(kind, names, tree):
    """Return the paths and test ids that names of suites or paths stand for.

    :param kind: a key of SUITES
    :param tree: Swift's source tree, which paths are below
    :raises ToolError: if there is no such suite and no such path
    """
    selection = []
    for name in names:
        if name in SUITES[kind]:
            selection += SUITES[kind][name]
        elif (tree / name.partition('::')[0]).exists():
            selection.append(name)
        else:
            raise ToolError('%r is neither a suite (%s) nor a path below %s'
                            % (name, ', '.join(sorted(SUITES[kind])), tree))
    return tuple(dict.fromkeys(selection))


def execute(run, quiet=False):
    """Run pytest.

    :param run: a Run
    :param quiet: keep pytest's output to ourselves
    :returns: (Results, seconds)
    :raises ToolError: if pytest could not run to its end
    """
    tree = source.source_tree()
    with tempfile.TemporaryDirectory(prefix='upstream-') as name:
        work, started = Path(name), time.monotonic()
        with live.all_systems() if run.kind == 'sites' else \
                contextlib.nullcontext({}) as variables:
            done = subprocess.run(
                run.command(work, tree), cwd=source.REPOSITORY,
                env={**run.environ(), **variables}, text=True,
                stdout=subprocess.PIPE if quiet else None,
                stderr=subprocess.STDOUT if quiet else None)
        seconds = time.monotonic() - started
        # 0: all passed, 1: some failed, 5: none was selected
        if done.returncode not in (0, 1, 5):
            raise ToolError('pytest ended with status %d\n%s'
                            % (done.returncode, done.stdout or ''))
        try:
            report = json.loads((work / 'report').read_text())
        except FileNotFoundError:
            raise ToolError('pytest left no report\n%s' % (done.stdout or ''))
    return gate.Results(**report), seconds


def _say(text):
    print('upstream: ' + text, flush=True)


def gated(run):
    """Run, hold the outcome against the gate and say what is wrong.

    :returns: exit status: 0 if nothing is wrong, else 1
    """
    results, seconds = execute(run)
    _say('%d passed, %d failed, %d skipped, %d excluded in %.0f s'
         % (*(len(results.tests(outcome))
              for outcome in ('passed', 'failed', 'skipped')),
            len(results.excluded), seconds))
    # Other tests than in process are skipped on a cluster.
    whole = [path for path in run.selection
             if '::' not in path and run.kind != 'sites']
    installed, recorded = source.installed_version(), gate.recorded_version()
    if installed != recorded:
        _say("the baseline is of Swift %s, but %s is installed"
             % (recorded, installed))
    if len(whole) < len(run.selection):
        _say('single tests are held to nothing but that they do not fail')
    wrong = gate.violations(
        results, gate.read_expected(run.section),
        gate.read_exclusions(run.exclusions) if run.exclusions else {}, whole)
    for line in wrong:
        _say('WRONG: ' + line)
    _say('gate %s' % ('FAILED' if wrong else 'passed'))
    return 1 if wrong else 0


def record(run):
    """Run stock Swift, make its counts the baseline, and return 0."""
    results, seconds = execute(run)
    gate.record(run.section, results, source.installed_version())
    _say('recorded %d files in %s, %.0f s'
         % (len(results.counts()), gate.EXPECTED, seconds))
    return 0


def check_exclusions(run):
    """Run only the excluded tests, and return 1 if any passes, else 0."""
    needed = dataclasses.replace(run, options=('--upstream-only-excluded',))
    results, _ = execute(needed, quiet=True)
    idle = results.tests('passed')
    for test in idle:
        _say('WRONG: %s is excluded, but passes' % test)
    _say('%d exclusions, %d of them not needed'
         % (len(results.excluded), len(idle)))
    return 1 if idle else 0


@functools.cache
def _failing(name, suite, *options):
    """Return the set of tests of a unit suite that fail with a subject."""
    results, _ = execute(Run(SUITES['unit'][suite], 'unit', subject=name,
                             options=options), quiet=True)
    return set(results.tests('failed'))


def prove(name):
    """Break each listed method of a subject's classes: tests must notice.

    A test that fails with sound classes too is no witness.

    :param name: of the subject
    :returns: exit status
    """
    wrong = 0
    for row in subject.load(name).rows:
        for attribute, suite, least in row.sabotages:
            method = '%s.%s' % (row.ours, attribute)
            noticed = len(_failing(name, suite, '--upstream-sabotage', method)
                          - _failing(name, suite))
            wrong += noticed < least
            _say('%s%s broken: %d tests of %s notice, at least %d must'
                 % ('' if noticed >= least else 'WRONG: ', method, noticed,
                    suite, least))
    return 1 if wrong else 0
