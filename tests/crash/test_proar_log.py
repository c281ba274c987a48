# SPDX-License-Identifier: Apache-2.0
"""
The log knows of every write that is on the disk, and of every one that was
acknowledged, after kills and power cuts. What is done is in
proar_campaign.py.
"""

import os
import unittest
from shutil import which

import pytest

from tests.crash import campaigns


class CampaignCase(campaigns.CampaignCase):
    module = 'tests.crash.proar_campaign'


class TestKills(CampaignCase):

    def test_at_steps_of_writes_and_compactions(self):
        self.hold('killed-at-steps', stride=7)

    @pytest.mark.long
    def test_at_each_step_of_writes_and_compactions(self):
        self.hold('killed-at-steps')


@unittest.skipUnless(os.geteuid() == 0 and which('xfs_io'),
                     'only root can shut down an XFS file system')
class TestPowerCuts(CampaignCase):

    def test_at_steps_of_writes_and_compactions(self):
        self.hold('power-cut-at-steps', stride=13)

    def test_amid_traffic(self):
        self.hold('power-cut-in-traffic', rounds=4)

    @pytest.mark.long
    def test_at_each_step_of_writes_and_compactions(self):
        self.hold('power-cut-at-steps')

    @pytest.mark.long
    def test_amid_traffic_for_long(self):
        self.hold('power-cut-in-traffic', rounds=60, seed=100)
