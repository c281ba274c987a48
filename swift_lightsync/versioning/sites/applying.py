# SPDX-License-Identifier: Apache-2.0
"""Stores one version of another site, data first, or does its purge, and says
what the site is told of the errors that this meets.
"""

from typing import Any, Dict

from swift.common.exceptions import ChunkReadError
from swift.common.swob import HTTPException

from swift_lightsync.versioning.core.life import life_of
from swift_lightsync.versioning.core.row_data import (
    LIFE,
    Kind,
    entry_of,
    purge_name,
    version_name,
)
from swift_lightsync.versioning.core.shipping import MAX_ERROR, Result
from swift_lightsync.versioning.core.stamp import ClockAhead
from swift_lightsync.versioning.core.verb import MAX_ROWS, Request
from swift_lightsync.versioning.rows.rows import ClockRefused, RowsUnavailable
from swift_lightsync.versioning.sites.life import Refusal

#: What object servers say to data that they have already.
_STORED_ALREADY = (202, 409)


class Disconnected(Exception):
    """The body of a request ends before its length."""


def result_of(err):
    """Return the ``Result`` that an error is told as.

    :returns: None if it is none of those that are expected
    """
    status, text = None, str(err)
    if isinstance(err, ClockAhead):
        status = 409
    elif isinstance(err, Refusal):
        status = err.status
    elif isinstance(err, ValueError):
        status = 400
    elif isinstance(err, (RowsUnavailable, ClockRefused)):
        status, text = 503, 'rows: ' + text
    elif isinstance(err, (Disconnected, ChunkReadError, OSError)):
        status = 499
    elif isinstance(err, HTTPException):
        status, text = err.status_int, '%s %s' % (
            err.status, err.body.decode('utf8', 'replace'))
    return status and Result(status, text.encode(
        'utf8', 'replace')[:MAX_ERROR].decode('utf8', 'ignore'))


def known(strategy, versions, life=False):
    """Read what a site has of some versions of a container.

    :param versions: pairs of an object and a ``Stamp``
    :param life: whether to read the life record, too
    :returns: a dict, from such pairs to the ``Entry`` (see ``purged``) of
        those that are known, and from ``LIFE`` to the ``Life``
    """
    found: Dict[Any, Any] = {}
    versions = sorted(set(versions))
    half = (MAX_ROWS - 1) // 2
    for start in range(0, max(len(versions), int(life)), half):
        some = versions[start:start + half]
        rows = strategy.rows.read(Request(names=tuple(
            [LIFE] * (life and not start) + [
                name(*each) for each in some
                for name in (version_name, purge_name)]))).rows
        if LIFE in rows and not rows[LIFE].deleted:
            found[LIFE] = life_of(rows[LIFE])
        for each in some:
            record = rows.get(purge_name(*each))
            row = rows.get(version_name(*each)) \
                if record is None or record.deleted else record
            if row is not None:
                found[each] = entry_of(row)
    return found


def identity(entry):
    return entry.object, entry.version.id


def _newest(*entries):
    """Return the newest stamp that data of some versions may have."""
    return max(stamp for each in entries for stamp in (
        each.version.id, each.changed, each.purged) if stamp)


def is_older(entry, changed):
    """Check whether the metadata here are older than another site's."""
    return changed is not None and (
        entry.changed or entry.version.id) < changed


def apply_version(container, mine, shipment, body):
    """Store a version, change its metadata or purge it.

    :param container: a ``SiteContainer``
    :param mine: the ``Entry`` of what is known of it here, or None
    :param shipment: a ``Shipment`` with an entry
    :param body: file-like, of its data
    """
    entry = shipment.entry
    if entry.purged:
        # Without a row there may be data nevertheless: its row follows
        # it, perhaps now. And first: a sender asks no more when the purge
        # is there.
        if mine is None or mine.kind is Kind.DATA:
            container.delete_data((mine or entry).data_name,
                                  _newest(entry, mine or entry))
        container.strategy.apply(entry)
    elif mine is None:
        if entry.null:
            _check_null(container.strategy, entry)
        if entry.kind is Kind.DATA:
            _put(container, shipment, body)
        _drop(container, container.strategy.apply(entry), entry)
    elif not mine.purged and is_older(mine, entry.changed):
        _post(container, shipment, mine.data_name)
        container.strategy.amend(mine, entry.content_type, entry.changed)


def _check_null(strategy, entry):
    """Raise Refusal of a null version that is older than one that is here: its
    sender keeps it until that one is there, too, or is purged. One that comes
    here after this look, before the older one is stored, replaces that like
    any that was here before, and all sites are told.
    """
    if any(each.version.id > entry.version.id
           for each in strategy.nulls(entry.object)[1]):
        raise Refusal(409, 'a newer null version of %r is here' %
                      entry.object)


def _put(container, shipment, body):
    entry = shipment.entry
    _check(container.put_data(entry, body, {
        **dict(shipment.headers), 'content-length': str(shipment.length)}))
    if entry.changed:
        _post(container, shipment, entry.data_name)


def _post(container, shipment, name):
    _check(container.post_data(name, shipment.entry.changed,
                               dict(shipment.headers)))


def _drop(container, gone, entry):
    """Delete the data of overwritten null versions, or its own."""
    for old in gone:
        own = identity(old) == identity(entry)
        if own or old.kind is Kind.DATA:
            container.delete_data((entry if own else old).data_name,
                                  _newest(entry, old))


def _check(response):
    """Raise Refusal unless the data is stored or changed as asked."""
    status = response.status_int
    if not 200 <= status < 300 and status not in _STORED_ALREADY:
        raise Refusal(status if status >= 500 else 409,
                      'the data was not stored: %s' % response.status)
