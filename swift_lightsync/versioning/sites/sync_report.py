# SPDX-License-Identifier: Apache-2.0
"""``swift-version-sync-report``: tells what the other sites lack, as the
propagators of this node have recorded it. A *change* is what is shipped: a
version, a purge, metadata, or the life record of a container, which a site
refuses to take as long as it has a version in there.

It exits with 0 if all is well, with 1 if something is not, and with 2 if it
was called wrongly. ``swift-lightsync-health`` tells the same of all nodes.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from configparser import ConfigParser, Error
from dataclasses import dataclass
from glob import glob
from typing import Any

from swift.common.recon import DEFAULT_RECON_CACHE_PATH
from swift.common.utils import list_from_csv

from swift_lightsync.common.address import place_name
from swift_lightsync.common.command import (
    UsageError,
    add_json,
    argument,
    json_text,
    run,
)
from swift_lightsync.common.health import Routes, Scope, Verdict, Watched, warn
from swift_lightsync.common.nodes import MAX_BYTES, Question, Reply
from swift_lightsync.common.openmetrics import Family
from swift_lightsync.common.options import positive_seconds
from swift_lightsync.common.records import RecordError
from swift_lightsync.common.text import printable
from swift_lightsync.versioning.sites.propagator import SECTION
from swift_lightsync.versioning.sites.sync_state import SyncState, read

#: A propagator that has not reported for so many seconds does not run.
SILENT_AFTER = 60
MAX_SECONDS = 300


@dataclass(frozen=True)
class Found:
    """The record of one propagator, or the problem with it.

    :param directory: a recon_cache_path
    :param state: a ``SyncState``, or None
    :param problem: why there is none, or ''
    :param sites: those that the conf names
    """
    directory: str
    state: SyncState | None
    problem: str = ''
    sites: tuple[str, ...] = ()


def conf_paths(paths):
    """Yield the paths of confs, those of a directory one by one."""
    for path in paths:
        if os.path.isdir(path):
            yield from sorted(glob(os.path.join(path, '*.conf')))
        else:
            yield path


def directories(paths):
    """Find where propagators record their state.

    :param paths: of container-server confs, or directories of such
    :returns: a dict, from recon_cache_paths to the names of all sites
    :raises UsageError: if a conf cannot be used
    """
    found = {}
    for path in conf_paths(paths):
        parser = ConfigParser(interpolation=None, strict=False)
        try:
            with open(path, encoding='utf8') as conf:
                parser.read_file(conf)
        except (OSError, UnicodeDecodeError, Error) as err:
            raise UsageError('%s: %s' % (
                path, getattr(err, 'strerror', None) or err))
        if not parser.has_section(SECTION):
            raise UsageError('%s: there is no section [%s]' % (path, SECTION))
        section = parser[SECTION]
        found[section.get('recon_cache_path', DEFAULT_RECON_CACHE_PATH)] = \
            list_from_csv(section.get('site_preference'))
    if not found:
        raise UsageError('%s: no container-server.conf there' %
                         ' '.join(paths))
    return found


def look(directory, sites):
    """Read the record in a recon_cache_path, as a ``Found``."""
    try:
        state = read(directory)
    except (OSError, RecordError) as err:
        return Found(directory, None, str(err))
    return Found(directory, state, '' if state else
                 'the propagator has never reported', tuple(sites))


def complaints(found, now, max_seconds):
    """Return a list of texts, one for each thing that is not well."""
    texts = []
    for each in found:
        if each.problem:
            texts.append('%s: %s' % (each.directory, each.problem))
            continue
        silent = now - each.state.updated
        if silent > SILENT_AFTER:
            texts.append('%s: the propagator has not reported for %d s' % (
                each.directory, silent))
        for peer in each.state.peers:
            if peer.oldest is not None and now - peer.oldest > max_seconds:
                texts.append(
                    '%s: site %s has not taken a change for %.1f s%s' % (
                        each.directory, peer.site, now - peer.oldest,
                        peer.error and ': ' + peer.error))
            if peer.since is not None and now - peer.since > max_seconds:
                texts.append('%s: %d containers differ from those of site %s, '
                             'the first for %.1f s' % (
                                 each.directory, peer.differing, peer.site,
                                 now - peer.since))
            if peer.failures:
                texts.append('%s: site %s does not answer: %s' % (
                    each.directory, peer.site, peer.error))
            elif peer.error and not peer.rows:
                texts.append('%s: site %s was not compared again: %s' % (
                    each.directory, peer.site, peer.error))
    return texts


def as_json(found, texts):
    """Return the report as JSON."""
    return json_text({'well': not texts, 'complaints': texts, 'nodes': [
        {'recon_cache_path': each.directory, 'problem': each.problem,
         'state': each.state and each.state.to_json()}
        for each in found]})


def as_text(found, texts, now):
    """Return the report as text for people."""
    lines = []
    for each in found:
        if each.state is None:
            continue
        lines.append('%s: site %s, %s, %s repaired, %s removed' % (
            each.directory, each.state.site,
            _count(each.state.databases, 'database'),
            _count(each.state.repaired, 'listing row'),
            _count(each.state.purged, 'purge record')))
        for peer in each.state.peers:
            lines.append('  site %s %s; shipped %s, %s' % (
                peer.site, _lag(peer, now), _count(peer.shipped, 'change'),
                _count(peer.shipped_bytes, 'byte')))
        known = {each.state.site, *(peer.site for peer in each.state.peers)}
        lines += ['  site %s has no section in versioning-sites.conf: it is '
                  'sent nothing' % name for name in each.sites
                  if name not in known]
    lines += ['! ' + text for text in texts]
    # A peer says what is in an error.
    return ''.join(printable(line) + '\n' for line in lines)


def _count(number, noun):
    """Return a number with its noun, which is plural but for one."""
    return '%d %s%s' % (number, noun, '' if number == 1 else 's')


def _lag(peer, now):
    """Say what a site has; that it has all only if it was compared."""
    if peer.rows:
        return 'may lack %s, oldest %.1f s' % (
            _count(peer.rows, 'change'), now - (peer.oldest or now))
    if peer.differing:
        return 'differs in ' + _count(peer.differing, 'container')
    if peer.compared is None:
        return 'was sent all, but never compared'
    return '%s all, compared %.1f s ago' % (
        'had' if peer.error else 'has', now - peer.compared)


def default_confs():
    """Return the conf that swift-init reads, or the directory of confs."""
    path = os.path.join(os.environ.get('SWIFT_DIR', '/etc/swift'),
                        'container-server')
    return [path if os.path.isdir(path) else path + '.conf']


def confs_parser(prog, description, ends):
    """Make the parser of a command that reads the confs of this node.

    :param ends: what it exits with
    """
    parser = argparse.ArgumentParser(
        prog=prog, description=description,
        epilog='Exits with %s; 2: usage.' % ends)
    parser.add_argument('confs', nargs='*', metavar='CONF',
                        default=default_confs(),
                        help='container-server.conf, or a directory of such '
                        '(those in $SWIFT_DIR or /etc/swift)')
    add_json(parser)
    return parser


def _parser():
    parser = confs_parser(
        'swift-version-sync-report',
        'Tell what the other sites lack of the versions here.',
        '0: all is well; 1: something is not')
    parser.add_argument('--max-seconds', type=argument(positive_seconds),
                        default=MAX_SECONDS, metavar='S',
                        help='how old a change may be that a site has not '
                        'taken, and how long a container may differ '
                        '(%(default)s)')
    return parser


def _report(args):
    now = time.time()
    found = [look(*each) for each in directories(args.confs).items()]
    texts = complaints(found, now, args.max_seconds)
    sys.stdout.write(as_json(found, texts) if args.json
                     else as_text(found, texts, now))
    return 1 if texts else 0


def main(argv=None):
    """Run the command.

    :param argv: the arguments; None: those of the process
    :returns: the exit status
    """
    return run(_parser(), _report, argv)


if __name__ == '__main__':
    sys.exit(main())


PATH = '/recon/versions'


def routes(conf: Mapping[str, Any]) -> Routes:
    """Return what a node answers: what its propagator recorded, or null.

    :param conf: ``recon_cache_path``
    """
    source = conf.get('recon_cache_path', DEFAULT_RECON_CACHE_PATH)

    def answer() -> bytes:
        state = read(source)
        return json.dumps(state and state.to_json()).encode('ascii')

    return {PATH: answer}


def _decode(data: bytes) -> SyncState | None:
    return None if data == b'null' else SyncState.parse(data, MAX_BYTES)


def _judge(replies: Mapping[str, Sequence[Reply]], scope: Scope) -> Verdict:
    found = [Found(place_name(reply.host), reply.answer, reply.problem)
             for reply in replies[PATH] if reply.answer or reply.problem]
    states = [each.state for each in found if each.state]
    if not states:
        return Verdict(False)
    peers = [peer for state in states for peer in state.peers]
    rows = Family('swift_versions_lacking', 'gauge',
                  'Changes that another site is not known to have.')
    differing = Family('swift_versions_differing_containers', 'gauge',
                       'Containers that differ from those of another site.')
    for site in sorted({peer.site for peer in peers}):
        theirs = [peer for peer in peers if peer.site == site]
        rows.add(sum(peer.rows for peer in theirs), site=site)
        differing.add(sum(peer.differing for peer in theirs), site=site)
    return Verdict(
        True, warn(complaints(found, scope.now, scope.patience)),
        '%d databases, %d changes on their way' % (
            sum(state.databases for state in states),
            sum(peer.rows for peer in peers)), [rows, differing])


WATCHED = Watched('Versions', routes, (Question(PATH, _decode),), _judge,
                  server='container')
