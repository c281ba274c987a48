# SPDX-License-Identifier: Apache-2.0
"""What runs on the nodes: versions, patches, and daemons that have ended."""

import json
import os
import platform
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Annotated, Any

from swift_lightsync import patch_series, patcher
from swift_lightsync.common.address import place_name
from swift_lightsync.common.health import (
    Finding,
    Routes,
    Scope,
    Severity,
    Verdict,
    Watched,
)
from swift_lightsync.common.nodes import Outcome, Question, Reply
from swift_lightsync.common.openmetrics import Family
from swift_lightsync.common.records import Between, Length, Record
from swift_lightsync.common.text import printable

PATH = '/recon/swift-lightsync'
#: Where swift-init keeps the pid files of daemons.
RUN_DIR = '/var/run/swift'
#: How the names of Swift's daemons begin.
KINDS = ('account-', 'container-', 'object-', 'proxy-')
MAX_BYTES = 1 << 20
DISTRIBUTIONS = ('swift', 'swift-lightsync')

Text = Annotated[str, Length(4096)]


@dataclass(frozen=True)
class NodeSoftware(Record):
    """What a node answers.

    :param time: its clock, Unix time
    :param versions: of Python and of distributions; '' if one is not
        installed
    :param unpatched: files of Swift without all of the patches, relative to
        its tree; or why that cannot be told
    :param ended: daemons whose pid file is there, but no process
    """
    time: Annotated[float, Between(0, 1e15)]
    versions: dict[str, Text]
    unpatched: tuple[Text, ...]
    ended: tuple[Text, ...]


def read(run_dir: str = RUN_DIR) -> NodeSoftware:
    """Look at this node.

    :param run_dir: the directory of pid files
    """
    return NodeSoftware(time.time(), dict(_versions()), tuple(_unpatched()),
                        tuple(_ended(run_dir)))


def _versions() -> Iterator[tuple[str, str]]:
    yield 'python', platform.python_version()
    for name in DISTRIBUTIONS:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, ''


def _unpatched() -> Iterator[str]:
    try:
        states = patcher.inspect(
            patcher.open_tree(patcher.default_tree()),
            patch_series.load(patch_series.default_directory()))
    except (patch_series.PatchingError, OSError) as err:
        yield str(err)
        return
    for state in states:
        if state.level < len(state.stages) - 1:
            yield state.path


def _ended(run_dir: str) -> Iterator[str]:
    for directory, _, names in sorted(os.walk(run_dir)):
        for name in sorted(names):
            path = os.path.join(directory, name)
            daemon, suffix = os.path.splitext(os.path.relpath(path, run_dir))
            if suffix == '.pid' and daemon.startswith(KINDS) \
                    and not _runs(path):
                yield daemon


def _runs(pid_file: str) -> bool:
    """Return whether the process of a pid file is one of Swift."""
    try:
        with open(pid_file, encoding='ascii') as text:
            pid = int(text.read(20))
        with open('/proc/%d/cmdline' % pid, 'rb') as command:
            return b'swift' in command.read()
    except (FileNotFoundError, ProcessLookupError, ValueError):
        # swift-init has just removed it, or is writing it.
        return not os.path.exists(pid_file) or not os.path.getsize(pid_file)
    except OSError:
        return True


def routes(conf: Mapping[str, Any]) -> Routes:
    """Return what a node answers.

    :param conf: ``run_dir``, the directory of swift-init's pid files
    """
    run_dir = conf.get('run_dir', RUN_DIR)

    def answer() -> bytes:
        return json.dumps(read(run_dir).to_json()).encode('ascii')

    return {PATH: answer}


def _judge(replies: Mapping[str, Sequence[Reply]], scope: Scope) -> Verdict:
    findings = []
    counts = {outcome: 0 for outcome in Outcome}
    versions: dict[str, Counter[str]] = {}
    for reply in replies[PATH]:
        counts[reply.outcome] += 1
        place = place_name(reply.host)
        if reply.outcome is Outcome.UNREACHABLE:
            findings.append(Finding(Severity.CRITICAL, '%s: unreachable: %s' %
                                    (place, reply.problem)))
        elif reply.outcome is Outcome.INVALID:
            findings.append(Finding(Severity.UNKNOWN, '%s: %s' % (
                place, reply.problem)))
        elif reply.outcome is Outcome.ANSWERED:
            findings += _of_node(place, reply.answer)
            for name, version in reply.answer.versions.items():
                versions.setdefault(name, Counter())[version] += 1
    findings += [Finding(Severity.WARNING, 'nodes have several versions of '
                         '%s: %s' % (printable(name), ', '.join(
                             '%s (%d)' % (printable(version) or 'none', count)
                             for version, count in sorted(found.items()))))
                 for name, found in sorted(versions.items())
                 if len(found) > 1]
    if not counts[Outcome.ANSWERED]:
        findings.append(Finding(
            Severity.UNKNOWN, 'no server answers %s' % PATH))
    nodes = Family('swift_lightsync_servers', 'gauge',
                   'Servers that were asked, by outcome.')
    for outcome, count in counts.items():
        nodes.add(count, outcome=outcome.value)
    without = counts[Outcome.WITHOUT]
    return Verdict(True, findings, '%d of %d servers answered%s' % (
        counts[Outcome.ANSWERED], len(replies[PATH]),
        without and ', %d do not have the filter' % without or ''), [nodes])


def _of_node(place: str, node: NodeSoftware) -> Iterator[Finding]:
    for name in node.ended:
        yield Finding(Severity.CRITICAL, '%s: %s has ended' % (
            place, printable(name)))
    if node.unpatched:
        yield Finding(Severity.CRITICAL, '%s: not all patches are applied: '
                      '%s: swift-lightsync-patch apply' % (
                          place, printable(', '.join(node.unpatched))))


WATCHED = Watched('Servers', routes, (Question(
    PATH, lambda data: NodeSoftware.parse(data, MAX_BYTES)),), _judge)
