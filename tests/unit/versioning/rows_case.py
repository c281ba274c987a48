# SPDX-License-Identifier: Apache-2.0
"""Rows of a container at three container servers."""


from swift_lightsync.versioning.core.row_data import (
    Entry,
    Row,
    hidden_container,
)
from swift_lightsync.versioning.core.stamp import Stamp, offset_of
from swift_lightsync.versioning.core.verb import Page, Request, WireRow
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.rows.rows import RowsUnavailable
from tests.unit.sync.fixtures import wait_for
from tests.unit.versioning.fakes import NOW, SiteCase

T = int(NOW) * 100000
HIDDEN = '/a/' + hidden_container('c')


def entry(ticks=0, obj='o', site='north', vector=Vector(), **fields):
    stamp = Stamp(T + ticks, offset_of(0, 1))
    return Entry(obj, Version(stamp, site, vector), 3, 'abc', **fields)


def row(name='o', ticks=0, **fields):
    """A row that is none of a version."""
    return Row('\0X\0' + name, Stamp(T + ticks, 0xfe00000001), **dict(
        {'size': 3, 'etag': 'abc; sv_site=north'}, **fields))


def writes(*rows, obj='', **fields):
    return Request(obj, tuple(map(WireRow.of, rows)), **fields)


def named(*rows):
    return Request(names=tuple(each.name for each in rows))


def paged(**fields):
    return Request(page=Page(**fields))


class RowsCase(SiteCase):

    def setUp(self):
        super().setUp()
        self.rows = self.north.rows()
        self.servers = self.north.servers

    def held_by(self, server):
        """The rows of a server by name, deleted ones too."""
        broker = server.app._get_container_broker(
            'sda', '0', 'a', hidden_container('c'))
        return {item['name']: (item['created_at'], bool(item['deleted']))
                for item in broker.get_objects(include_deleted=None)}

    def names_on(self, server):
        return sorted(name for name, (_, deleted) in self.held_by(
            server).items() if not deleted)

    def put_on(self, servers, *rows, **fields):
        """Write rows to some replicas only."""
        for server in self.servers:
            if server not in servers:
                server.refuse()
        try:
            self.rows.write(writes(*rows, **fields))
        except RowsUnavailable:
            pass
        wait_for(lambda: not self.north.network.under_way, 'all is answered')
        for server in self.servers:
            server.recover()

    def each_majority(self):
        """Yield once for each server that is down meanwhile."""
        for down in self.servers:
            down.refuse()
            yield down
            down.recover()
