# SPDX-License-Identifier: Apache-2.0
"""``swift-version-clock``: finds the versions that a wrong clock has made,
with ids of the future, and makes them anew or purges them.

Such a version stays the latest of its object, and other sites do not take it,
until their clocks have come there. What it finds, it reads in the databases of
this node. It changes only what the first replica that is there is on this node
of: so it can be run on each node with containers.

It finds life records of the future, too. These it cannot change: the newest
record counts, and each change of the container at this site makes one that is
newer still. Other sites follow when their clocks have come there.
"""

import sys
import time
from dataclasses import dataclass, replace
from typing import Any

from swift.common.utils import (
    config_true_value,
    get_logger,
    readconf,
    set_swift_dir,
)

from swift_lightsync.common.command import UsageError, argument, json_text, run
from swift_lightsync.common.options import OptionError, positive_seconds
from swift_lightsync.common.text import printable
from swift_lightsync.versioning.core.heads import purge_rows
from swift_lightsync.versioning.core.life import life_of
from swift_lightsync.versioning.core.row_data import (
    LIFE,
    Entry,
    Kind,
    entry_of,
    row_of,
)
from swift_lightsync.versioning.core.stamp import TICKS, Stamp
from swift_lightsync.versioning.core.verb import Request, WireRow
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.rows.rows import RowsUnavailable
from swift_lightsync.versioning.sites.database import BROKER_ERRORS, Database
from swift_lightsync.versioning.sites.databases import Databases
from swift_lightsync.versioning.sites.local_data import DataMissing
from swift_lightsync.versioning.sites.options import SiteOptions
from swift_lightsync.versioning.sites.propagator import (
    SECTION,
    VersionsPropagator,
)
from swift_lightsync.versioning.sites.sync_report import (
    conf_paths,
    confs_parser,
)

SECONDS = 60
NAME = 'swift-version-clock'


@dataclass(frozen=True)
class Ahead:
    """A version of the future, or a life record.

    :param stamp: the one that is ahead
    :param site: that has made it
    :param entry: the version, or None
    :param seconds: that it is ahead
    """
    database: Database
    stamp: Stamp
    site: str
    entry: Entry | None
    seconds: float

    @property
    def identity(self):
        """What is the same in all replicas."""
        return (self.database.account, self.database.container,
                self.entry.object if self.entry else '', self.stamp)


def find(databases, seconds, now):
    """Find the versions and life records whose stamps are ahead.

    :param databases: ``Databases``, scanned
    :param seconds: how much they are ahead, at least
    :param now: Unix time
    :returns: a list of ``Ahead``, the oldest of each object first; of several
        replicas the first one's
    """
    stamp = Stamp(int((now + seconds) * TICKS))
    found: dict[Any, Ahead] = {}
    for _, database in databases.followed(True):
        with database.table() as table:
            some: list[tuple[Stamp, str, Entry | None]] = [
                *((entry.version.id, entry.version.site, entry)
                  for entry in map(entry_of, table.after(stamp))),
                *((row.stamp, life_of(row).site, None)
                  for row in table.named([LIFE])
                  if row.stamp > stamp and not row.deleted)]
        for when, site, entry in some:
            ahead = Ahead(database, when, site, entry, when.seconds - now)
            known = found.setdefault(ahead.identity, ahead)
            if _ordinal(database) < _ordinal(known.database):
                found[ahead.identity] = ahead
    return [found[key] for key in sorted(found)]


def _ordinal(database):
    """Return the place of a database; that of a hand-off is after all."""
    ordinal, count = database.place
    return count if ordinal is None else ordinal


def restamp(strategy, source, ahead):
    """Make a version anew, with an id of now and a copy of its data.

    :returns: the new ``Entry``
    """
    old = ahead.entry
    new = replace(
        old, version=Version(strategy.tick(), strategy.site, Vector(),
                             old.version.deleted), changed=None)
    if old.kind is Kind.DATA:
        source.copy(ahead.database, old, new, strategy)
    rows = [*purge_rows(old, strategy.tick(old.version.id), strategy.peers),
            row_of(new)]
    # At once: nobody finds the object without both.
    strategy.rows.write(Request(
        old.object, tuple(map(WireRow.of, rows)), listed=strategy.listed,
        stamp=strategy.tick()))
    nulls = strategy.replace_nulls(old.object) if old.null else []
    source.delete_data(ahead.database, [old, *nulls], strategy)
    return new


