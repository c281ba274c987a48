# SPDX-License-Identifier: Apache-2.0
"""What is remembered of containers, and when it is asked for again."""

import unittest
from types import SimpleNamespace
from unittest import mock

from swift.proxy.controllers.base import get_cache_key

from swift_lightsync.versioning.sites import shared
from swift_lightsync.versioning.sites.shared import KEPT, Infos

PLACE = 'a', 'c'
KEY = get_cache_key(*PLACE)


class Helper:
    """As ``SiteRequests``: it asks for what the request does not know."""

    def __init__(self):
        self.asked = 0
        self.exists = True

    def open(self, env, account, container, create=None):
        cache = env['swift.infocache']
        if KEY not in cache:
            self.asked += 1
            cache[KEY] = {'exists': self.exists}
        return SimpleNamespace(exists=cache[KEY]['exists'])


class TestInfos(unittest.TestCase):

    def setUp(self):
        self.helper = Helper()
        self.infos = Infos(self.helper)

    def open(self):
        """Each is another request."""
        return self.infos.open({}, *PLACE)

    def test_what_is_there_is_asked_for_once(self):
        for _ in range(3):
            self.assertTrue(self.open().exists)
        self.assertEqual(1, self.helper.asked)

    def test_what_is_missing_is_asked_for_each_time(self):
        self.helper.exists = False
        for _ in range(3):
            self.assertFalse(self.open().exists)
        self.helper.exists = True
        self.assertTrue(self.open().exists)
        self.assertEqual(4, self.helper.asked)

    def test_what_was_forgotten_is_asked_for(self):
        env = {}
        self.infos.open(env, *PLACE)
        self.infos.forget(env, *PLACE)
        self.helper.exists = False
        self.assertFalse(self.infos.open(env, *PLACE).exists)

    def test_it_is_forgotten_after_a_while_however_often_it_is_used(self):
        now = [0.0]
        with mock.patch.object(shared.time, 'monotonic', lambda: now[0]):
            self.open()
            now[0] = KEPT - 1
            self.open()
            now[0] = KEPT + 1
            self.open()
        self.assertEqual(2, self.helper.asked)

    def test_only_so_many_are_remembered(self):
        with mock.patch.object(shared, 'MOST', 2):
            infos = Infos(SimpleNamespace(
                open=lambda env, account, container, policy: (
                    env['swift.infocache'].update({
                        get_cache_key(account, container): {}}) or
                    SimpleNamespace(exists=True))))
            for number in range(5):
                infos.open({}, 'a', 'c%d' % number)
        self.assertEqual(2, len(infos._known))
