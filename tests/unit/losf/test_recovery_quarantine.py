# SPDX-License-Identifier: Apache-2.0
"""An index that is made anew when there are files in quarantine."""

import os

from swift_losf.upkeep.sweeper import Sweeper
from swift_losf.volumes.volume import mark_durable, mark_quarantined
from tests.unit.losf.index_world import NAME, OTHER, RecoveryTest

FRAGMENT = '1700000000.00001#2.data'


class TestQuarantineOfALostIndex(RecoveryTest):
    """What the quarantined file had superseded does not come back."""

    def rebuilt(self, *records):
        """
        :param records: (name, number of the volume, quarantined) each
        :returns: the index of nothing but these
        """
        locations = {}
        for name, number, quarantined in records:
            locations[name] = self.write(name, number=number)
            if quarantined:
                mark_quarantined(self.layout, locations[name])
        index = self.recover()
        self.assert_counted(index)
        return index, locations

    def test_the_older_version_is_given_back_whichever_is_found_first(self):
        for first, second in ((3, 4), (6, 5)):
            index, locations = self.rebuilt(
                (NAME, first, False), (OTHER, second, True))
            self.assertEqual([], self.names(index))
            self.assertEqual([OTHER], [each[2] for each in
                                       index.reader.list_quarantine()[0]])
            self.assertTrue(index.reclaim.has(locations[NAME]))
            self.assertFalse(index.reclaim.has(locations[OTHER]))
            Sweeper(self.layout, index, 1, None).sweep()
            self.lose_index(index)
            for number in (first, second):
                self.release(number)
                os.unlink(self.layout.volume(number))

    def test_a_newer_version_is_a_file(self):
        for first, second in ((3, 4), (6, 5)):
            index, _ = self.rebuilt((NAME, first, True),
                                    (OTHER, second, False))
            self.assertEqual([OTHER], self.names(index))
            self.lose_index(index)

    def test_what_quarantined_metadata_was_of_is_a_file(self):
        index, _ = self.rebuilt((NAME, 1, False),
                                (OTHER.replace('.data', '.meta'), 1, True))
        self.assertEqual([NAME], self.names(index))

    def test_a_fragment_that_was_not_durable_has_superseded_nothing(self):
        newer = FRAGMENT.replace('00001', '00009')
        index, locations = self.rebuilt((FRAGMENT, 1, False),
                                        (newer, 1, True))
        self.assertEqual([FRAGMENT], self.names(index))
        mark_durable(self.layout, locations[newer])
        self.lose_index(index)
        self.assertEqual([], self.names(self.recover()))