def purge(strategy, source, ahead):
    """Purge a version, and delete its data."""
    strategy.purge(ahead.entry)
    source.delete_data(ahead.database, [ahead.entry], strategy)


def _changed(node, some, change):
    """Change versions; return (``Ahead``, what became of it) of each."""
    gone: set[int] = set()
    for ahead in some:
        if ahead.entry is None:
            yield ahead, ''
            continue
        if not node.is_first(ahead.database, gone):
            yield ahead, 'left to the node of the first replica'
            continue
        try:
            new = change(node.strategy(ahead.database), node.source, ahead)
        except (RowsUnavailable, DataMissing, ValueError) as err:
            yield ahead, 'failed: %s' % err
            continue
        yield ahead, 'is now %s' % new.version.id if new else 'purged'


def _found(path, args):
    """Return (``Ahead``, what became of it, or '') of a conf."""
    try:
        conf = readconf(path, SECTION)
        if 'swift_dir' in conf:
            set_swift_dir(conf['swift_dir'])
        change = restamp if args.restamp else purge if args.purge else None
        logger = get_logger(conf, NAME)
        if change is None:
            databases = Databases(
                conf.get('devices', '/srv/node'),
                config_true_value(conf.get('mount_check', 'true')),
                SiteOptions.from_conf(conf).site, logger,
                lambda account, container: None)
        else:
            node = VersionsPropagator(conf, logger)
            databases = node.databases
    except (OSError, ValueError, OptionError) as err:
        raise UsageError('%s: %s' % (path, err)) from err
    databases.scan()
    some = find(databases, args.seconds, time.time())
    return [(each, '') for each in some] if change is None else \
        list(_changed(node, some, change))


def as_json(found):
    """Return the findings as JSON."""
    return json_text({'versions': [{
        'account': ahead.database.account,
        'container': ahead.database.container,
        'object': ahead.entry and ahead.entry.object,
        'version_id': str(ahead.stamp),
        'site': ahead.site,
        'seconds': ahead.seconds, 'result': result}
        for ahead, result in found]})


def as_text(found):
    """Return the findings as text for people."""
    return ''.join(printable('%s/%s%s %s of %s is %.1f s ahead%s' % (
        ahead.database.account, ahead.database.container,
        '/%s: version' % ahead.entry.object if ahead.entry else
        ': the life record', ahead.stamp, ahead.site, ahead.seconds,
        result and '; ' + result)) + '\n' for ahead, result in found)


def _parser():
    parser = confs_parser(
        NAME, 'Find the versions that a wrong clock has made.',
        '0: there are none, or all were changed; 1: there are some')
    parser.add_argument('--seconds', type=argument(positive_seconds),
                        default=SECONDS, metavar='S',
                        help='how much an id is ahead, at least '
                        '(%(default)s)')
    change = parser.add_mutually_exclusive_group()
    change.add_argument('--restamp', action='store_true',
                        help='make each version anew, as one of now with a '
                        'copy of the data, and purge the one with the wrong '
                        'id')
    change.add_argument('--purge', action='store_true',
                        help='purge each version, at all sites')
    return parser


def _run(args):
    try:
        found = [each for path in conf_paths(args.confs)
                 for each in _found(path, args)]
    except BROKER_ERRORS as err:
        raise UsageError(str(err)) from err
    sys.stdout.write(as_json(found) if args.json else as_text(found))
    return 1 if any(not result or result.startswith(('failed', 'left'))
                    for _, result in found) else 0


def main(argv=None):
    """Run the command.

    :param argv: the arguments; None: those of the process
    :returns: the exit status
    """
    return run(_parser(), _run, argv)


if __name__ == '__main__':
    sys.exit(main())
