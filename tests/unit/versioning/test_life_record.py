# SPDX-License-Identifier: Apache-2.0
"""What the life record of a container says, as a row and as a message."""

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.common.records import RecordError
from swift_lightsync.versioning.core.life import (
    ENABLED,
    Life,
    changes,
    common_headers,
    life_of,
    life_row,
)
from swift_lightsync.versioning.core.row_data import Row
from swift_lightsync.versioning.core.stamp import Stamp
from tests.unit.sync.fixtures import SwiftTestCase

lives = st.builds(Life, st.booleans(), st.builds(
    Stamp, st.integers(0, 9), st.integers(0, 3)),
    st.sampled_from(('rome', 'paris')))


class TestRecord(SwiftTestCase):

    @given(lives)
    def test_a_row_keeps_what_a_record_says(self, life):
        self.assertEqual(life, life_of(life_row(life)))
        self.assertFalse(life_row(life).deleted)

    def test_no_other_row_is_a_record(self):
        for row in Row('o', Stamp(1)), Row('\0C', Stamp(1), deleted=True), \
                Row('\0C', Stamp(1)):
            self.assertRaises(ValueError, life_of, row)

    def test_other_sites_are_told_of_what_all_have_in_common(self):
        self.assertEqual((
            ('x-container-meta-quota-bytes', '7'),
            ('x-container-read', '.r:*'), (ENABLED, 'true')), common_headers(
                [('X-Container-Read', '.r:*'), ('X-Storage-Policy', 'gold'),
                 ('X-Container-Meta-Quota-Bytes', '7'),
                 ('X-Container-Sysmeta-A', '1'), ('X-Container-Write', '')],
                True))

    def test_the_whole_set_replaces_the_older_one(self):
        self.assertEqual(
            {'x-container-meta-a': '2', 'x-container-read': '',
             'x-container-write': '', ENABLED: 'false'},
            dict(changes(['X-Container-Meta-A', 'X-Container-Read', 'Date'],
                         (('x-container-meta-a', '2'), (ENABLED, 'false')))))

    def test_a_message_is_checked(self):
        good = {'exists': True, 'stamp': '1700000000.00000', 'site': 'rome',
                'described': '1700000000.00000',
                'headers': [['x-container-read', '.r:*'], [ENABLED, 'true']]}
        found = Life.from_json(good)
        self.assertEqual(found, Life.from_json(found.to_json()))
        for wrong in ({'headers': []}, {'site': 'A'}, {'described': None},
                      {'described': '1700000000.00001'},
                      {'headers': [*good['headers'],
                                   ['x-container-meta-a', '%' * 22000]]},
                      {'stamp': 'x'}, {'headers': [[ENABLED, 'maybe']]},
                      {'headers': [*good['headers'], ['x-timestamp', '1']]},
                      {'headers': [*good['headers'],
                                   ['x-container-meta-a', 'b\r\nc']]},
                      {'headers': good['headers'] * 2},
                      {'headers': [['X-Container-Read', 'a'],
                                   [ENABLED, 'true']]}):
            with self.assertRaises(RecordError, msg=wrong):
                Life.from_json({**good, **wrong})
