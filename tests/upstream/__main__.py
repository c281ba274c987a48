# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.upstream``: Swift's own suites against our classes."""

import argparse
import signal
import sys

from tests.upstream import runner, source, subject
from tools import ToolError

LOADERS = ('ec', 'encryption')


def _parser():
    parser = argparse.ArgumentParser(
        prog='python -m tests.upstream', description=__doc__)
    kinds = parser.add_subparsers(dest='kind', required=True)
    for kind, default, text in (
            ('unit', None, "Swift's unit tests"),
            ('functional', ['all'], 'the functional tests, in process'),
            ('sites', ['all'], 'the functional tests, on two sites on which '
             'all systems are at work'),
            ('probe', None, 'the probe tests, in a cluster of tools/saio')):
        one = kinds.add_parser(kind, help=text, description='Suites: %s.'
                               % ', '.join(sorted(runner.SUITES[kind])))
        add = one.add_argument
        add('suites', nargs='*', default=default, metavar='SUITE',
            help='name of a suite, or a path or test id below Swift\'s '
            'source tree (default: %s)' % (' '.join(default or (
                "the subject's",))))
        if kind == 'sites':
            continue
        add('--subject', choices=sorted(subject.SUBJECTS),
            default=subject.DEFAULT,
            help='what the tests are run against (default: %(default)s)')
        if kind == 'functional':
            add('--loader', choices=LOADERS,
                help='erasure coding or encryption')
        for option, text in (
                ('--stock', "run Swift's own classes"),
                ('--record', 'make the counts of stock Swift the baseline '
                 '(needs --stock)'),
                ('--check-exclusions', 'run only the excluded tests; each '
                 'that passes is an error'),
                ('--prove', 'break methods of our classes, one after '
                 'another: tests must fail'))[:4 if kind == 'unit' else 3]:
            add(option, action='store_true', help=text)
    return parser


def _run(args):
    tree = source.source_tree()
    if args.kind == 'sites':
        return runner.Run(runner.select('sites', args.suites, tree),
                          'functional', kind='sites')
    section, variables = args.kind, {}
    if args.kind == 'functional':
        variables['SWIFT_TEST_IN_PROCESS'] = '1'
        if args.loader:
            section = 'functional-%s' % args.loader
            variables['SWIFT_TEST_IN_PROCESS_CONF_LOADER'] = args.loader
    suites = args.suites or subject.load(args.subject, args.kind).suites
    return runner.Run(runner.select(args.kind, suites, tree), section,
                      subject=None if args.stock else args.subject,
                      variables=variables, kind=args.kind)


def main(argv=None):
    """Run the suites that the arguments name.

    :returns: exit status: 0 if the gate is passed, 1 if not, 2 if the tests
        could not be run
    """
    parser = _parser()
    args = parser.parse_args(argv)
    options = vars(args)
    if options.get('record') and not args.stock:
        parser.error('--record needs --stock')
    if options.get('check_exclusions') and args.stock:
        parser.error('--check-exclusions is not for --stock')
    # so that what was started and made is ended and removed
    signal.signal(signal.SIGTERM, lambda *_args: sys.exit(143))
    try:
        if options.get('prove'):
            return runner.prove(args.subject)
        run = _run(args)
        if options.get('check_exclusions'):
            return runner.check_exclusions(run)
        return runner.record(run) if options.get('record') else \
            runner.gated(run)
    except ToolError as err:
        print('upstream: %s' % err, file=sys.stderr)
        return 2


if __name__ == '__main__':
    sys.exit(main())
