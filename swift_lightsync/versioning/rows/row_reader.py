# SPDX-License-Identifier: Apache-2.0
"""Reads rows from a majority of a container's replicas until these agree, and
from its shards (VERSIONING.md §4).
"""

from collections.abc import Iterator
from dataclasses import replace

from swift_lightsync.versioning.core.row_data import (
    Row,
    parse_version,
    versions_of,
)
from swift_lightsync.versioning.core.verb import (
    MAX_PAGE,
    MAX_ROWS,
    Page,
    Request,
    Shard,
    WireRow,
)
from swift_lightsync.versioning.rows.replies import majority, unavailable
from swift_lightsync.versioning.rows.views import (
    View,
    covers,
    end_of,
    last_name,
    mending,
    shards_of,
    united,
)

#: Times that replicas are given the same rows until they agree.
TURNS = 8
#: Shards of shards that are followed.
MAX_DEPTH = 5
_ALL = Shard('', '', '')


def place_of(shard):
    """Return the (account, container) of a shard."""
    return tuple(shard.name.split('/', 1))


def following(page, last, limit):
    """Return the page after another one.

    :param last: the last name of that page
    """
    return replace(page, marker=last_name(page, last), limit=limit)


def _only_read(request):
    return replace(request, rows=(), listed=False, clock=None)


class RowReader:
    """Reads what requests ask for, without what they write.

    :param replicas: ``Replicas``
    """

    def __init__(self, replicas):
        self._replicas = replicas

    def begin(self, place, request):
        """Send what a request asks for; it may be read meanwhile.

        :returns: an ``Asked``, whose replies ``read`` takes
        """
        return self._replicas.begin(place, _only_read(request))

    def read(self, place, request, depth=0, replies=()):
        """Read all that a request asks for.

        :param place: (account, container)
        :param request: a ``Request``
        :param depth: how many containers this is a shard of
        :param replies: of a majority to this request, if there are any
        :returns: a ``View``, whose page has fewer rows than the limit only if
            there are no more
        :raises RowsUnavailable: if too few replicas answered, or they do not
            agree
        """
        view = self.settled(place, request, replies, depth)
        found, page = view.page, request.page
        while page and view.truncated and view.page and \
                len(found) < page.limit:
            rest = following(page, found[-1].name, page.limit - len(found))
            more = self.settled(place, Request(
                listed=request.listed, page=rest), depth=depth)
            found = found + more.page
            view = replace(view, page=more.page, truncated=more.truncated)
        return replace(view, page=found)

    def settled(self, place, request, replies=(), depth=0):
        """Read until replicas agree; a page may end before its limit.

        :param replies: that these have given to this request already
        :returns: a ``View``
        """
        asked = None if replies else _only_read(request)
        page, turns = request.page, 0
        given: set[WireRow] = set()
        while turns < TURNS:
            if asked is not None:
                replies = self._replicas.begin(place, asked, [
                    reply.node['id'] for reply in replies]).replies()
            answers = [reply.answer for reply in replies]
            shards = shards_of(answers, place)
            if shards:
                if depth == MAX_DEPTH:
                    break
                return _Sharded(self, place, answers, shards, depth,
                                request.listed).read(request)
            # What was read once for several replicas is not compared.
            views = [View.of(answer, request.page) for answer in
                     {id(each): each for each in answers}.values()]
            asked = mending(request, views)
            if asked is None:
                return united(views, request.page).cut(page)
            request = replace(request, page=asked.page)
            # Rows that are new to them bring replicas nearer to each other.
            turns += given.issuperset(asked.rows)
            given.update(asked.rows)
        raise unavailable(place, replies, majority(len(replies)),
                          'they do not agree')


