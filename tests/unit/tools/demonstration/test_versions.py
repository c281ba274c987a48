# SPDX-License-Identifier: Apache-2.0
"""The fourth act notices what goes wrong between sites, and cleans up."""

import io
import os
import signal
import unittest
from contextlib import ExitStack
from itertools import count
from types import SimpleNamespace
from unittest import mock

from swift_lightsync.versioning.core.stamp import Stamp, offset_of
from tools.cluster import ClusterError
from tools.demonstration import versions
from tools.demonstration.errors import DemoError
from tools.demonstration.history import SiteClient, Version
from tools.demonstration.show import Show

NAMES = ('rome', 'paris', 'oslo')


class World:
    """
    Sites as they should be: what is written is everywhere at once, or where
    it can get. A world that is not as it should be overrides a method.
    """

    def __init__(self):
        self.names, self.root = NAMES, '/sites'
        self.clusters = {name: mock.Mock(**{
            'environment.return_value': name, 'layout.spec': '/',
            'spec.versioning': {'mode': 'm'}}) for name in NAMES}
        self.held = {name: {} for name in NAMES}
        self.ticks = count(1)
        self.alone = None
        self.ended = []

    def up(self):
        pass

    def isolate(self, name):
        self.alone = name

    def heal(self):
        self.alone = None
        self.unite()

    def unite(self):
        everything = {}
        for held in self.held.values():
            everything.update(held)
        for held in self.held.values():
            held.update(everything)

    def reached(self, name):
        return [other for other in NAMES
                if (other == self.alone) == (name == self.alone)]

    def write(self, name, text):
        stamp = Stamp(next(self.ticks), offset_of(NAMES.index(name), 7))
        for other in self.reached(name):
            self.held[other][str(stamp)] = text

    def latest(self, name):
        return max(self.held[name], default=None)

    def purge(self, version_id):
        for held in self.held.values():
            del held[version_id]

    def restore(self, name, version_id):
        self.write(name, self.held[name][version_id])

    def down(self):
        self.ended.append('down')

    def destroy(self):
        self.ended.append('destroyed')


class Client(SiteClient):
    def __init__(self, world, name):
        self.world, self.name = world, name
        self.storage_url = 'http://' + name

    def keep_versions(self, container):
        pass

    def write(self, where, text):
        self.world.write(self.name, text)

    def read(self, where, version_id=None):
        return self.world.held[self.name].get(
            version_id or self.world.latest(self.name))

    def versions(self, where):
        latest = self.world.latest(self.name)
        return tuple(Version(each, each == latest, 1, 'e', 't')
                     for each in sorted(self.world.held[self.name])[::-1])

    def purge(self, where, version_id):
        self.world.purge(version_id)

    def restore(self, where, version_id):
        self.world.restore(self.name, version_id)


class TestConcurrentWrites(unittest.TestCase):
    def play(self, world):
        """:returns: what was shown"""
        self.show = Show(io.StringIO())
        act = versions.ConcurrentWrites(
            SimpleNamespace(make_sites=lambda: world), self.show)
        with ExitStack() as patches:
            for name, new in (
                    ('PATIENCE', 0.01), ('POLL', 0.001),
                    ('SiteClient', lambda name: Client(world, name))):
                patches.enter_context(mock.patch.object(versions, name, new))
            patches.enter_context(mock.patch.object(
                act, '_is_cut', lambda: True))
            act.run()
        return self.show.stream.getvalue()

    def assert_wrong(self, world, pattern, error=DemoError):
        with self.assertRaisesRegex(error, pattern):
            self.play(world)
        self.assertEqual(['down'], world.ended)
        self.assertIn('--dir /sites destroy', self.show.stream.getvalue())

    def test_the_sites_are_gone_at_the_end(self):
        world = World()
        text = self.play(world)
        self.assertEqual(['destroyed'], world.ended)
        self.assertIn('at paris, oslo', text)
        self.assertNotIn('/sites destroy', text)

    def test_the_histories_differ_while_a_site_is_cut_off(self):
        shown = self.play(World()).split('\n3. ')[0]
        alone, others = shown.split('  at rome  ')[1].split(
            '  at paris, oslo  ')
        self.assertIn('rome 2', alone)
        self.assertNotIn('paris 2', alone)
        self.assertIn('paris 2', others)
        self.assertNotIn('rome 2', others)

    def test_the_draft_is_the_latest_at_the_end(self):
        world = World()
        self.play(world)
        for name in NAMES:
            held = world.held[name]
            self.assertEqual('draft', held[world.latest(name)])
            self.assertEqual(5, len(held))

    def test_lines_that_are_not_cut_are_an_error(self):
        class Uncut(World):
            def isolate(self, name):
                pass

        self.assert_wrong(Uncut(), 'rome: the versions hold')

    def test_sites_that_never_agree_are_an_error(self):
        class Stubborn(World):
            def unite(self):
                pass

        self.assert_wrong(Stubborn(), 'rome, paris, oslo do not')

    def test_a_version_that_is_lost_everywhere_is_an_error(self):
        class Forgetful(World):
            def unite(self):
                super().unite()
                self.purge(min(self.held['rome']))

        self.assert_wrong(Forgetful(), 'hold paris 1, .*, not draft, paris')

    def test_sites_with_one_history_and_two_latest_are_an_error(self):
        class Biased(World):
            def latest(self, name):
                return (min if name == 'oslo' else max)(
                    self.held[name], default=None)

        self.assert_wrong(Biased(), 'oslo: the latest is .* not the greatest')

    def test_a_purge_that_is_not_everywhere_is_an_error(self):
        class Keeping(World):
            def purge(self, version_id):
                del self.held['rome'][version_id]

        self.assert_wrong(Keeping(), 'paris: the versions hold')

    def test_data_that_outlives_its_purge_is_an_error(self):
        class Tenacious(World):
            def purge(self, version_id):
                text = self.held['oslo'][version_id]
                super().purge(version_id)
                self.held['oslo'] = Kept(self.held['oslo'], version_id, text)

        self.assert_wrong(Tenacious(), 'with 404', ClusterError)

    def test_a_restore_of_other_data_is_an_error(self):
        class Mistaken(World):
            def restore(self, name, version_id):
                self.write(name, 'other')

        self.assert_wrong(Mistaken(), 'rome: the versions hold .*other')

    def test_an_interrupted_act_leaves_nothing(self):
        class Interrupted(World):
            def heal(self):
                raise KeyboardInterrupt

        world = Interrupted()
        with self.assertRaises(KeyboardInterrupt):
            self.play(world)
        self.assertEqual(['destroyed'], world.ended)

    def test_who_interrupts_twice_does_not_stop_the_cleaning_up(self):
        class Impatient(World):
            def heal(self):
                raise KeyboardInterrupt

            def destroy(self):
                os.kill(os.getpid(), signal.SIGINT)
                super().destroy()

        before = [signal.getsignal(each) for each in versions.STOPPERS]
        world = Impatient()
        with self.assertRaises(KeyboardInterrupt):
            self.play(world)
        self.assertEqual(['destroyed'], world.ended)
        self.assertEqual(before, [signal.getsignal(each)
                                  for each in versions.STOPPERS])


class Kept(dict):
    """Has one item that is found, but not listed."""

    def __init__(self, items, key, value):
        super().__init__(items)
        self.kept = {key: value}

    def get(self, key):
        return super().get(key, self.kept.get(key))
