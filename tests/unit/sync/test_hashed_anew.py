# SPDX-License-Identifier: Apache-2.0
"""hashed_anew: what was hashed lately is not hashed again, what is old is."""

import unittest
from unittest import mock

from swift_lightsync.sync import hashed_anew
from swift_lightsync.sync.hashed_anew import LATELY, HashedAnew


class TestHashedAnew(unittest.TestCase):

    def test_only_what_was_hashed_lately_counts(self):
        df_mgr = mock.Mock()
        df_mgr.list_dir.return_value = ['abc']
        df_mgr._get_hashes.return_value = 1, {}
        with mock.patch.object(hashed_anew.time, 'monotonic',
                               return_value=0.0) as clock:
            anew = HashedAnew(df_mgr, 0)
            found = []
            # However long nobody has asked.
            for clock.return_value in (1, LATELY, LATELY + 2, 3 * LATELY,
                                       100 * LATELY):
                found.append(anew.ensure('/nowhere', 'sda', 7))
        self.assertEqual([1, 0, 1, 1, 1], found)
