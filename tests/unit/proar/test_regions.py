# SPDX-License-Identifier: Apache-2.0
"""regions: what swift.conf says of where primary roles live."""

import os
from unittest import mock

from swift.common import utils

import swift_lightsync
from swift_lightsync.common.options import OptionError
from swift_lightsync.proar.regions import NAME, SECTION, parse, regions_of
from tests.unit.sync.fixtures import SwiftTestCase


class TestRegions(SwiftTestCase):

    def of(self, text, number=0):
        path = os.path.join(self.root, 'swift-%d.conf' % number)
        with open(path, 'w') as conf:
            conf.write(text)
        with mock.patch.object(utils, 'SWIFT_CONF_FILE', path):
            return regions_of(self.policy)

    def test_they_are_read_for_each_policy(self):
        for number, (text, wanted) in enumerate((
                ('', set()), ('[primary-role-writes:1]\n', set()),
                ('[primary-role-writes:0]\n', set()),
                ('[primary-role-writes:0]\nprimary_role_regions = 0, 11',
                 {0, 11}),
                ('[primary-role-writes:0]\nprimary_role_regions =', set()))):
            self.assertEqual(wanted, self.of(text, number))

    def test_what_is_no_region_is_refused_by_name(self):
        for number, value in enumerate(('12', '-1', 'r1', '1,,2', '1;2')):
            with self.assertRaisesRegex(
                    OptionError, r'swift-%d.conf: \[primary-role-writes:0\]: '
                    'primary_role_regions = %s: must be numbers of regions, '
                    '0 to 11' % (number, value)):
                self.of('[primary-role-writes:0]\n'
                        'primary_role_regions = %s' % value, number)

    def test_the_sample_has_the_option_with_its_default(self):
        with open(os.path.join(os.path.dirname(os.path.dirname(
                swift_lightsync.__file__)), 'etc',
                'swift.conf-sample')) as sample:
            lines = sample.read().splitlines()
        self.assertIn('[%s]' % (SECTION % 1), lines)
        self.assertEqual(['# %s =' % NAME], [
            line for line in lines if NAME in line])
        self.assertEqual(frozenset(), parse(''))
