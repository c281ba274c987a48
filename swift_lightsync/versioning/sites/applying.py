# SPDX-License-Identifier: Apache-2.0
"""Does what another site sends: stores a version, data first, or does its
purge; has a container live or die as its life record says (VERSIONING.md §5,
core/life.py). And says what the site is told of the errors that this meets.
"""

import time
from dataclasses import replace
from typing import Any

from swift.common.exceptions import ChunkReadError
from swift.common.http import (
    HTTP_CONFLICT,
    HTTP_NOT_FOUND,
    is_server_error,
    is_success,
)
from swift.common.swob import HTTPException

from swift_lightsync.versioning.core.life import life_of
from swift_lightsync.versioning.core.row_data import (
    LIFE,
    Kind,
    purge_name,
    version_name,
)
from swift_lightsync.versioning.core.shipping import MAX_ERROR, Result
from swift_lightsync.versioning.core.stamp import ClockAhead
from swift_lightsync.versioning.core.verb import MAX_ROWS, Request
from swift_lightsync.versioning.data.container_headers import put_at
from swift_lightsync.versioning.rows.rows import ClockRefused, RowsUnavailable
from swift_lightsync.versioning.strategies.history import named

#: What object servers say to data that they have already.
_STORED_ALREADY = (202, 409)
#: Seconds for which what a deletion knew of may come after it. An older one
#: was here, and is gone; sites would tell each other of it again and again.
_UNDER_WAY = 86400


class Refusal(Exception):
    """What another site has sent is refused.

    :param status: of the answer
    """

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


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
    found: dict[Any, Any] = {}
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
            entry = named(rows, version_name(*each), purge_name(*each))
            if entry:
                found[each] = entry
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


def apply_life(helper, env, account, container, life, policy):
    """Follow the life record of another site, if it is newer than ours: take
    it, and have Swift do what it says.

    :param helper: ``SiteRequests``
    :param env: of the other site's request
    :param container: the user's
    :param life: the record, a ``Life``
    :param policy: the name of the container's storage policy there
    :raises Refusal: if the container does not follow now
    :raises HTTPException: if Swift refuses to make the container
    :raises RowsUnavailable: if too few container servers answer
    """
    found = _opened(helper, (env, account, container), life, policy)
    if found is None:
        return
    mine = found.strategy.life()
    if mine and mine.stamp >= life.stamp:
        return
    if not life.exists and not found.strategy.is_empty():
        raise Refusal(HTTP_CONFLICT, 'the container has versions; their '
                      'purges are not here yet, or they not there')
    if life.exists:
        # First: nobody finds the container without a record. What comes to
        # its middle only `.life` ends. And whoever has sent it may not know
        # what the container has become here, or becomes meanwhile.
        life, made = found.strategy.set_life(life), None
        while life.exists and life != made:
            make_as(found.make, found.strategy, life, found.headers())
            life, made = found.strategy.life(), life
    else:
        _delete(found, life)


def _opened(helper, path, life, policy):
    """Return the container of a record; None: it is a deletion of what is not
    here, and cannot come.
    """
    if life.exists:
        return helper.open(*path, policy)
    found = helper.open(*path)
    if found or life.stamp.seconds < time.time() - _UNDER_WAY:
        return found
    try:
        return helper.open(*path, policy)
    except HTTPException as err:
        if is_server_error(err.status_int):
            raise
        return None


def living(strategy, life):
    """Return the record of a container that lives on against its deletion, no
    later than need be: one that has not come here may have known of all of
    this.
    """
    return replace(life.after(strategy.clock.tick(0, life.stamp),
                              strategy.site), exists=True)


def make_as(make, strategy, life, before):
    """Have Swift make a container what its record says.

    :param make: does it, and returns a status
    :param before: the headers that it has; none: it is not there
    """
    status = make(life, before)
    if status == HTTP_CONFLICT and strategy.life() == life:
        # Its deletion, which is newer, has no record.
        life = strategy.set_life(life.after(strategy.tick(), strategy.site))
        status = make(life, before)
    if not is_success(status) and strategy.life() == life:
        raise Refusal(503, 'PUT of the container: %d' % status)


def _delete(container, life):
    """Record the deletion of a container, and delete it as of its record; if
    it was made again since, record that instead.
    """
    strategy = container.strategy
    if not container.exists:
        strategy.set_life(life)
        return
    found = container.headers()
    if int(found.get('X-Container-Object-Count', 0)):
        # These become versions, which its deleter did not know of.
        raise Refusal(HTTP_CONFLICT, 'the container has objects that are '
                      'older than its versioning')
    # One that would be refused is not recorded either.
    if put_at(found) <= life.stamp:
        # First: who is refused to make the container finds out why.
        life = strategy.set_life(life)
        if life.exists:
            return
        status = container.delete(life)
        if is_success(status) or status == HTTP_NOT_FOUND:
            return
        if status != HTTP_CONFLICT:
            raise Refusal(503, 'DELETE of the container: %d' % status)
    strategy.set_life(living(strategy, life))
