# SPDX-License-Identifier: Apache-2.0
"""swift_lightsync/versioning/sites/options.py: what the file may say."""

import os
import tempfile
import unittest

from swift_lightsync.common.options import OptionError
from swift_lightsync.versioning.sites.options import (
    Endpoint,
    Peer,
    PropagatorOptions,
    SiteOptions,
    parse,
)

KEY = 'k' * 32
GOOD = '[paris]\nendpoints = https://swift.paris.example\nkey = %s\n' % KEY


class TestSitesConf(unittest.TestCase):

    def test_a_peer_is_read(self):
        text = ('[paris]\nendpoints = http://10.0.0.1:8080, '
                'https://[fe80::1]:8443/, https://p.example\nkey = %s\n'
                'old_key = %s\n' % (KEY, 'o' * 40))
        self.assertEqual({'paris': Peer('paris', (
            Endpoint('10.0.0.1', 8080), Endpoint('fe80::1', 8443, True),
            Endpoint('p.example', 443, True)),
            (KEY.encode(), b'o' * 40))}, parse(text, 'rome', 'f'))

    def test_a_key_may_have_percent_signs(self):
        found = parse(GOOD.replace(KEY, '%' * 32), 'rome', 'f')
        self.assertEqual((b'%' * 32,), found['paris'].keys)

    def test_what_is_wrong_is_named(self):
        for text, *words in (
                (GOOD.replace('paris]', 'Paris]'), 'Paris', 'a-z'),
                (GOOD.replace('paris]', 'rome]'), '[rome]', 'itself'),
                (GOOD.replace(KEY, 'short'), 'key', '5', '32'),
                (GOOD.replace('key = %s' % KEY, ''), 'key', '32'),
                (GOOD + 'old_key = x\n', 'old_key', '32'),
                (GOOD.replace('https:', 'ftp:'), 'endpoints', 'ftp:'),
                (GOOD.replace('.example', '.example/v1'), 'endpoints'),
                (GOOD.replace('.example', '.example:x'), 'endpoints'),
                (GOOD.replace('.example', '.example:0'), 'endpoints'),
                (GOOD.replace('.example', '.example,'), 'endpoints'),
                (GOOD + 'colour = red\n', 'colour', 'endpoints'),
                (GOOD + GOOD, 'paris'), ('x', 'versions.conf')):
            with self.subTest(text):
                with self.assertRaises(ValueError) as caught:
                    parse(text, 'rome', '/etc/versions.conf')
                for word in (*words, '/etc/versions.conf'):
                    self.assertIn(word, str(caught.exception))

    def test_a_key_is_never_in_an_error(self):
        with self.assertRaises(ValueError) as caught:
            parse(GOOD.replace(KEY, 'hushhush'), 'rome', 'f')
        self.assertNotIn('hushhush', str(caught.exception))

    def test_two_sites_do_not_have_the_same_key(self):
        other = GOOD.replace('[paris]', '[oslo]').replace(KEY, 'o' * 32)
        parse(GOOD + other, 'rome', 'f')
        for line in ('key = %s' % KEY, 'key = %s\nold_key = %s' % (
                'p' * 32, KEY)):
            with self.assertRaises(ValueError) as caught:
                parse(GOOD + other.replace('key = %s' % ('o' * 32), line),
                      'rome', 'f')
            self.assertIn('[paris] and [oslo]', str(caught.exception))
            self.assertNotIn(KEY, str(caught.exception))


class TestOptions(unittest.TestCase):

    good = {'site': 'rome', 'site_preference': 'paris, rome'}

    def test_the_sites_are_read(self):
        found = SiteOptions.from_conf({**self.good, 'swift_dir': '/d'})
        self.assertEqual(SiteOptions('rome', ('paris', 'rome'),
                                     '/d/versioning-sites.conf'), found)

    def test_what_is_wrong_is_named(self):
        for name, value in (
                ('site', ''), ('site', 'Rome'), ('site', 'oslo'),
                ('site_preference', ''), ('site_preference', 'rome,rome'),
                ('site_preference', 'rome,'),
                ('site_preference', ','.join(
                    ['rome'] + ['s%d' % each for each in range(256)]))):
            with self.assertRaises(OptionError) as caught:
                SiteOptions.from_conf({**self.good, name: value})
            self.assertIn('site', str(caught.exception))

    def test_a_peer_that_has_no_rank_is_refused(self):
        with tempfile.TemporaryDirectory() as root:
            path = os.path.join(root, 'versioning-sites.conf')
            with open(path, 'w') as conf:
                conf.write(GOOD)
            conf = {**self.good, 'sites_conf': path}
            self.assertEqual(
                ['paris'], list(SiteOptions.from_conf(conf).peers()))
            conf['site_preference'] = 'rome, oslo'
            with self.assertRaises(OptionError) as caught:
                SiteOptions.from_conf(conf).peers()
            self.assertIn('[paris]', str(caught.exception))

    def test_only_a_site_that_is_alone_needs_no_file(self):
        alone = {'site': 'rome', 'site_preference': 'rome',
                 'sites_conf': '/nonexistent/sites.conf'}
        self.assertEqual({}, SiteOptions.from_conf(alone).peers())
        for wrong in ({**alone, 'site_preference': 'rome, paris'},
                      {**alone, 'sites_conf': '/'}):
            with self.assertRaises(OptionError) as caught:
                SiteOptions.from_conf(wrong).peers()
            self.assertIn(wrong['sites_conf'], str(caught.exception))

    def test_a_value_that_is_not_allowed_is_named(self):
        for name, value in (('interval', '0'), ('concurrency', '0'),
                            ('batch_size', '1001'), ('conn_timeout', 'x'),
                            ('max_bytes_per_second', '-1'),
                            ('reclaim_age', '-1'), ('handover_delay', 'inf')):
            with self.assertRaises(OptionError) as caught:
                PropagatorOptions.from_conf({name: value})
            self.assertIn(name, str(caught.exception))
