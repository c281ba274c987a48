# SPDX-License-Identifier: Apache-2.0
"""Names below tools/, which is on the path of whatever tools/env runs."""

import os
import unittest
from importlib import metadata

from tools import REPO


class TestNames(unittest.TestCase):

    def test_no_tool_hides_an_installed_package(self):
        # pip, tox and Sphinx fail where they find another `packaging`.
        installed = set(metadata.packages_distributions())
        self.assertEqual({'cosbench'} & installed, installed & {
            name for name in os.listdir(os.path.join(REPO, 'tools'))
            if name != '__pycache__'})
