# SPDX-License-Identifier: Apache-2.0
"""
What was acknowledged survives kills, power cuts and damage of a disk whose
objects are in volumes. What is done is in losf_campaign.py.
"""

import os
import unittest
from shutil import which

import pytest

from tests.crash import campaigns


class CampaignCase(campaigns.CampaignCase):
    module = 'tests.crash.losf_campaign'


class TestKills(CampaignCase):

    def test_of_the_object_server_at_steps_of_its_own(self):
        self.hold('killed-writers', stride=3)

    def test_of_the_index_server_at_steps_of_the_object_server(self):
        self.hold('killed-servers', stride=11)

    def test_of_the_index_server_at_steps_of_its_own(self):
        self.hold('killed-server-steps', rounds=20, stride=13)

    def test_of_both_amid_concurrent_changes(self):
        self.hold('killed-in-traffic', rounds=8)

    @pytest.mark.long
    def test_of_the_object_server_at_each_of_its_steps(self):
        self.hold('killed-writers')

    @pytest.mark.long
    def test_of_the_index_server_at_each_step_of_the_object_server(self):
        self.hold('killed-servers')

    @pytest.mark.long
    def test_of_the_index_server_at_many_steps_of_its_own(self):
        self.hold('killed-server-steps', rounds=300, stride=3)

    @pytest.mark.long
    def test_of_both_amid_concurrent_changes_for_long(self):
        self.hold('killed-in-traffic', rounds=100, seed=100)


@unittest.skipUnless(os.geteuid() == 0 and which('xfs_io'),
                     'only root can shut down an XFS file system')
class TestPowerCuts(CampaignCase):

    def test_amid_concurrent_changes(self):
        self.hold('power-cuts', rounds=6)

    @pytest.mark.long
    def test_amid_concurrent_changes_for_long(self):
        self.hold('power-cuts', rounds=100, seed=100)


class TestDamage(CampaignCase):

    def test_an_index_from_before_loses_nothing(self):
        self.hold('older-indexes', rounds=5)

    def test_what_was_begun_may_be_there_in_part(self):
        self.hold('torn-tails', rounds=5)

    def test_a_flipped_bit_is_found_and_one_of_the_index_costs_nothing(self):
        self.hold('bit-flips', rounds=40)

    @pytest.mark.long
    def test_the_same_for_long(self):
        self.hold('older-indexes', rounds=60, seed=100)
        self.hold('torn-tails', rounds=60, seed=100)
        self.hold('bit-flips', rounds=600, seed=100)
