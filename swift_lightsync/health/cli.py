# SPDX-License-Identifier: Apache-2.0
"""``swift-lightsync-health``: whether all systems of a cluster are well.

The exit status is that of a Nagios check: 0 all is well, 1 a warning, 2
critical, 3 it cannot be told. HEALTH.md.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

from swift_lightsync.common.address import NodeTuple
from swift_lightsync.common.command import (
    UsageError,
    add_json,
    argument,
    json_text,
    run,
)
from swift_lightsync.common.health import (
    Scope,
    Severity,
    Verdict,
    Watched,
    worst,
)
from swift_lightsync.common.node_arguments import (
    add_swift_dir,
    all_policies,
    load_ring,
    read_ring,
)
from swift_lightsync.common.nodes import Outcome, Reply, ask_all
from swift_lightsync.common.openmetrics import Family, exposition
from swift_lightsync.common.options import positive_seconds
from swift_lightsync.common.text import printable
from swift_lightsync.health.systems import systems

#: Seconds that something may be behind.
PATIENCE = 600
#: Findings of one system that the text names.
MOST = 20

Verdicts = Mapping[str, Verdict]
Hosts = Mapping[str, set[NodeTuple]]


def servers(swift_dir: str) -> Hosts:
    """Return the addresses of the servers of each kind.

    :param swift_dir: the directory of swift.conf and the rings
    :raises UsageError: if one of these cannot be read
    """
    rings = {'object': [load_ring(swift_dir, policy)
                        for policy in all_policies(swift_dir)],
             'container': [read_ring(swift_dir, 'container')]}
    return {kind: {(device['ip'], device['port']) for ring in found
                   for device in ring.devs if device}
            for kind, found in rings.items()}


def look(watched: Sequence[Watched], hosts: Hosts, scope: Scope,
         timeout: float) -> Verdicts:
    """Ask the servers, and judge each system.

    Those that the first system cannot reach are not asked again.

    :param watched: the systems; the first one judges the servers themselves
    :param hosts: the addresses of the servers of each kind
    :param scope: what is looked at
    :param timeout: seconds that a server has for one answer
    """
    first, *others = watched
    replies = ask_all(set().union(*hosts.values()), timeout,
                      first.questions[0])
    dead = {reply.host for reply in replies
            if reply.outcome is Outcome.UNREACHABLE}
    found = {first.name: first.judge({first.questions[0].path: replies},
                                     scope)}
    for system in others:
        asked = hosts[system.server] - dead
        heard: dict[str, list[Reply]] = {
            question.path: [
                reply for reply in ask_all(asked, timeout, question)
                if reply.outcome is not Outcome.WITHOUT]
            for question in system.questions}
        found[system.name] = system.judge(heard, scope)
    return found


def expect(verdicts: Verdicts, wanted: Sequence[str]) -> list[str]:
    """Return which of the wanted systems no node runs.

    :param wanted: names, in any case
    :raises UsageError: if there is no such system
    """
    known = {name.lower(): name for name in verdicts}
    for name in wanted:
        if name.lower() not in known:
            raise UsageError('--expect %s: there are %s' % (
                name, ', '.join(known)))
    return [known[name.lower()] for name in wanted
            if not verdicts[known[name.lower()]].is_used]


def overall(verdicts: Verdicts, missing: Sequence[str]) -> Severity:
    """Return the worst severity; a missing system is critical."""
    return worst([Severity.CRITICAL] * bool(missing)
                 + [each.severity for each in verdicts.values()])


def as_text(verdicts: Verdicts, missing: Sequence[str]) -> Iterator[str]:
    """Yield lines: the summary first, as monitors show it."""
    bad = [name for name, each in verdicts.items() if each.findings]
    yield 'SWIFT-LIGHTSYNC %s: %s' % (
        overall(verdicts, missing).name, ', '.join(
            ['%s: %d' % (name, len(verdicts[name].findings)) for name in bad]
            + ['%s: not in use' % name for name in missing])
        or 'all is well')
    for name, each in verdicts.items():
        if each.is_used:
            yield '%-10s %-9s %s' % (name, each.severity.name, each.summary)
        else:
            yield '%-10s %-9s' % (name, 'CRITICAL' if name in missing
                                  else 'not used')
        for finding in sorted(each.findings, key=lambda found: (
                found.severity is not Severity.CRITICAL))[:MOST]:
            yield '  ! %s' % finding.text
        if len(each.findings) > MOST:
            yield '  ! and %d more: --json names all' % (
                len(each.findings) - MOST)


def as_json(verdicts: Verdicts, missing: Sequence[str]) -> str:
    """Return the verdicts as JSON."""
    return json_text({
        'severity': overall(verdicts, missing).name, 'missing': list(missing),
        'systems': {name: {
            'in_use': each.is_used, 'severity': each.severity.name,
            'summary': each.summary, 'findings': [
                {'severity': found.severity.name, 'text': found.text}
                for found in each.findings]}
            for name, each in verdicts.items()}})


def as_metrics(verdicts: Verdicts, missing: Sequence[str]) -> str:
    """Return the verdicts and figures as text of OpenMetrics."""
    severity = Family('swift_lightsync_severity', 'gauge', 'How a system is: '
                      '0 well, 1 warning, 2 critical, 3 unknown.')
    count = Family('swift_lightsync_findings', 'gauge',
                   'How many things are not well.')
    for name, each in verdicts.items():
        if each.is_used or name in missing:
            severity.add(Severity.CRITICAL if name in missing
                         else each.severity, system=name)
            count.add(len(each.findings), system=name)
    return exposition([severity, count, *(
        family for each in verdicts.values() for family in each.families)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='swift-lightsync-health',
        description='Ask all object-servers and container-servers whether '
        'LightSync, LOSF, PROAR and the versions of several sites are well.',
        epilog='Exits as Nagios wants it, with 0: all is well; 1: a warning; '
        '2: critical; 3: it cannot be told.')
    add_swift_dir(parser)
    parser.add_argument('--timeout', '-t', type=argument(positive_seconds),
                        default=5, metavar='S', help='seconds that a server '
                        'has for an answer (%(default)s)')
    parser.add_argument('--patience', type=argument(positive_seconds),
                        default=PATIENCE, metavar='S', help='seconds that '
                        'replicas, writes and sites may be behind '
                        '(%(default)s)')
    parser.add_argument('--expect', action='append', default=[],
                        metavar='SYSTEM', help='critical if no node runs this '
                        'one; may be repeated')
    add_json(parser)
    parser.add_argument('--openmetrics', action='store_true',
                        help='print figures for Prometheus, for instance into '
                        'a directory of its node exporter')
    return parser


def _report(args: argparse.Namespace) -> int:
    try:
        verdicts = look(list(systems()), servers(args.swift_dir), Scope(
            args.swift_dir, time.time(), args.patience), args.timeout)
        missing = expect(verdicts, args.expect)
    except UsageError as err:
        print('SWIFT-LIGHTSYNC UNKNOWN: %s' % err)
        return int(Severity.UNKNOWN)
    if args.json:
        sys.stdout.write(as_json(verdicts, missing))
    elif args.openmetrics:
        sys.stdout.write(as_metrics(verdicts, missing))
    else:
        for line in as_text(verdicts, missing):
            print(printable(line))
    return int(overall(verdicts, missing))


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``swift-lightsync-health``.

    :param argv: the arguments; None: those of the process
    :returns: the exit status
    """
    try:
        return run(_parser(), _report, argv)
    except SystemExit as err:
        # Nagios takes 2 for critical; argparse ends with it.
        raise SystemExit(int(Severity.UNKNOWN) if err.code == 2 else err.code)
