# SPDX-License-Identifier: Apache-2.0
"""What filewrite may read."""

import os
import random
from itertools import count

from cosbench.engine.upload_files import find, picker
from cosbench.errors import ConfigError
from tests.unit.cosbench.directory_case import DirectoryCase
from tests.unit.cosbench.documents import operation, work, works_of


class TestFind(DirectoryCase):

    def setUp(self):
        super().setUp()
        self.root = os.path.realpath(self.path('root'))
        self.outside = self.path('outside')
        for path in ('root/in/b', 'root/in/a', 'outside/secret'):
            self.put(path, path)

    def test_the_files_of_a_directory_are_found_in_order(self):
        expected = tuple(os.path.join(self.root, 'in', name)
                         for name in 'ab')
        self.assertEqual(expected, find(self.root, 'in'))
        self.assertEqual(expected, find(self.root, self.root + '/in'))

    def test_nothing_outside_of_the_root_is_read(self):
        with self.assertRaisesRegex(ConfigError, '--files'):
            find(None, 'in')
        os.symlink(self.outside + '/secret',
                   os.path.join(self.root, 'in', 'c'))
        self.assertEqual(2, len(find(self.root, 'in')))
        os.symlink(self.outside, os.path.join(self.root, 'link'))
        for directory in (self.outside, '../outside', 'link', '/',
                          self.root + 'x'):
            with self.subTest(directory), self.assertRaises(ConfigError):
                find(self.root, directory)

    def test_a_directory_without_files_is_refused(self):
        os.mkdir(os.path.join(self.root, 'empty'))
        for directory in ('empty', 'absent', 'in/a'):
            with self.subTest(directory), self.assertRaises(ConfigError):
                find(self.root, directory)

    def test_the_selection_says_which_file_is_next(self):
        paths = ('a', 'b', 'c')
        for selection, expected in (('s', 'abcabc'), ('r', 'abcabc')):
            found = works_of(work(operation(
                'containers=c(1);files=x;fileselection=' + selection,
                'filewrite')))[0].operations[0]
            draw = picker(paths, found, random.Random(1), count())
            self.assertEqual(expected, ''.join(draw() for _ in range(6)))
