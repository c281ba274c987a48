# SPDX-License-Identifier: Apache-2.0
"""The rows of a container's versions, at all replicas (VERSIONING.md §4).

1. Rows are written to all replicas, and are durable when a majority has them.
   A replica that missed them is asked again, in the background; after that,
   the container-replicator brings them.
2. Rows are read from a majority. Where its replicas do not say the same, each
   is given the newest row that any has, until they agree.
3. If a replica names shards, these are asked and written to as well.
"""

from dataclasses import replace

from swift_lightsync.versioning.core.comparing import Digest
from swift_lightsync.versioning.core.heads import listing_after
from swift_lightsync.versioning.core.row_data import (
    hidden_container,
    listing_name,
)
from swift_lightsync.versioning.core.verb import Request, WireRow
from swift_lightsync.versioning.rows.replicas import Replicas
from swift_lightsync.versioning.rows.replies import (
    ClockRefused,
    RowsUnavailable,
    VerbMissing,
    unavailable,
)
from swift_lightsync.versioning.rows.row_reader import (
    MAX_DEPTH,
    RowReader,
    place_of,
)
from swift_lightsync.versioning.rows.views import (
    View,
    covers,
    disputed,
    shards_of,
    united,
)

__all__ = ['ClockRefused', 'Rows', 'RowsUnavailable', 'VerbMissing']


class Rows:
    """The rows of the hidden container beside a user's container.

    :param app: has ``container_ring``, ``conn_timeout``, ``node_timeout`` and,
        in a proxy, ``error_limiter``
    :param account: text, unquoted
    :param container: the user's, text, unquoted
    :param connections: ``Connections``, those of this process by default
    """

    def __init__(self, app, logger, account, container, trans_id=None,
                 connections=None):
        self.place = (account, hidden_container(container))
        self._replicas = Replicas(app, logger, trans_id, connections)
        self._reader = RowReader(self._replicas)

    def read(self, request):
        """Read rows: in one round if replicas agree and there are no shards.

        :param request: a ``Request``; its rows are not written
        :returns: a ``View``; its page has fewer rows than the limit only if
            there are no more
        :raises RowsUnavailable: if too few replicas answered
        """
        return self.begin(request)()

    def begin(self, request):
        """Ask what ``read`` asks, and do not wait for the answers.

        :returns: a function that returns what ``read`` does
        """
        asked = self._reader.begin(self.place, request)
        return lambda: self._reader.read(self.place, request,
                                         replies=asked.replies())

    def write(self, request):
        """Write rows: in one round if replicas agree and there are no shards.

        :param request: a ``Request``; its page is not read
        :returns: a ``View``
        :raises RowsUnavailable: unless a majority takes the rows; some may be
            written all the same
        :raises ClockRefused: if the clock of this node is wrong
        """
        return self._write(self.place, replace(request, page=None))

    def digest(self, until):
        """Return the ``Digest`` of the live versions, as one replica has them.

        :param until: a ``Stamp``; what is later is left out
        :raises RowsUnavailable: if none can tell
        """
        return self._digest(self.place, until)

    def _digest(self, place, until, depth=0):
        answer = self._replicas.one(place, Request(digest=until))
        if answer is None or not answer.digests or depth == MAX_DEPTH:
            raise unavailable(place, [], 1, 'nobody tells the digest')
        found = Digest(answer.digests)
        for shard in shards_of([answer], place):
            found = found.joined(self._digest(place_of(shard), until,
                                              depth + 1))
        return found

    def check_verb(self):
        """Check that the container's replicas are on servers with the verb.

        :raises VerbMissing: if one is not
        """
        self._replicas.check_verb(self.place)

    def _write(self, place, request, depth=0):
        replies = self._replicas.tell(place, request,
                                      replace(request, clock=None))
        answers = [reply.answer for reply in replies]
        views = [View.of(answer, None) for answer in answers]
        view = united(views, None)
        shards = shards_of(answers, place)
        if shards:
            left = {name for answer in answers for name in answer.left}
            rows = [row for row in request.rows if row.name in left]
            views = [view, *self._to_shards(place, request, rows, shards,
                                            depth)]
            view = united(views, None)
            return view if depth else self._followed(place, request, view)
        if not disputed(views, None):
            return view
        now = self._reader.settled(place, request, replies, depth)
        return replace(now, before_row=view.before_row)

    def _to_shards(self, place, request, rows, shards, depth):
        """Write rows to the shards of their names."""
        if depth == MAX_DEPTH or not all(
                any(covers(shard, row.name) for shard in shards)
                for row in rows):
            raise unavailable(place, [], 1, 'rows belong to no shard')
        for shard in shards:
            inside = tuple(row for row in rows if covers(shard, row.name))
            if inside:
                yield self._write(place_of(shard), replace(
                    request, rows=inside, names=(), clock=None), depth + 1)

    def _followed(self, place, request, written):
        """Read what a sharded container has after a write, and let the listing
        row follow: it is in another shard than the versions.
        """
        if not request.object and not request.names:
            return written
        name = listing_name(request.object)
        now = self._reader.read(place, replace(
            request, names=(*request.names, name)))
        if request.object and request.listed:
            row = listing_after(now.rows.get(name), now.head_row,
                                request.object, request.stamp)
            if row is not None:
                self._write(place, Request(rows=(WireRow.of(row),),
                                           listed=True))
        return replace(now, before_row=written.before_row)
