# SPDX-License-Identifier: Apache-2.0
"""The life of versions and of their container at three sites, by dice: what
clients do, what befalls the sites, and what was acknowledged meanwhile.
"""

import random
import time
from io import BytesIO
from itertools import combinations
from unittest import mock

from swift.common.swob import Response
from swift.common.utils import Timestamp

from swift_lightsync.versioning.core.row_data import hidden_container
from swift_lightsync.versioning.core.signature import Claim
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.data.container_headers import (
    ENABLED,
    enabled_headers,
    sysmeta,
)
from swift_lightsync.versioning.proxy.container_deletion import next_life
from swift_lightsync.versioning.rows.rows import ClockRefused
from swift_lightsync.versioning.sites.database import Database
from swift_lightsync.versioning.sites.receiver import HEADER
from tests.unit.versioning.sites_world import CONTAINER, SITES, SiteContainer

HIDDEN = hidden_container(CONTAINER)
OBJECTS = ('o', 'p')
PAIRS = [frozenset(pair) for pair in combinations(SITES, 2)]
MINUTE, HOUR, YEAR = 60, 3600, 365 * 86400
SKEWS = (-YEAR, -HOUR, -2 * MINUTE, -30, -0.01, 0.01, 30, 2 * MINUTE, HOUR,
         YEAR)
NOTE, READ = 'X-Container-Meta-Note', 'X-Container-Read'
#: steps, and how often they are taken
STEPS = {'put': 12, 'mark': 4, 'amend': 5, 'purge': 6, 'remove': 5,
         'create': 5, 'change': 3, 'late_put': 2, 'plain': 1, 'cut': 5,
         'heal': 4, 'kill': 2, 'die': 3, 'clock': 3, 'lose': 4,
         'propagate': 12}


class Link:
    """
    The receiver of a site, behind a network that may be cut and lose things.

    :param world: the ``World``
    :param site: whose receiver it is
    """

    def __init__(self, world, site):
        self.world = world
        self.site = site
        self.receiver = site.receiver
        #: what happens to the next requests
        self.faults = []

    def handles(self, req):
        return self.receiver.handles(req)

    def __call__(self, req):
        sender = Claim.parse(req.headers[HEADER]).sender
        body = req.environ['wsgi.input'].read()
        fault = self.faults.pop() if self.faults else None
        if fault == 'request' or not self.world.reach(sender, self.site.name):
            return self.lost(req)
        response = self.answered(req, body)
        if fault == 'twice':
            assert self.answered(req, body).status_int == 403
        return self.lost(req) if fault == 'answer' else response

    def answered(self, req, body):
        req.environ['wsgi.input'] = BytesIO(body)
        return self.receiver(req)

    @staticmethod
    def lost(req):
        return Response(request=req, status=502)


