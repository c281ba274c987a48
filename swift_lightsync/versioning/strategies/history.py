# SPDX-License-Identifier: Apache-2.0
"""Reads the versions of a container's objects (VERSIONING.md §4): what both
strategies read, and alike.
"""

import math
from dataclasses import replace
from typing import ClassVar

from swift_lightsync.versioning.core.life import life_of
from swift_lightsync.versioning.core.row_data import (
    LIFE,
    VERSIONS,
    entry_of,
    purge_name,
    version_name,
    versions_of,
)
from swift_lightsync.versioning.core.verb import Page, Request
from swift_lightsync.versioning.core.version import frontier
from swift_lightsync.versioning.rows.row_reader import following

#: Newest versions of an object that siblings are looked for in.
SIBLINGS = 64
#: Follows the null character, and no name of an object starts with less.
_AFTER = '\x01'


def objects_page(prefix, marker, end_marker, reverse, heads=False):
    """Return the page of the rows of objects' versions.

    :param prefix: of objects' names, as the markers; these are not listed
    :param heads: only the newest version of each object
    :returns: a ``Page``, without a limit
    """
    ends = ('', _AFTER) if reverse else (_AFTER, '')
    return Page(VERSIONS + prefix,
                VERSIONS + marker + ends[0] if marker else '',
                VERSIONS + end_marker + ends[1] if end_marker else '',
                reverse=reverse, heads=heads)


def named(rows, version, record):
    """Return the ``Entry`` of a version by the names of its two rows."""
    row = rows.get(record)
    if row is None or row.deleted:
        row = rows.get(version)
    return entry_of(row) if row else None


class History:
    """Reads the versions of a container's objects.

    Its methods raise RowsUnavailable where too few replicas answer.

    :param rows: ``Rows`` of the container
    """

    #: Whether objects have listing rows.
    listed: ClassVar[bool]

    def __init__(self, rows):
        self.rows = rows

    def latest(self, obj):
        """Return the latest version of an object, in 1 round.

        :returns: the ``Entry``, which may be a delete marker, or None
        """
        return self.begin_latest(obj)()

    def begin_latest(self, obj):
        """Ask for the latest version of an object, and do not wait for it.

        :returns: a function that returns what ``latest`` does
        """
        told = self.rows.begin(Request(listed=self.listed, object=obj))
        return lambda: told().head

    def get(self, obj, stamp):
        """Return one version of an object, in 1 round.

        :returns: the ``Entry`` (see ``purged``), or None if it is unknown
        """
        names = version_name(obj, stamp), purge_name(obj, stamp)
        return named(self._read(object=obj, names=names).rows, *names)

    def nulls(self, obj):
        """Find the null versions of an object, in 1 round; a majority has each
        of them then. There are several only while a newer one replaces them.

        :returns: (the latest ``Entry`` or None, a list of each null ``Entry``,
            newest first)
        """
        told = self._read(object=obj, page=Page(versions_of(obj), nulls=True))
        return told.head, list(map(entry_of, told.page))

    def history(self, obj, marker=None, limit=None):
        """List the versions of an object.

        :param marker: a ``Stamp``; only older versions are listed
        :returns: a list of ``Entry``, newest first
        """
        return self._entries(Page(
            versions_of(obj), version_name(obj, marker) if marker else ''),
            limit)

    def versions(self, prefix='', marker='', version_marker=None,
                 end_marker='', limit=None, reverse=False):
        """List the versions of all objects.

        :param version_marker: a ``Stamp`` of a version of the object
            ``marker``: the list begins after this version; None: after the
            object
        :returns: a list of ``Entry``, by name and then newest first (if
            ``reverse``, in the opposite order)
        """
        page = objects_page(prefix, marker, end_marker, reverse)
        if version_marker:
            page = replace(page, marker=version_name(marker, version_marker))
        return self._entries(page, limit)

    def current(self, prefix='', marker='', end_marker='', limit=None,
                reverse=False):
        """List the latest version of each object.

        :returns: a list of ``Entry``, by name; delete markers too
        """
        return self._entries(objects_page(prefix, marker, end_marker, reverse,
                                          heads=True), limit)

    def siblings(self, obj):
        """List the latest version of an object and those that were made at the
        same time, of its newest versions.

        :returns: a list of ``Entry``, the latest first
        """
        newest = self.history(obj, limit=SIBLINGS)
        apart = set(frontier(entry.version for entry in newest))
        return newest[:1] + [entry for entry in newest[1:]
                             if entry.version in apart]

    def is_empty(self):
        """Check that the container has no versions."""
        return not self._entries(Page(VERSIONS), 1)

    def life(self):
        """Return the container's ``Life``, or None if it has no record."""
        row = self._read(names=(LIFE,)).rows.get(LIFE)
        return life_of(row) if row and not row.deleted else None

    def _read(self, **asked):
        return self.rows.read(Request(listed=self.listed, **asked))

    def _entries(self, page, limit):
        return list(map(entry_of, self.each(page, limit)))

    def each(self, page, most=None):
        """Yield the rows of a page and of those that follow it.

        :param page: its limit says how many are read at once
        :param most: how many rows, at most; None: all
        """
        left = math.inf if most is None else most
        while left > 0:
            size = min(page.limit, left)
            rows = self._read(page=replace(page, limit=size)).page
            yield from rows
            left -= len(rows)
            if len(rows) < size:
                return
            page = following(page, rows[-1].name, page.limit)
