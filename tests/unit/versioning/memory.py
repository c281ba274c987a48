# SPDX-License-Identifier: Apache-2.0
"""Container servers and memcache as dicts: no disks, shards or failures."""

import json
from types import SimpleNamespace

from swift.common.memcached import MemcacheConnectionError

from swift_lightsync.versioning.core.heads import Held, Plan, lookups, planned
from swift_lightsync.versioning.core.row_data import (
    entry_of,
    hidden_container,
    parse_version,
    versions_of,
)
from swift_lightsync.versioning.core.verb import Answer, Page, WireRow
from swift_lightsync.versioning.rows.replies import (
    Reply,
    RowsUnavailable,
    majority,
)
from swift_lightsync.versioning.rows.row_reader import RowReader
from swift_lightsync.versioning.rows.rows import Rows


class MemoryReplica:
    """A container server in a dict: it decides as the real one does, but has
    neither disks nor shards.
    """

    def __init__(self):
        #: the rows by name, deleted ones too
        self.held = {}

    def answer(self, asked):
        """Return the ``verb.Answer`` to a ``verb.Request``."""
        rows = [each.row for each in asked.rows]
        plan = Plan((), None, None)
        if asked.object or rows:
            plan = planned(self._held(asked.object, rows), asked.object,
                           rows, asked.listed, asked.stamp)
        self.held.update((row.name, row) for row in plan.rows)

        def wire(row):
            return row and WireRow.of(row)
        return Answer(
            wire(plan.before), wire(plan.head),
            tuple(wire(self.held[name]) for name in asked.names
                  if name in self.held),
            tuple(map(wire, self.page(asked.page))) if asked.page else ())

    def _held(self, obj, rows):
        newest = self.page(Page(versions_of(obj))) if obj else []
        return Held(newest, {
            name: self.held[name] for name in lookups(obj, rows)
            if name in self.held})

    def page(self, page):
        """Return the live rows of a ``Page``."""
        after, before = page.marker, page.end_marker
        if page.reverse:
            after, before = before, after
        rows = [row for name, row in sorted(self.held.items())
                if not row.deleted and name.startswith(page.prefix) and
                name > after and (not before or name < before)]
        if page.nulls:
            rows = [row for row in rows if entry_of(row).null]
        if page.heads:
            rows = list({parse_version(row.name).object: row
                         for row in rows[::-1]}.values())[::-1]
        return (rows[::-1] if page.reverse else rows)[:page.limit]


class MemoryReplicas:
    """The ``Replicas`` of one container, each a ``MemoryReplica``.

    :param gate: a function of the number of a replica, or of None: called
        before it is reached, and after all have answered; False: the request
        does not reach it
    """

    def __init__(self, replicas, gate=lambda number: True):
        self.replicas = replicas
        self.gate = gate

    def begin(self, place, request, first=()):
        return SimpleNamespace(
            replies=lambda: self.tell(place, request, None))

    def tell(self, place, request, again):
        replies = []
        for number, replica in enumerate(self.replicas):
            if self.gate(number):
                replies.append(Reply({'id': number}, 200,
                                     replica.answer(request)))
        needed = majority(len(self.replicas))
        if len(replies) < needed:
            raise RowsUnavailable('/%s/%s' % place, [], needed)
        return replies


class MemoryRows(Rows):
    """``Rows`` of a container whose replicas never fail: dicts.

    :param gate: called before each request
    :param replicas: each a ``MemoryReplica``; one, if none are given
    """

    def __init__(self, gate=lambda: None, replicas=None):
        self.place = ('a', hidden_container('c'))
        self.gate = gate
        self.replicas = replicas or [MemoryReplica()]
        self._replicas = MemoryReplicas(self.replicas)
        self._reader = RowReader(self._replicas)

    def seen_by(self, gate):
        """Return the same rows, with another gate."""
        return MemoryRows(gate, self.replicas)

    def begin(self, request):
        told = super().begin(request)

        def wait():
            self.gate()
            return told()
        return wait

    def write(self, request):
        self.gate()
        return super().write(request)

    def check_verb(self):
        pass


class MemoryCache:
    """What is used of a ``MemcacheRing``, in a dict; as text, as there."""

    def __init__(self):
        self.held = {}
        self.is_down = False

    def incr(self, key, delta=1, time=0):
        if self.is_down:
            raise MemcacheConnectionError('down')
        value = int(self.held.get(key, 0)) + delta
        self.held[key] = str(value)
        return value

    def set_multi(self, mapping, server_key, time=0):
        if not self.is_down:
            self.held.update((key, json.dumps(value))
                             for key, value in mapping.items())

    def get_multi(self, keys, server_key):
        if self.is_down:
            return None
        return [json.loads(self.held[key]) if key in self.held else None
                for key in keys]
