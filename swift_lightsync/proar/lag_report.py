# SPDX-License-Identifier: Apache-2.0
"""``swift-proar-lag``: what the primary roles hold that other devices lack.

It exits with 0 if all is well, with 1 if something is not, and with 2 if it
was called wrongly.
"""

import argparse
import sys
from dataclasses import dataclass

from swift_lightsync.common.address import NodeTuple, place_name
from swift_lightsync.common.command import argument, json_text, run
from swift_lightsync.common.node_arguments import (
    add_cluster,
    load_ring,
    policies,
)
from swift_lightsync.common.nodes import Outcome, Question, ask_all
from swift_lightsync.common.options import positive_seconds
from swift_lightsync.common.text import printable
from swift_lightsync.proar.core.epochs import epoch_text
from swift_lightsync.proar.lag import PATH, DeviceLag, DeviceStanding, decode

PROAR = Question(PATH, decode)
#: A converger that has not reported for so many seconds does not run.
SILENT_AFTER = 30
MAX_SECONDS = 60
#: The passes of all object-replicators have ended in so many seconds.
MAX_UNSURE = 86400
#: What clients met is complained of for so many seconds.
REMEMBER = 600
TROUBLES = {
    'failed_intents': 'writes failed after their bodies, since they could not '
    'be logged',
    'refused_log': 'writes were refused, since they could not be logged',
    'refused_lag': 'writes were refused, since the device holds too much '
    'alone',
    'failed_rows': 'container updates could not be logged',
}


@dataclass(frozen=True)
class Row:
    """A device that holds what others lack.

    :param host: (IP, port) of its server
    :param lag: what it holds
    """
    host: NodeTuple
    lag: DeviceLag

    @property
    def name(self):
        return place_name((*self.host, self.lag.device))


@dataclass(frozen=True)
class Lags:
    """What is to be reported.

    :param rows: sorted by policy and host
    :param roles: name of a device, and how it stands in a policy
    :param complaints: what is not well
    """
    rows: list[Row]
    roles: list[tuple[str, DeviceStanding]]
    complaints: list[str]

    def unsure(self, policy: int) -> list[tuple[str, DeviceStanding]]:
        """Return the roles that may have lost objects of a policy."""
        return [(name, role) for name, role in self.roles
                if role.policy == policy and role.unsure_seconds is not None]


def assess(replies, indexes, max_seconds, remember=REMEMBER,
           max_unsure=MAX_UNSURE):
    """Find what is not well in the answers of nodes.

    :param replies: Replies of nodes
    :param indexes: of the policies that count
    :param max_seconds: how old an entry may be that some device lacks
    :param remember: how many seconds ago something may have gone wrong
    :param max_unsure: seconds in service since a device may have lost objects
    :returns: Lags
    """
    # Servers of a host that share a recon file tell the same.
    answers = {(reply.host[0], reply.answer.source): reply
               for reply in replies if reply.answer}
    rows = sorted((Row(reply.host, lag) for reply in answers.values()
                   for lag in reply.answer.devices if lag.policy in indexes),
                  key=lambda row: (row.lag.policy, row.name))
    complaints = ['%s: %s' % (place_name(reply.host), _problem(reply))
                  for reply in replies if _problem(reply)]
    complaints += [
        '%s: a device has lacked an entry of policy %d for %.1f s' % (
            row.name, row.lag.policy, row.lag.oldest_seconds)
        for row in rows if row.lag.oldest_seconds > max_seconds]
    complaints += [
        '%s: %d segments of the log are damaged or gone: let the '
        'object-replicator run, then remove them' % (name, damaged)
        for name, damaged in sorted({
            row.name: row.lag.damaged for row in rows}.items()) if damaged]
    complaints += [
        '%s: %d entries of policy %d can be pushed to nobody, the log of the '
        'converger says why' % (row.name, row.lag.aside, row.lag.policy)
        for row in rows if row.lag.aside]
    complaints += [complaint for reply in answers.values()
                   for complaint in (*_behind(reply, indexes, max_seconds),
                                     *_troubles(reply, remember))]
    roles = sorted((
        (place_name((*reply.host, printable(role.device))), role)
        for reply in answers.values() for role in reply.answer.roles
        if role.policy in indexes), key=lambda each: each[0])
    complaints += [
        '%s: it may have lost objects of policy %d, and was %d s in service '
        'since: the object-replicators of %d devices have not ended a pass'
        % (name, role.policy, role.unsure_seconds, len(role.awaited))
        for name, role in roles if (role.unsure_seconds or 0) > max_unsure]
    return Lags(rows, roles, complaints)