class _Sharded:
    """A container that has shards, and may still have rows of its own.

    :param reader: a ``RowReader``
    :param answers: of its replicas
    :param shards: those that have to be asked as well
    :param depth: how many containers it is a shard of itself
    :param listed: whether objects have listing rows
    """

    def __init__(self, reader, place, answers, shards, depth, listed):
        self._reader = reader
        self._place = place
        self._own = [answer for answer in answers if not answer.only_shards]
        self._shards = shards
        self._depth = depth
        self._listed = listed

    def read(self, request):
        """Return the ``View`` that answers a request."""
        view = View()
        if request.names:
            view = replace(view, rows=self._named(request))
        if request.object:
            head = self._first(request.object)
            view = replace(view, head_row=head[0] if head else None)
        if request.page is None:
            return view
        if request.page.heads and self._own:
            rows = list(self._heads_of_all(request.page))
            return replace(view, page=rows,
                           truncated=len(rows) == request.page.limit)
        return self._page(request.page, view)

    def _again(self, **asked):
        """Ask the container itself anew."""
        return self._reader.read(self._place, Request(
            listed=self._listed, **asked), self._depth)

    def _of(self, shard, **asked):
        return self._reader.read(place_of(shard), Request(
            listed=self._listed, **asked), self._depth + 1)

    def _named(self, request):
        views = [View.of(answer, None) for answer in self._own]
        for shard in self._shards:
            names = tuple(name for name in request.names
                          if covers(shard, name))
            if names:
                views.append(self._of(shard, names=names))
        return united(views, None).rows if views else {}

    def _first(self, obj):
        """Return the newest version of an object, in a list if it has one."""
        return self._again(page=Page(versions_of(obj), limit=1)).page

    def _page(self, page, view):
        sources = [(_ALL, View.of(answer, page)) for answer in self._own]
        shards = self._shards[::-1] if page.reverse else self._shards
        for shard in shards:
            end = end_of((told for _, told in sources), page)
            if end is not None and (
                    shard.upper and shard.upper < end if page.reverse
                    else shard.lower >= end):
                break
            told = self._of(shard, page=page)
            sources.append((shard, told))
        found = united([told for _, told in sources], page)
        rows = self._checked(found.page, sources)
        if page.heads:
            rows = self._heads(found.page, rows)
        truncated = found.truncated or len(rows) > page.limit
        if found.page and not rows and truncated:
            # All that was found is deleted, but there may be more.
            rest = self._reader.settled(self._place, Request(
                listed=self._listed, page=following(
                    page, found.page[-1].name, page.limit)),
                depth=self._depth)
            return replace(rest, rows=view.rows, head_row=view.head_row)
        return replace(view, page=rows[:page.limit],
                       truncated=truncated)

    def _checked(self, rows, sources):
        """Leave out the rows that one source has and another one has deleted.

        :param sources: (shard, view) of each
        :returns: a list of ``Row``
        """
        held = [(shard, {row.name for row in view.page})
                for shard, view in sources]
        doubtful = [row.name for row in rows if any(
            covers(shard, row.name) and row.name not in names
            for shard, names in held)]
        known: dict[str, Row] = {}
        for start in range(0, len(doubtful), MAX_ROWS):
            known.update(self._again(names=tuple(
                doubtful[start:start + MAX_ROWS])).rows)
        found = [known.get(row.name, row) for row in rows]
        return [row for row in found if not row.deleted]

    def _heads(self, rows, live):
        """Leave only the newest version of each object; the versions of an
        object may be in two shards.
        """
        divided = {_object(row) for row in set(rows) - set(live)}
        for shard in self._shards:
            for bound in (shard.lower, shard.upper):
                try:
                    divided.add(parse_version(bound).object)
                except ValueError:
                    continue
        found: dict[str, Row] = {}
        for row in rows:
            obj = _object(row)
            if obj in found:
                continue
            heads = self._first(obj) if obj in divided else [row]
            found.update((obj, head) for head in heads)
        return list(found.values())

    def _heads_of_all(self, page) -> Iterator[Row]:
        """Yield the heads of a page, of all versions."""
        rest = replace(page, heads=False, limit=MAX_PAGE)
        group: list[Row] = []
        count = 0
        while count < page.limit:
            rows = self._again(page=rest).page
            for row in rows + ([None] if len(rows) < MAX_PAGE else []):
                if group and (row is None or _object(row) !=
                              _object(group[0])):
                    yield min(group, key=lambda each: each.name)
                    group, count = [], count + 1
                    if count == page.limit:
                        return
                if row is not None:
                    group.append(row)
            if len(rows) < MAX_PAGE:
                return
            rest = following(rest, rows[-1].name, MAX_PAGE)


def _object(row):
    return parse_version(row.name).object
