# SPDX-License-Identifier: Apache-2.0

import os
import tempfile
import unittest


def new_directory(case):
    """:returns: the path of a directory that goes with the test"""
    place = tempfile.TemporaryDirectory()
    case.addCleanup(place.cleanup)
    return place.name


class DirectoryCase(unittest.TestCase):
    """Has a directory of its own."""

    def setUp(self):
        self.directory = new_directory(self)

    def path(self, name):
        return os.path.join(self.directory, name)

    def put(self, name, text):
        """:returns: the path of a new file"""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), 'w', encoding='utf8') as output:
            output.write(text)
        return self.path(name)
