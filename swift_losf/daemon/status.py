# SPDX-License-Identifier: Apache-2.0
"""swift-losf-status: tells whether the index servers of a node are healthy.

For Nagios and the like, and for operators: it asks the index server of each
device of this node, and tells what it found as text or as JSON. The first line
is the summary. Exit status: 0 all is well, 1 a warning, 2 critical, or it
cannot be told. OPERATING.md, "What to watch".

Which devices there have to be, the rings say, as they do for `object-losf`. A
device that hangs costs `losf_index_timeout`, and all are asked at once.
"""

import argparse
import enum
import json
import socket
import struct
import sys
from dataclasses import dataclass

from swift.common.concurrency import GreenPile
from swift.common.exceptions import SwiftException
from swift.common.utils import readconf

from swift_lightsync.common import command
from swift_lightsync.common.command import argument
from swift_lightsync.common.health import Severity
from swift_lightsync.common.options import number
from swift_losf.daemon.manager import SECTION, IndexServerManager
from swift_losf.daemon.supervisor import free_percent
from swift_losf.daemon.watched import HARDLY_FREE, LITTLE_FREE
from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout
from swift_losf.format.values import Statistics
from swift_losf.index.index_client import IndexClient
from swift_losf.volumes.ballast import is_given_up

CONF = '/etc/swift/object-server.conf'
#: of an IndexUnavailable, if the server will be back by itself
_RECOVERING = 503


class State(enum.Enum):
    """What an index server does, as (its name, how bad that is)."""
    SERVING = ('serving', Severity.OK)
    RECOVERING = ('recovering', Severity.WARNING)
    UNMOUNTED = ('unmounted', Severity.WARNING)
    DOWN = ('down', Severity.CRITICAL)


@dataclass(frozen=True)
class Limits:
    """The values from which on something is a problem.

    :param warning_free: percent of a filesystem; a warning if less is free
    :param critical_free: the same, critical
    :param quarantined: files; a warning if more are in quarantine
    """
    warning_free: float = LITTLE_FREE
    critical_free: float = HARDLY_FREE
    quarantined: int = 0


@dataclass(frozen=True)
class Seen:
    """One index server, as it was found.

    :param device: its name
    :param policy: index of the storage policy
    :param state: a State
    :param detail: why it does not serve
    :param statistics: Statistics, if it serves
    :param free: percent that is free on the device or where the index is,
        whatever is less; if it serves
    :param full: whether only deletes are accepted
    :param pid: of the process that listens, if it does not serve
    """
    device: str
    policy: int
    state: State
    detail: str = ''
    statistics: Statistics | None = None
    free: float | None = None
    full: bool = False
    pid: int | None = None

    def problems(self, limits):
        """Return what is wrong: a list of (Severity, text)."""
        name, severity = self.state.value
        known, free = self.statistics, self.free
        if known is None or free is None:
            return [(severity, '%s: %s' % (name, self.detail)
                     if self.detail else name)]
        found = []
        if self.full:
            found.append((Severity.CRITICAL, 'full: only deletes are '
                          'accepted'))
        for limit, severity in (
                (limits.critical_free, Severity.CRITICAL),
                (limits.warning_free, Severity.WARNING)):
            if free < limit:
                found.append((severity, '%.1f %% free' % free))
                break
        if known.quarantined > limits.quarantined:
            found.append((Severity.WARNING, '%d in quarantine'
                          % known.quarantined))
        return found

    def text(self):
        """Return what there is to say, whether something is wrong or not."""
        name = self.state.value[0]
        known, free = self.statistics, self.free
        if known is None or free is None:
            return '%s, pid %d' % (name, self.pid) if self.pid else name
        return ('%s, %.1f %% free, %d volumes, %d files, %d in quarantine, '
                '%d bytes to be given back' % (
                    name, free, known.volumes, known.files,
                    known.quarantined, known.dead_bytes))

    def fields(self):
        """Return the same as a dict, for JSON."""
        return {'device': self.device, 'policy': self.policy,
                'state': self.state.value[0], 'free_percent': self.free,
                'full': self.full, 'pid': self.pid,
                **(vars(self.statistics) if self.statistics else {})}


class CannotTell(Exception):
    """The configuration or the rings do not say which servers there are."""


class _Problems:
    """A logger for a manager that raises errors instead of logging them."""

    @staticmethod
    def error(message, *args):
        raise CannotTell(message % args)


