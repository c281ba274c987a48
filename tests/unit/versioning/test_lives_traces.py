# SPDX-License-Identifier: Apache-2.0
"""Random lives of versions and of their container at three sites: writes,
purges, deletions of the container; links that are cut or lose requests,
propagators that die, wrong clocks. When all is well again, and nothing changes
any more, what follows from what was acknowledged is at all sites.

TRACES says how many traces are played, FIRST_TRACE the seed of the first one.
A trace follows from its seed, but for what the wall clock says.
"""

import os
import random
import time
from contextlib import contextmanager

from tests.unit.versioning.lives_world import HIDDEN, OBJECTS, World
from tests.unit.versioning.sites_world import SITES, STRATEGIES, SitesTestCase

TRACES = int(os.environ.get('TRACES', 12))
FIRST = int(os.environ.get('FIRST_TRACE', 1))


class TestLivesOfVersions(SitesTestCase):

    #: that replicas differ is what test_agreement.py is about
    devices = ('sda',)

    @contextmanager
    def told(self, seed, world):
        try:
            yield
        except Exception as err:
            raise AssertionError('FIRST_TRACE=%d TRACES=1 fails:\n%s' % (
                seed, '\n'.join(world.said))) from err

    def check(self, world):
        state = world.state()
        for other in state[1:]:
            self.assertEqual(state[0], other)
        there, life, live, amended, current, latest, _ = state[0]
        self.assertEqual(self.expected(world, live), live)
        self.assertEqual({key: told for key, told in world.amended.items()
                          if key in live}, amended)
        heads = {obj: max((stamp for name, stamp in live
                           if name == obj), default=None) for obj in OBJECTS}
        self.assertEqual(heads, latest)
        self.assertEqual([(obj, heads[obj]) for obj in OBJECTS if heads[obj]],
                         current)
        self.assertEqual(life.exists, there)
        if live:
            self.assertTrue(there)
        if world.gone:
            self.assertFalse(there)

    @staticmethod
    def expected(world, live):
        """Return what has to be live: of null versions the newest; if that is
        purged, perhaps another one, that had not heard of it.
        """
        wanted = {}
        for key, told in world.live.items():
            newest = world.newest_null.get(key[0])
            if not told[1] or key == newest or \
                    newest not in world.live and key in live:
                wanted[key] = told
        nulls = [obj for (obj, _), told in wanted.items() if told[1]]
        assert len(nulls) == len(set(nulls)), nulls
        return wanted

    def play(self, seed):
        world = World(self, seed)
        with self.told(seed, world):
            world.play(world.dice.randrange(5, 40))
            world.recover()
            self.check(world)
            if seed % 4 == 0:
                self.check_reclaimed(world)

    def check_reclaimed(self, world):
        there, life, *_ = before = world.of(self.rome)
        # One of a clock that was ahead is kept until then.
        is_old = life.stamp.seconds < time.time()
        world.reclaim()
        for site in self.sites:
            if there:
                self.assertEqual(before, world.of(site))
            elif is_old:
                self.assertFalse(site.has(HIDDEN))

    def test_all_sites_have_what_was_acknowledged(self):
        for seed in range(FIRST, FIRST + TRACES):
            with self.subTest(seed):
                self.doCleanups()
                self.modes = random.Random(seed).choices(
                    list(STRATEGIES), k=len(SITES))
                self.setUp()
                self.play(seed)
