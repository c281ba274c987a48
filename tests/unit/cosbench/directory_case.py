# SPDX-License-Identifier: Apache-2.0

import os
import tempfile
import unittest


class DirectoryCase(unittest.TestCase):
    """Has a directory of its own."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.directory = place.name

    def path(self, name):
        return os.path.join(self.directory, name)