def look(key, layout, is_there, timeout):
    """Ask one index server how it is.

    :param key: a ServerKey
    :param layout: its Layout
    :param is_there: whether the device is
    :param timeout: seconds that the server has to answer
    :returns: Seen
    """
    def seen(state, detail='', **known):
        return Seen(key.device, key.policy_index, state, detail, **known)

    def silent(state, err):
        return seen(state, str(err), pid=_listener(layout.socket))
    if not is_there:
        return seen(State.UNMOUNTED)
    try:
        statistics = IndexClient(layout.socket, timeout).statistics()
        return seen(State.SERVING, statistics=statistics,
                    free=free_percent(layout),
                    full=any(map(is_given_up, layout.ballasts)))
    except IndexUnavailable as err:
        return silent(State.RECOVERING if err.status_int == _RECOVERING
                      else State.DOWN, err)
    except OSError as err:
        return silent(State.DOWN, err)


def _listener(path):
    """Return the pid of the process that listens, though it hang, or None."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(0)
        try:
            client.connect(path)
            return struct.unpack('3i', client.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        except OSError:
            return None


def look_at_all(conf):
    """Ask all index servers of this node how they are.

    :param conf: of the section object-losf, a dict
    :returns: a list of Seen, by device and policy
    :raises CannotTell: if rings or options do not say what there is
    """
    try:
        manager = IndexServerManager(conf, _Problems)
        for policy in manager.policies:
            policy.load_ring(manager.swift_dir)
        keys = sorted(manager.server_keys())
        manager.devices.refresh()
    except (OSError, ValueError, SwiftException) as err:
        raise CannotTell(str(err)) from err
    options = manager.losf_options
    pile = GreenPile(max(len(keys), 1))
    for key in keys:
        layout = Layout(manager.devices.path(key.device),
                        key.policy_index, options.index_path)
        pile.spawn(look, key, layout,
                   manager.devices.presence(key.device) is not None,
                   options.index_timeout)
    return list(pile)


def judge(found, limits):
    """Sum up what the index servers have said.

    :param found: a list of Seen
    :returns: (the worst Severity, a dict with all for JSON, lines of text)
    """
    worst, rows, lines, heads = Severity.OK, [], [], []
    for seen in found:
        problems = sorted(seen.problems(limits), reverse=True)
        severity = problems[0][0] if problems else Severity.OK
        worst = max(worst, severity)
        reasons = [what for _, what in problems]
        rows.append({'severity': severity.name, 'problems': reasons,
                     **seen.fields()})
        name = '%s, policy %d: ' % (seen.device, seen.policy)
        lines.append('%s%s: %s' % (name, severity.name, seen.text()))
        heads += [name + ', '.join(reasons)] if reasons else []
    if not found:
        worst = Severity.WARNING
        heads = ['no device of this node is in the ring of a storage policy '
                 'that keeps its objects in volumes']
    summary = '; '.join(heads) or 'index servers: %d' % len(found)
    return worst, {'severity': worst.name, 'summary': summary,
                   'index_servers': rows}, [
        'LOSF %s: %s' % (worst.name, summary)] + lines


def _parser():
    parser = argparse.ArgumentParser(
        prog='swift-losf-status', description='Tell whether the index servers '
        'of this node are as they should be. Has to run as Swift\'s user, or '
        'root.', epilog='Exit status: 0 all is well, 1 a warning, 2 critical, '
        'or it cannot be told.')
    parser.add_argument('conf_file', nargs='?', default=CONF,
                        help='object-server.conf (%(default)s)')
    percent = argument(number(0, 100))
    parser.add_argument('--warning-free', type=percent, metavar='PERCENT',
                        default=Limits.warning_free, help='a warning if less '
                        'of a disk is free (%(default)s)')
    parser.add_argument('--critical-free', type=percent, metavar='PERCENT',
                        default=Limits.critical_free, help='critical if less '
                        'of a disk is free (%(default)s)')
    parser.add_argument('--quarantined', type=int, metavar='FILES',
                        default=Limits.quarantined, help='a warning if a disk '
                        'has more files in quarantine (%(default)s)')
    parser.add_argument('--json', action='store_true',
                        help='print a JSON object')
    return parser


def main(argv=None):
    """Run the console script swift-losf-status.

    :returns: the exit status
    """
    return command.run(_parser(), _report, argv)


def _report(args):
    try:
        found = look_at_all(readconf(args.conf_file, SECTION))
        severity, document, lines = judge(found, Limits(
            args.warning_free, args.critical_free, args.quarantined))
    except (CannotTell, OSError, ValueError) as err:
        severity = Severity.CRITICAL
        document = {'severity': severity.name, 'summary': str(err)}
        lines = ['LOSF %s: cannot tell: %s' % (severity.name, err)]
    print(json.dumps(document, sort_keys=True) if args.json
          else '\n'.join(lines))
    return int(severity)


if __name__ == '__main__':
    sys.exit(main())
