# SPDX-License-Identifier: Apache-2.0
"""The source tree is the right one, or there is a clear error."""

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tests.upstream import source
from tools import ToolError


class TestSourceTree(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.version = source.installed_version()
        environ = {name: value for name, value in os.environ.items()
                   if name != 'SWIFT_SOURCE'}
        for patch in (mock.patch.dict(os.environ, environ, clear=True),
                      mock.patch.object(source, 'CACHE', self.root)):
            patch.start()
            self.addCleanup(patch.stop)

    def make_tree(self, name, version):
        (self.root / name / 'test' / 'unit').mkdir(parents=True)
        (self.root / name / 'PKG-INFO').write_text(
            'Name: swift\nVersion: %s\n' % version)
        return self.root / name

    def test_the_variable_names_the_tree(self):
        tree = self.make_tree('mine', self.version).resolve()
        os.environ['SWIFT_SOURCE'] = str(tree)
        self.assertEqual(tree, source.source_tree())

    def test_a_tree_of_another_version_is_refused(self):
        os.environ['SWIFT_SOURCE'] = str(self.make_tree('old', '2.30.0'))
        with self.assertRaisesRegex(ToolError,
                                    'is not Swift ' + self.version):
            source.source_tree()

    def test_a_directory_that_is_no_tree_is_refused(self):
        os.environ['SWIFT_SOURCE'] = str(self.root)
        with self.assertRaisesRegex(ToolError, 'needs PKG-INFO'):
            source.source_tree()

    def test_the_cached_tree_is_used_without_a_download(self):
        tree = self.make_tree('swift-' + self.version, self.version)
        with mock.patch.object(source, '_download') as download:
            self.assertEqual(tree, source.source_tree())
        download.assert_not_called()

    def test_a_failed_download_says_so_and_leaves_nothing(self):
        unreachable = {'PIP_NO_INDEX': '1', 'PIP_FIND_LINKS': ''}
        with mock.patch.dict(os.environ, unreachable):
            with self.assertRaisesRegex(ToolError, 'SWIFT_SOURCE'):
                source.source_tree()
        self.assertEqual([], list(self.root.iterdir()))
