# SPDX-License-Identifier: Apache-2.0
"""Asks an index, whether its server runs or not.

While the index server runs, no other process can open the index, so that the
server is asked. Else the index is opened, and no server can start meanwhile.
"""

import contextlib
import os
from dataclasses import replace

import plyvel

from swift_lightsync.common.command import UsageError
from swift_losf.errors import IndexUnavailable
from swift_losf.format.header import FormatError
from swift_losf.format.keys import MAX_SUFFIX
from swift_losf.index.index import Index
from swift_losf.index.index_client import IndexClient, Volume
from swift_losf.index.index_lock import ServerError, locked


def require_index(layout):
    """Check that there is a LevelDB; opening it would make one.

    :raises FormatError: if there is none
    """
    if not os.path.exists(os.path.join(layout.index, 'CURRENT')):
        raise FormatError('%s: there is no LevelDB%s' % (
            layout.index, '' if layout.index_path
            else '; if losf_index_path is set, give --index-path'))


class StoppedIndex:
    """Answers, as an IndexClient, of an index that this process has open.

    :param index: an Index
    """

    def __init__(self, index):
        self._index = index
        self.list_partitions = index.reader.list_partitions
        self.list_partition = index.reader.list_partition
        self.list_hash = index.reader.list_hash

    def known_files(self, object_hash):
        """Return None: nothing is published."""

    def has_files(self, partition, suffix=0, last=MAX_SUFFIX):
        """Return whether a partition has files of some suffixes in a row.

        Only the first key is read, so that damage behind it does not count.
        """
        return any(True for _ in self._index.reader.entries(
            partition, suffix, last))

    def list_suffix(self, partition, suffix):
        """Return an iterator of (hash, a list of its files' names)."""
        after, more = b'', True
        while more:
            page, more = self._index.reader.list_suffix(
                partition, suffix, after)
            yield from page
            after = page[-1][0] if page else after

    def list_quarantine(self):
        """Return an iterator of (partition, hash, name, Location)."""
        after, more = b'', True
        while more:
            page, after = self._index.reader.list_quarantine(after)
            yield from page
            more = bool(after)

    def list_volumes(self):
        """Return a list of the Volumes."""
        return [Volume(number=number, **{
            name: getattr(state, name) for name in Volume.__annotations__
            if name != 'number'})
            for number, state in self._index.list_volumes()]

    def statistics(self):
        """Return the Statistics."""
        return replace(self._index.statistics(),
                       part_power=self._index.part_power.view.power or 0)


def entries(layout, at_end):
    """Return what answers: an IndexClient, or a StoppedIndex.

    :param layout: a Layout
    :param at_end: an ExitStack, which closes what was opened
    :raises UsageError: if the index can be asked in neither way
    """
    try:
        at_end.enter_context(locked(layout))
    except ServerError:
        client = IndexClient(layout.socket)
        try:
            client.statistics()
        except IndexUnavailable as err:
            raise UsageError(str(err)) from err
        return client
    try:
        require_index(layout)
        return StoppedIndex(at_end.enter_context(contextlib.closing(
            Index(layout.index))))
    except (plyvel.Error, FormatError) as err:
        raise UsageError(str(err)) from err
