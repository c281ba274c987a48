# SPDX-License-Identifier: Apache-2.0
"""Runs campaigns, each in a process of its own: one without threads."""

import subprocess
import sys
import unittest

PATIENCE = 3000


class CampaignCase(unittest.TestCase):

    #: the module that has the campaigns
    module = None

    def hold(self, campaign, **options):
        """Run a campaign; all has to hold."""
        done = subprocess.run(
            [sys.executable, '-m', self.module, campaign,
             *('--%s=%d' % each for each in options.items())],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
        self.assertEqual(0, done.returncode, done.stderr[-8000:])
        print(done.stdout, end='')