class World:
    """What a trace does, and what was acknowledged.

    :param case: the ``SitesTestCase``
    """

    def __init__(self, case, seed):
        self.dice = random.Random(seed)
        self.sites = case.sites
        self.cuts = set()
        #: sites whose propagator dies: requests that it may send before
        self.dying = {}
        #: (object, id) of versions that are not purged to their data, which
        #: are None if it is a marker, and whether it is a null version
        self.live = {}
        #: of each object that had null versions, (object, id) of the newest
        self.newest_null = {}
        #: of those that were amended: when, and the content type
        self.amended = {}
        #: whether the container has to be gone at the end
        self.gone = False
        self.number = 0
        self.said = []
        self.propagators = {}
        for site in self.sites:
            site.receiver = Link(self, site)
            self.kill(site)
        self.sites[0].create(**{NOTE: '0'})
        self.settle()

    def reach(self, one, other):
        left = self.dying.get(one)
        if left is not None:
            self.dying[one] = left - 1
        return frozenset((one, other)) not in self.cuts and left != 0 and (
            left is None or left > 0)

    def play(self, length):
        for _ in range(length):
            step, = self.dice.choices(list(STEPS), STEPS.values())
            site = self.dice.choice(self.sites)
            self.say(site.name, step)
            try:
                getattr(self, step)(site)
            except ClockRefused:
                self.say('refused')

    def say(self, *words):
        self.said.append(' '.join(map(str, words)))

    # What clients do

    def write(self, site, body):
        obj = self.dice.choice(OBJECTS)
        null = self.dice.random() < 0.2
        version = site.delete(obj, null) if body is None \
            else site.put(obj, body, null=null)
        self.made(obj, version.id, body, null)

    def made(self, obj, stamp, body, null):
        key = obj, str(stamp)
        self.live[key] = body, null
        if null:
            self.newest_null[obj] = max(key, self.newest_null.get(obj, key))
        self.gone = False
        self.say('  made', *key, 'null' if null else '')

    def body(self):
        self.number += 1
        return b'%d' % self.number

    def put(self, site):
        if site.has(CONTAINER):
            self.write(site, self.body())

    def mark(self, site):
        if site.has(CONTAINER):
            self.write(site, None)

    def amend(self, site):
        """Change metadata, as the filter does."""
        obj = self.dice.choice(OBJECTS)
        entry = site.has(CONTAINER) and site.strategy.checked(obj)
        if not entry or entry.version.deleted:
            return
        changed = Stamp(site.strategy.tick(
            entry.changed or entry.version.id).ticks)
        kind, key = 't/%d' % self.number, (obj, str(entry.version.id))
        site.post_data((HIDDEN, entry.data_name), changed, {})
        site.strategy.amend(entry, kind, changed)
        self.amended[key] = max(self.amended.get(key, (changed, kind)),
                                (changed, kind))
        self.say('  amended', *key)

    def plain(self, site):
        """Store an object as if it were older than versioning."""
        if site.has(CONTAINER):
            obj, body = self.dice.choice(OBJECTS), self.body()
            seconds = int(time.time()) - 10 ** 6 + self.number
            site.put_plain(obj, body, seconds)
            self.made(obj, Stamp.parse(Timestamp(seconds).internal), body,
                      True)

    def purge(self, site):
        if site.has(CONTAINER):
            found = site.strategy.versions()
            if found:
                self.purge_one(site, self.dice.choice(found))

    def purge_one(self, site, entry):
        key = entry.object, str(entry.version.id)
        self.say('  purge', *key)
        site.purge(entry.object, entry.version.id)
        self.live.pop(key, None)
        self.amended.pop(key, None)

    def remove(self, site):
        """Delete the container; mostly, it is made empty before."""
        if not site.has(CONTAINER):
            return
        if self.dice.random() < 0.8:
            for entry in site.strategy.versions():
                self.purge_one(site, entry)
        if site.strategy.is_empty():
            known = self.known(site)
            self.gone = self.delete_container(site) and known and \
                self.is_last(site)
            self.say('  deleted', known)

    def known(self, site):
        """Check that the deleter knows all versions of all sites. An object
        from before versioning is known once its site has adopted it.
        """
        return not any(
            container == CONTAINER for each in self.sites
            for container, _ in each.data) and all(
            getattr(site.strategy.get(entry.object, entry.version.id),
                    'purged', None)
            for each in self.sites if each.has(HIDDEN)
            for entry in each.strategy.versions())

    def is_last(self, site):
        """Check that no site has a newer life record: one of a clock that is
        ahead comes later, and counts then.
        """
        mine = site.strategy.life()
        return all(each.strategy.life().stamp <= mine.stamp
                   for each in self.sites if each.has(HIDDEN)
                   and each.strategy.life())

    @staticmethod
    def delete_container(site):
        life = next_life(site.strategy, False)
        site.strategy.set_life(life)
        status = SiteContainer(site, CONTAINER).change(
            'DELETE', life.as_of).status_int
        if status != 204:
            site.strategy.set_life(next_life(site.strategy, True))
        return status == 204

    def late_put(self, site):
        """One writes while another deletes the container."""
        if site.has(CONTAINER) and site.strategy.is_empty():
            self.write(site, self.body())
            self.delete_container(site)

    def create(self, site):
        if not site.has(CONTAINER):
            site.strategy.checked()
            self.gone = False
            life = next_life(site.strategy, True)
            site.make_container(made=life.as_of, enabled=life.as_of)
            site.strategy.set_life(site.described(life))

    def change(self, site):
        if site.has(CONTAINER):
            site.strategy.checked()
            self.gone = False
            life = next_life(site.strategy, True)
            sent = {NOTE: self.body().decode(),
                    READ: self.dice.choice(['', '.r:*']),
                    **enabled_headers(self.dice.random() < 0.5)}
            SiteContainer(site, CONTAINER).change('POST', {
                **life.as_of, **sent})
            site.strategy.set_life(site.described(life, sent))

    # What befalls sites

    def cut(self, site):
        self.cuts.add(self.dice.choice(PAIRS))

    def heal(self, site):
        self.cuts.clear()

    def kill(self, site):
        self.propagators[site] = site.propagator(interval='0.01')

    def die(self, site):
        """A propagator is killed in the middle of its work."""
        self.dying[site.name] = self.dice.randrange(4)
        save_point = Database.save_point

        def saved(database, task, point):
            if self.dying[site.name] > 0:
                save_point(database, task, point)
        with mock.patch.object(Database, 'save_point', saved):
            self.propagate(site)
        del self.dying[site.name]
        self.kill(site)

    def clock(self, site):
        whose = self.dice.choice(['proxy', 'servers', 'all', 'right'])
        skew = self.dice.choice(SKEWS)
        self.say('  of', whose, skew)
        site.skew = skew if whose in ('proxy', 'all') else 0
        site.servers_skew = skew if whose in ('servers', 'all') else 0

    def lose(self, site):
        site.receiver.faults = self.dice.choices(
            ['request', 'answer', 'twice', None], k=6)

    def propagate(self, site):
        self.propagators[site].run_once()

    # The end

    def recover(self):
        self.cuts.clear()
        for site in self.sites:
            site.skew, site.servers_skew = 0, None
            site.receiver.faults = []
            # As if so much time had passed.
            site.clock.max_skew = 2 * YEAR
        self.settle()

    def settle(self):
        """All sites propagate until nothing changes."""
        before = None
        for _ in range(12):
            for site in self.sites:
                self.propagate(site)
            now = self.state()
            if now == before:
                return
            before = now
        raise AssertionError('it does not end: %s' % (before,))

    def reclaim(self):
        """Sites remove what they need no more, as if it were old."""
        for _ in range(6):
            for site in self.sites:
                site.propagate(interval='0.01', reclaim_age='0')

    def state(self):
        return [self.of(site) for site in self.sites]

    def of(self, site):
        """Return what can be seen of a site."""
        strategy = site.strategy
        return (
            site.has(CONTAINER), strategy.life(), {
                (entry.object, str(entry.version.id)): (
                    None if entry.version.deleted
                    else site.data[HIDDEN, entry.data_name][2], entry.null)
                for entry in strategy.versions()},
            {(entry.object, str(entry.version.id)):
             (entry.changed, entry.content_type)
             for entry in strategy.versions() if entry.changed},
            [(entry.object, str(entry.version.id))
             for entry in strategy.current()],
            {obj: site.latest(obj) for obj in OBJECTS},
            [site.metadata(name) for name in (NOTE, READ, sysmeta(ENABLED))]
            if site.has(CONTAINER) else None)
