# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin that puts a subject's classes where Swift's are.

It runs inside Swift's suites: it replaces classes before the first test is
imported, leaves out (or selects) the excluded tests, and writes each test's
outcome to a file. It imports the installed Swift first, so that the source
tree, which pytest puts on the path for the tests, does not hide it.
"""

import functools
import json
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace

import pytest
import swift

from tests.upstream import gate, paths, subject

MARKS = ('publicly_accessible', 'replication')
#: pytest's categories, the graver last; the rest counts as skipped
GRAVITY = {'skipped': 0, 'xfailed': 0, 'xpassed': 0, 'passed': 1,
           'failed': 2, 'error': 2}
OUTCOMES = ('skipped', 'passed', 'failed')


class ReplaceError(pytest.UsageError):
    """A row of the table cannot be put in place."""


class Sabotaged(Exception):
    """Raised by a method that was broken on purpose."""


def _stock_super(stock_of):
    """Return a ``super`` for a module whose class was replaced.

    Its methods say ``super(ObjectController, self)``, and that global now
    is our subclass: they would find themselves again, for ever.

    :param stock_of: mapping of our classes to the stock ones
    """
    def stock_super(*args):
        if not args:
            raise ReplaceError('super() without arguments does not work in '
                               'a module whose class was replaced')
        return super(stock_of.get(args[0], args[0]), *args[1:])
    stock_super.stock_of = stock_of
    return stock_super


def _check_marks(row, stock, ours):
    """Check that the overridden verbs have the marks of the stock ones.

    :raises ReplaceError: if an overridden verb lost a decorator's mark, for
        then the server would refuse the verb
    """
    for name in dir(stock):
        for mark in MARKS:
            if getattr(getattr(stock, name, None), mark, False) and \
                    not getattr(getattr(ours, name), mark, False):
                raise ReplaceError('%s.%s lacks the mark %r that the verb '
                                   'has in %s'
                                   % (row.ours, name, mark, row.stock))


def _replace_class(row, module, stock, ours):
    if not (isinstance(ours, type) and issubclass(ours, stock)):
        raise ReplaceError('%s is not a subclass of %s'
                           % (row.ours, row.stock))
    _check_marks(row, stock, ours)
    if not hasattr(vars(module).get('super'), 'stock_of'):
        module.super = _stock_super({})
    module.super.stock_of[ours] = stock


def _rebind(stock, ours):
    """Replace the name in every module of Swift's that has imported it."""
    for name, module in list(sys.modules.items()):
        if name.partition('.')[0] == 'swift':
            for attribute, value in list(vars(module).items()):
                if value is stock:
                    setattr(module, attribute, ours)


def _resolve(name):
    try:
        return resolve_name(name)
    except (ImportError, AttributeError) as err:
        raise ReplaceError('%s cannot be had: %s' % (name, err))


def install(subject):
    """Put ours in the place of the stock ones, before any test is imported.

    :param subject: a Subject
    :raises ReplaceError: if something of it cannot be put in place
    """
    # All of ours are imported before anything is replaced, so that each of
    # them derives from the stock class.
    triples = [(row, _resolve(row.stock), _resolve(row.ours))
               for row in subject.rows]
    content = _resolve(subject.content) if subject.content else None
    for name, changes in subject.privates.items():
        module, _, attribute = name.partition(':')
        setattr(import_module(module), attribute, SimpleNamespace(
            **{**vars(_resolve(name)), **changes}))
    for row, stock, ours in triples:
        if isinstance(stock, type):
            module = import_module(row.stock.partition(':')[0])
            _replace_class(row, module, stock, ours)
        _rebind(stock, ours)
    if content:
        paths.install(content)


def sabotage(name):
    """Break one of our methods.

    :param name: 'module:class.method'
    :raises ReplaceError: if there is no such method
    """
    sound = _resolve(name)

    @functools.wraps(sound)
    def broken(*args, **kwargs):
        raise Sabotaged(name)
    ours, _, method = name.rpartition('.')
    setattr(_resolve(ours), method, broken)


def pytest_addoption(parser):
    add = parser.getgroup('upstream', "Swift's own suites").addoption
    add('--upstream-report', metavar='FILE', required=True,
        help='write the outcome of each test here')
    add('--upstream-subject', choices=subject.SUBJECTS,
        help='what takes the place of classes of Swift; otherwise nothing '
        'does')
    add('--upstream-kind', default='unit', help='unit, functional or probe: '
        'what the subject has for these is put in place')
    add('--upstream-exclusions', metavar='SECTION',
        help='leave out the tests of this section')
    add('--upstream-only-excluded', action='store_true',
        help='run nothing but the tests of the section')
    add('--upstream-sabotage', metavar='MODULE:CLASS.METHOD',
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
    if loaded:
        install(loaded)
        if config.getoption('upstream_sabotage'):
            sabotage(config.getoption('upstream_sabotage'))


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
        for report in reports if category in GRAVITY else ():
            gravest[report.nodeid] = max(GRAVITY[category],
                                         gravest.get(report.nodeid, 0))
    results = gate.Results(
        {test: OUTCOMES[gravity] for test, gravity in gravest.items()},
        config.upstream_excluded)
    Path(config.getoption('upstream_report')).write_text(
        json.dumps(asdict(results)))