def _behind(reply, indexes, max_seconds):
    """Yield which devices of a node have others asked, as texts."""
    for role in reply.answer.roles:
        name = place_name((*reply.host, printable(role.device)))
        if role.policy not in indexes:
            continue
        if role.others:
            yield '%s: it has %s of policy %d, %d devices have another: %s' % (
                name, epoch_text(role.ring), role.policy, len(role.others),
                '; '.join(sorted(map(epoch_text, set(role.others.values())))))
        if role.older:
            yield '%s: its log is older than %d devices know it in policy ' \
                '%d, as after a disk was restored: reads ask all until the ' \
                'object-replicators of their nodes have ended a pass' % (
                    name, len(role.older), role.policy)
        silent = reply.answer.time - (role.silent_since or reply.answer.time)
        if silent > max_seconds:
            yield '%s: %d devices have not vouched for it in policy %d for ' \
                '%d s: reads ask all' % (name, len(role.silent), role.policy,
                                         silent)


def _troubles(reply, remember):
    """Yield what went wrong of late on a node, as texts."""
    for device, found in sorted(reply.answer.troubles.items()):
        if reply.answer.time - found.last > remember:
            continue
        for name, text in TROUBLES.items():
            if getattr(found, name):
                yield '%s: %d %s; the last %d s ago' % (
                    place_name((*reply.host, printable(device))),
                    getattr(found, name), text,
                    reply.answer.time - found.last)


def _problem(reply):
    if reply.outcome is Outcome.WITHOUT:
        return 'does not answer %s: %s' % (PATH, printable(reply.problem))
    if not reply.answer:
        return '%s: %s' % (reply.outcome.value, printable(reply.problem))
    silent = reply.answer.time - reply.answer.updated
    if not reply.answer.updated:
        return 'its converger has never reported'
    if silent > SILENT_AFTER:
        return 'its converger has not reported for %d s' % silent
    return ''


def as_json(lags):
    """Return the Lags as JSON."""
    return json_text({
        'well': not lags.complaints, 'complaints': lags.complaints,
        'devices': [dict(row.lag.to_json(), host=row.host)
                    for row in lags.rows],
        'roles': [dict(role.to_json(), name=name)
                  for name, role in lags.roles]})


def as_text(lags, rings):
    """Return the Lags as text for people.

    :param rings: policy index -> (its name, its Ring)
    """
    lines = []
    for index, (name, ring) in rings.items():
        rows = [row for row in lags.rows
                if row.lag.policy == index and row.lag.entries]
        lines.append('policy %s (%d): %s' % (
            name, index, _total([row.lag for row in rows])))
        for row in rows:
            lines.append('  %s: %s' % (row.name, _total([row.lag])))
            lines += ['    %s lacks %d' % (_device(ring, peer), behind)
                      for peer, behind in sorted(row.lag.peers.items())]
        lines += ['  %s may have lost objects, %d s in service since; awaits '
                  'passes of %d devices' % (
                      name, role.unsure_seconds, len(role.awaited))
                  for name, role in lags.unsure(index)]
    lines += ['! ' + complaint for complaint in lags.complaints]
    return '\n'.join(lines) + '\n'


def _total(lags):
    if not any(lag.entries for lag in lags):
        return 'all devices hold all'
    return ('%d entries that a device lacks, %d that all lack, oldest %.1f s'
            % (sum(lag.entries for lag in lags),
               sum(lag.exposed for lag in lags),
               max(lag.oldest_seconds for lag in lags)))


def _device(ring, number):
    device = ring.devs[number] if number < len(ring.devs) else None
    return place_name((device['ip'], device['port'], device['device'])
                      ) if device else 'device %d' % number


def _parser():
    parser = argparse.ArgumentParser(
        prog='swift-proar-lag',
        description='Ask the object-servers what the primary roles hold that '
        'other devices lack.',
        epilog='Exits with 0: all is well; 1: something is not; 2: usage.')
    add_cluster(parser)
    parser.add_argument('--max-seconds', default=MAX_SECONDS,
                        metavar='S', type=argument(positive_seconds),
                        help='how old an operation may be that '
                        'a device lacks, and how long a device may be behind '
                        '(%(default)s)')
    parser.add_argument('--remember', default=REMEMBER, metavar='S',
                        type=argument(positive_seconds),
                        help='how long to complain of writes that failed or '
                        'were refused (%(default)s)')
    parser.add_argument('--max-unsure', default=MAX_UNSURE, metavar='S',
                        type=argument(positive_seconds),
                        help='how long a device may be in service that may '
                        'have lost objects (%(default)s)')
    return parser


def _report(args):
    rings = {int(policy): (policy.name, load_ring(args.swift_dir, policy))
             for policy in policies(args.swift_dir, args.policy)}
    hosts = set(args.hosts) or {
        (device['ip'], device['port']) for _, ring in rings.values()
        for device in ring.devs if device}
    lags = assess(ask_all(hosts, args.timeout, PROAR), rings,
                  args.max_seconds, args.remember, args.max_unsure)
    sys.stdout.write(as_json(lags) if args.json else as_text(lags, rings))
    return 1 if lags.complaints else 0


def main(argv=None):
    """Run the command.

    :param argv: the arguments; those of the process by default
    :returns: the exit status
    """
    return run(_parser(), _report, argv)


if __name__ == '__main__':
    sys.exit(main())
