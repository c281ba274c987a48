# SPDX-License-Identifier: Apache-2.0
"""What a run must have given: stock Swift's counts, less named exclusions.

expected.conf holds, per suite and test file, how many tests pass and how
many are skipped with stock Swift; exclusions.conf names the tests that are
left out with our classes, each with its reason. A skip too many fails the
gate as a failure does: Swift's suites skip silently where the file system
lacks large extended attributes.
"""

import configparser
import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tools import ToolError

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / 'expected.conf'
EXCLUSIONS = HERE / 'exclusions.conf'


class Counts(NamedTuple):
    """How many tests of a file passed and were skipped."""

    passed: int
    skipped: int


@dataclass(frozen=True)
class Results:
    """What a run of pytest gave."""

    outcomes: dict  #: test id to 'passed', 'failed' or 'skipped'
    excluded: list  #: ids of the tests that are named as exclusions

    def tests(self, outcome):
        """Return the sorted ids of the tests with an outcome."""
        return sorted(test for test, ended in self.outcomes.items()
                      if ended == outcome)

    def count(self, outcome):
        """Count the tests with an outcome by their file."""
        return Counter(test.partition('::')[0]
                       for test in self.tests(outcome))

    def counts(self):
        """Return a dict from each test file to its Counts."""
        passed, skipped = self.count('passed'), self.count('skipped')
        return {name: Counts(passed[name], skipped[name])
                for name in sorted(set(passed) | set(skipped))}


def _read(path):
    parser = configparser.RawConfigParser(delimiters=('=',),
                                          comment_prefixes=('#',))
    parser.optionxform = str
    with open(path, encoding='utf8') as source:
        parser.read_file(source)
    return parser


def _section(path, name):
    parser = _read(path)
    return dict(parser[name]) if parser.has_section(name) else {}


def exclusion_sections():
    """Return the names of the sections of exclusions.conf."""
    return _read(EXCLUSIONS).sections()


def read_exclusions(section):
    """Return which tests are left out, and why.

    :param section: 'SUBJECT KIND', as in exclusions.conf
    :returns: mapping of test ids to the reason why each is left out
    :raises ToolError: if one has no reason
    """
    exclusions = _section(EXCLUSIONS, section)
    for test, reason in exclusions.items():
        if not reason.strip():
            raise ToolError('%s: [%s] %s has no reason'
                            % (EXCLUSIONS, section, test))
    return exclusions


def read_expected(section):
    """Return a dict from test files to the Counts of stock Swift.

    :raises ToolError: if a line is not 'file = passed skipped'
    """
    expected = {}
    for name, value in _section(EXPECTED, section).items():
        try:
            passed, skipped = map(int, value.split())
        except ValueError:
            raise ToolError('%s: [%s] %s = %r; two numbers are wanted, '
                            'passed and skipped'
                            % (EXPECTED, section, name, value))
        expected[name] = Counts(passed, skipped)
    return expected


def record(section, results, version):
    """Make a stock run the baseline of the files that it ran.

    :param section: section of expected.conf
    :param results: the run's Results
    :param version: the version of Swift that ran
    :raises ToolError: if a test failed, for then it is no baseline
    """
    failed = results.tests('failed')
    if failed:
        raise ToolError('Nothing recorded: %d tests of stock Swift failed'
                        % len(failed))
    parser = _read(EXPECTED)
    merged = {**read_expected(section), **results.counts()}
    parser[section] = {name: '%d %d' % counts
                       for name, counts in sorted(merged.items())}
    parser['swift'] = {'version': version}
    text = io.StringIO()
    parser.write(text)
    with open(EXPECTED, 'w', encoding='utf8') as out:
        out.write("# file = passed skipped, with stock Swift of this "
                  "version; written by --stock --record\n\n"
                  + text.getvalue().rstrip('\n') + '\n')


def recorded_version():
    """Return the version of Swift whose counts expected.conf holds."""
    return _section(EXPECTED, 'swift').get('version')


def violations(results, expected, exclusions, selection):
    """Compare a run with the baseline.

    :param results: Results of a run
    :param expected: mapping of test files to Counts, for stock Swift
    :param exclusions: mapping of test ids left out to their reasons
    :param selection: paths of the files and directories that were to run
    :returns: list of what is wrong, in words; empty if nothing is
    """
    def selected(test):
        name = test.partition('::')[0]
        return any(name == path or name.startswith(path.rstrip('/') + '/')
                   for path in selection)

    found = ['%s failed' % test for test in results.tests('failed')]
    counts = results.counts()
    left_out = Counter(test.partition('::')[0] for test in results.excluded)
    for name in filter(selected, sorted({*counts, *expected})):
        if name not in expected:
            found.append('%s has no baseline: record one' % name)
            continue
        got, stock = counts.get(name, Counts(0, 0)), expected[name]
        wanted = stock.passed - left_out[name]
        if got.passed < wanted:
            found.append('%s: %d passed, expected %d'
                         % (name, got.passed, wanted))
        if got.skipped > stock.skipped:
            found.append('%s: %d skipped, expected at most %d'
                         % (name, got.skipped, stock.skipped))
    return found + ['%s is excluded, but there is no such test' % test
                    for test in filter(selected, sorted(
                        set(exclusions) - set(results.excluded)))]
