# SPDX-License-Identifier: Apache-2.0
"""regions and epochs: where primary roles live, and by which ring."""

import os
from unittest import mock

from swift.common import utils

import swift_lightsync
from swift_lightsync.common.options import OptionError
from swift_lightsync.proar.core.epochs import (
    epoch_number,
    epoch_text,
    is_newer,
    regions_in,
    version_in,
)
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


class TestEpochs(SwiftTestCase):

    def test_one_number_has_the_version_and_a_bit_for_each_region(self):
        for version, regions, number, text in (
                (7, (), 7, 'ring 7'),
                (2 ** 20 - 1, (0,), 2 ** 21 - 1,
                 'ring 1048575, primary roles in regions 0'),
                (0, (11, 2), 2 ** 31 + 2 ** 22,
                 'ring 0, primary roles in regions 2+11')):
            self.assertEqual(number, epoch_number(version, regions))
            self.assertEqual((version, set(regions), text), (
                version_in(number), regions_in(number), epoch_text(number)))

    def test_regions_make_no_epoch_newer(self):
        one, other = epoch_number(7, ()), epoch_number(7, (1,))
        self.assertFalse(is_newer(one, other) or is_newer(other, one))
        self.assertTrue(is_newer(epoch_number(8, ()), other))
