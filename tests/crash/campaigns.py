# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
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
