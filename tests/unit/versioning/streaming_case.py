# SPDX-License-Identifier: Apache-2.0
"""A task for a peer that is a dict, which the wire's real messages reach."""

import unittest
from types import SimpleNamespace

from swift.common.concurrency import sleep

from swift_lightsync.versioning.core import shipping
from swift_lightsync.versioning.core.row_data import Entry, Kind
from swift_lightsync.versioning.core.shipment import Shipment
from swift_lightsync.versioning.core.shipping import Lacking, Result, Results
from swift_lightsync.versioning.core.stamp import TICKS, Stamp
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.sites.local_data import DataMissing
from swift_lightsync.versioning.sites.options import PropagatorOptions
from swift_lightsync.versioning.sites.outgoing import Reader
from swift_lightsync.versioning.sites.peer_task import PeerTask
from swift_lightsync.versioning.sites.task_runner import TaskRunner
from tests.unit.sync.fixtures import CapturingLogger
from tests.unit.versioning.fakes import NOW


class Item(SimpleNamespace):
    """A version, its row and its ``data``."""

    life = None


def version(number, seconds=NOW, site='rome', data=b'x', **fields):
    stamp = Stamp(int(seconds * TICKS), number + 1)
    name = 'o%d' % number
    return Item(
        rowid=number + 1, data=data, made=seconds,
        row=SimpleNamespace(name=name, stamp=stamp),
        entry=Entry(name, Version(stamp, site, Vector({site: stamp})),
                    len(data), 'e', **fields))


class Database:

    hidden = True
    place = (0, 1)

    def __init__(self, items, container='c', account='a'):
        self.id = account, container
        self.account = account
        self.container = container
        self.all = list(items)
        self.saved = -1

    def items(self, after, limit):
        return [(each.rowid, each.made, each) for each in self.all
                if each.rowid > after][:limit]

    def items_at(self, rowids):
        return {row: item for row, _, item in self.items(-1, 10 ** 6)
                if row in rowids}

    def point(self, task):
        return self.saved

    def save_point(self, task, point):
        self.saved = point


class Databases(list):

    def refresh(self, age=0):
        """They are always up to date."""

    def followed(self, hidden):
        return [(each, each) for each in self]

    def state(self, directory):
        return len(directory.all)


class Source:
    """What ``LocalData`` gives."""

    def open(self, database, item):
        if item.data is None:
            raise DataMissing('its data is missing')
        data = item.data if item.entry.kind is Kind.DATA else b''
        return Shipment(database.account, database.container, item.entry,
                        length=getattr(item, 'length', len(data))), [data]


class Peer:
    """A ``PeerClient`` and the site behind it."""

    peer = SimpleNamespace(name='paris')
    site = 'rome'

    def __init__(self):
        #: (container, object) to the data
        self.held = {}
        #: what was asked: 'offer' or 'ship', and of how many
        self.requests = []
        self.under_way = self.most_under_way = 0
        #: a function of the number of a request and its verb, called when it
        #: has come; it may raise
        self.before = lambda number, verb: None
        #: the same, called when all is done, but the answer is not sent yet
        self.after = lambda number, verb: None
        #: versions that it looks at in an offer
        self.looked = 10 ** 9
        #: that it does in a second
        self.rate = 10 ** 9
        #: of what is shipped: how much is under way, and was
        self.work_under_way = 0
        self.most_held = []
        #: packs at the same time
        self.packs = self.most_shipped = 0
        #: a function of a Shipment: the Result that it gets instead, or None
        self.refuse = lambda shipment: None

    def offer(self, groups):
        offered = shipping.decode(shipping.offer(groups)).groups
        places = [(group.container, each.object) for group in offered
                  for each in group.versions]
        looked = min(self.looked, len(places))
        return self._asked('offer', len(places), lambda: Lacking(tuple(
            place for place, key in enumerate(places[:looked])
            if key not in self.held), later=tuple(
                range(looked, len(places)))))

    def ship(self, frames, data, length):
        whole = data if isinstance(data, bytes) else b''.join(data)
        assert len(whole) == length
        found = shipping.decode(shipping.pack(frames))
        seconds = (self.work_under_way + len(frames)) / self.rate
        assert found.length == length
        assert found.is_small == isinstance(data, bytes)

        def store():
            start, results = 0, []
            for frame in found.shipments:
                shipment, end = frame.open(), start + frame.length
                refused = self.refuse(shipment)
                if not refused:
                    self.held[shipment.container, shipment.entry.object] = \
                        whole[start:end]
                results.append(refused or Result(201))
                start = end
            return Results(tuple(results), seconds)
        return self._asked('ship', len(frames), store)

    def _asked(self, verb, count, act):
        number = len(self.requests)
        self.requests.append((verb, count))
        self.under_way += 1
        shipped = count if verb == 'ship' else 0
        self.work_under_way += shipped
        self.most_held.append(self.work_under_way)
        self.packs += verb == 'ship'
        self.most_shipped = max(self.packs, self.most_shipped)
        self.most_under_way = max(self.under_way, self.most_under_way)
        try:
            # As all who are under way at once are.
            for _ in range(10):
                sleep(0)
            self.before(number, verb)
            answer = act()
            self.after(number, verb)
            return answer
        finally:
            self.under_way -= 1
            self.work_under_way -= shipped
            self.packs -= verb == 'ship'

    def counted(self, verb):
        return [count for each, count in self.requests if each == verb]


class StreamCase(unittest.TestCase):

    def start(self, *databases, **options):
        self.databases = Databases(databases)
        self.logger = CapturingLogger()
        self.now = NOW
        self.peer = Peer()
        self.new_runner(**options)

    def new_runner(self, **options):
        options = PropagatorOptions(**options)
        self.task = PeerTask(self.peer, Reader(Source(), 1), options,
                             self.logger, now=lambda: self.now)
        self.runner = TaskRunner(self.task, self.databases, options,
                                 self.logger, lambda: self.now)

    def later(self, seconds=100):
        self.now += seconds
        self.runner.run_all()

    def assert_all_arrived(self):
        self.assertEqual({(each.container, item.entry.object): item.data
                          for each in self.databases for item in each.all},
                         self.peer.held)
        self.assertEqual(0, self.runner.lag().rows)
        for each in self.databases:
            self.assertEqual(each.all[-1].rowid, each.saved)
