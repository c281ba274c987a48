# SPDX-License-Identifier: Apache-2.0
"""The options of LOSF: what is read, and what is refused."""

import unittest
from dataclasses import fields

from swift_lightsync.common.options import OptionError
from swift_losf.options import LosfOptions, ManagerOptions

SEVERAL = (LosfOptions, ManagerOptions)


class TestOptions(unittest.TestCase):

    def test_what_is_not_set_has_its_default(self):
        for cls in SEVERAL:
            self.assertEqual(cls(), cls.from_conf({}))

    def test_a_default_is_an_allowed_value(self):
        for cls in SEVERAL:
            conf = {cls.PREFIX + each.name: str(each.default)
                    for each in fields(cls)}
            self.assertEqual(cls(), cls.from_conf(conf))

    def test_what_is_set_is_parsed(self):
        self.assertEqual(
            LosfOptions('/ssd', 2.5, 0.0, 2 ** 30, 7, 3.5),
            LosfOptions.from_conf({
                'losf_index_path': '/ssd', 'losf_index_timeout': '2.5',
                'losf_index_retry_interval': '0',
                'losf_max_volume_size': '1073741824',
                'losf_max_volume_count': '7',
                'losf_volume_idle_time': '3.5'}))
        self.assertEqual(3.0, ManagerOptions.from_conf(
            {'stop_timeout': '3'}).stop_timeout)

    def test_options_without_the_prefix_are_not_ours(self):
        self.assertEqual(LosfOptions(), LosfOptions.from_conf(
            {'index_timeout': 'x', 'max_volume_size': '-1'}))

    def test_what_is_not_allowed_is_refused_with_name_and_value(self):
        for cls, name, values in (
                (LosfOptions, 'losf_index_path', ('ssd', './ssd')),
                *((LosfOptions, 'losf_' + each,
                   ('0', '-1', 'x', 'inf', 'nan', ''))
                  for each in ('index_timeout', 'volume_idle_time')),
                (LosfOptions, 'losf_index_retry_interval',
                 ('-1', 'x', 'inf', 'nan', '')),
                (LosfOptions, 'losf_max_volume_size',
                 ('0', '1048575', '10G', '1.5', '')),
                (LosfOptions, 'losf_max_volume_count', ('0', '-1', 'x', '')),
                (ManagerOptions, 'index_metadata', ('-1', 'x', '16385', '')),
                *((ManagerOptions, each.name, ('0', '-1', 'x', 'inf', ''))
                  for each in fields(ManagerOptions)
                  if each.name != 'index_metadata')):
            for value in values:
                with self.subTest(name=name, value=value):
                    with self.assertRaises(OptionError) as caught:
                        cls.from_conf({name: value, '__file__': '/etc/o'})
                    self.assertRegex(str(caught.exception), r'^/etc/o: '
                                     r'%s = %s: \S+' % (name, value))
