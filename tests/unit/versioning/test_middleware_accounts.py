# SPDX-License-Identifier: Apache-2.0
"""The versioning filter: accounts, and its options."""

import unittest
from unittest import mock

from swift.common import registry

from swift_lightsync.common.options import OptionError
from swift_lightsync.versioning.core.row_data import hidden_container
from swift_lightsync.versioning.proxy import middleware
from swift_lightsync.versioning.proxy.account_context import (
    hidden_params,
    merged,
)
from tests.unit.sync.fixtures import SwiftTestCase


class TestAccounts(unittest.TestCase):

    def test_the_hidden_containers_of_a_page_are_asked_for(self):
        self.assertEqual({
            'prefix': hidden_container('p'), 'limit': '5',
            'marker': hidden_container('m'), 'format': 'json'},
            hidden_params({'prefix': 'p', 'limit': '5', 'marker': 'm'}))
        self.assertEqual(hidden_container(''), hidden_params({})['prefix'])

    def test_what_a_hidden_container_holds_is_its_user_s_container_s(self):
        hidden = [{'name': hidden_container(name), 'bytes': 2, 'count': 7}
                  for name in 'ab']
        self.assertEqual(
            [{'name': 'a', 'bytes': 2, 'count': 7},
             {'name': 'b', 'bytes': 3, 'count': 8}],
            merged([{'name': 'b', 'bytes': 1, 'count': 1}], hidden, False,
                   10))

    def test_what_only_has_records_is_not_listed(self):
        """Where it is large, or was sharded, Swift counts records, too."""
        for count in 0, 3:
            self.assertEqual([], merged([], [
                {'name': hidden_container('a'), 'bytes': 0, 'count': count}],
                False, 10))

    def test_a_listing_keeps_its_limit_and_its_order(self):
        listing = [{'name': name, 'bytes': 0, 'count': 0} for name in 'db']
        hidden = [{'name': hidden_container('c'), 'bytes': 1, 'count': 1}]
        self.assertEqual(['d', 'c'], [
            item['name'] for item in merged(listing, hidden, True, 2)])


class TestOptions(SwiftTestCase):

    def make(self, **conf):
        with mock.patch.object(registry, '_swift_info', {}):
            middleware.filter_factory(dict(
                {'site': 'north', 'site_preference': 'north,south',
                 'swift_dir': self.root}, **conf))
            return registry.get_swift_info()

    def test_info_has_swift_s_name_and_ours(self):
        info = self.make(mode='read-repair')
        self.assertEqual({}, info['object_versioning'])
        self.assertEqual({'site': 'north', 'mode': 'read-repair',
                          'allow_versioning': True,
                          'latest_cache_time': 0},
                         info['site_versioning'])

    def test_a_wrong_option_is_an_error_that_says_what_is_allowed(self):
        for name, value, allowed in (
                ('mode', 'x', 'write-repair or read-repair'),
                ('max_clock_skew', '-1', '0 to 86400'),
                ('allow_versioning', 'x', 'true or false'),
                ('site', '', '1 to 32'),
                ('site_preference', 'south', 'among them north')):
            with self.assertRaisesRegex(OptionError, '%s = %s: .*%s' % (
                    name, value, allowed)):
                self.make(**{name: value})
