# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin that runs inside Swift's suites.

It replaces classes before the first test is imported, leaves out (or
selects) the excluded tests, and writes each test's outcome to a file. It
imports the installed Swift first, so that the source tree, which pytest puts
on the path for the tests, does not hide it.
"""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import swift

from tests.upstream import gate, replace, subject

#: pytest's categories, the graver last; the rest counts as skipped
GRAVITY = {'skipped': 0, 'xfailed': 0, 'xpassed': 0, 'passed': 1,
           'failed': 2, 'error': 2}
OUTCOMES = ('skipped', 'passed', 'failed')


def pytest_addoption(parser):
    group = parser.getgroup('upstream', "Swift's own suites")
    group.addoption('--upstream-report', metavar='FILE', required=True,
                    help='write the outcome of each test here')
    group.addoption('--upstream-subject', choices=subject.SUBJECTS,
                    help='what takes the place of classes of Swift; '
                    'otherwise nothing does')
    group.addoption('--upstream-kind', default='unit',
                    help='unit, functional or probe: what the subject has '
                    'for these is put in place')
    group.addoption('--upstream-exclusions', metavar='SECTION',
                    help='leave out the tests of this section')
    group.addoption('--upstream-only-excluded', action='store_true',
                    help='run nothing but the tests of the section')
    group.addoption('--upstream-sabotage', metavar='MODULE:CLASS.METHOD',
                    help='break this method')


def _subject(config):
    """Return the Subject, or None for stock Swift."""
    name = config.getoption('upstream_subject')
    return name and subject.load(name, config.getoption('upstream_kind'))


def pytest_configure(config):
    config.upstream_excluded = []
    if Path(swift.__file__).is_relative_to(config.rootpath):
        raise pytest.UsageError('Swift was imported from %s, not from where '
                                'it is installed' % swift.__file__)
    loaded = _subject(config)
    if not loaded:
        return
    try:
        replace.install(loaded)
        broken = config.getoption('upstream_sabotage')
        if broken:
            replace.sabotage(*broken.rsplit('.', 1))
    except replace.ReplaceError as err:
        raise pytest.UsageError(str(err))


def pytest_report_header(config):
    loaded = _subject(config)
    if not loaded:
        return 'upstream: stock Swift, from %s' % swift.__file__
    return ['upstream: %s is %s' % (row.stock, row.ours)
            for row in loaded.rows]


def pytest_collection_modifyitems(config, items):
    section = config.getoption('upstream_exclusions')
    if not section:
        return
    named = gate.read_exclusions(section)
    excluded = [item for item in items if item.nodeid in named]
    others = [item for item in items if item.nodeid not in named]
    config.upstream_excluded = [item.nodeid for item in excluded]
    if config.getoption('upstream_only_excluded'):
        excluded, others = others, excluded
    config.hook.pytest_deselected(items=excluded)
    items[:] = others


def pytest_terminal_summary(terminalreporter, config):
    gravest = {}
    for category, reports in terminalreporter.stats.items():
        if category not in GRAVITY:
            continue
        for report in reports:
            gravest[report.nodeid] = max(GRAVITY[category],
                                         gravest.get(report.nodeid, 0))
    results = gate.Results(
        {test: OUTCOMES[gravity] for test, gravity in gravest.items()},
        config.upstream_excluded)
    with open(config.getoption('upstream_report'), 'w') as out:
        json.dump(asdict(results), out)
