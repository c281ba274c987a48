# SPDX-License-Identifier: Apache-2.0
"""The catalogue chooses real files, evenly and always the same."""

import os
import tempfile
import unittest

from tools.demonstration import catalogue
from tools.demonstration.errors import DemoError


class TestChoose(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.top = directory.name

    def write(self, name, size=1):
        path = os.path.join(self.top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as new:
            new.write(b'x' * size)

    def names(self, count):
        return [each.name for each in catalogue.choose(
            count, {'tree': self.top})]

    def test_files_come_evenly_from_all(self):
        for number in range(10):
            self.write('%d' % number)
        self.assertEqual(['tree/0', 'tree/2', 'tree/4', 'tree/6', 'tree/8'],
                         self.names(5))

    def test_a_file_is_read_from_where_it_is(self):
        self.write('a/b', size=7)
        chosen, = catalogue.choose(1, {'tree': self.top})
        self.assertEqual('tree/a/b', chosen.name)
        self.assertEqual(b'x' * 7, chosen.read())

    def test_a_file_that_has_gone_meanwhile_is_an_error(self):
        self.write('a')
        chosen, = catalogue.choose(1, {'tree': self.top})
        os.unlink(chosen.path)
        with self.assertRaisesRegex(DemoError, chosen.path):
            chosen.read()

    def test_what_is_no_proper_file_is_left_out(self):
        self.write('good')
        self.write('compiled.pyc')
        self.write('large', catalogue.MAX_SIZE + 1)
        self.write('__pycache__/cached')
        self.write('.git/config')
        os.symlink('good', os.path.join(self.top, 'link'))
        os.mkfifo(os.path.join(self.top, 'fifo'))
        with open(os.path.join(self.top.encode(), b'\xff'), 'wb'):
            pass
        self.assertEqual(['tree/good'], self.names(1))
        with self.assertRaises(DemoError):
            self.names(2)

    def test_files_of_more_than_the_size_that_is_asked_for_are_left_out(self):
        self.write('small', 10)
        self.write('larger', 11)
        chosen, = catalogue.choose(1, {'tree': self.top}, max_size=10)
        self.assertEqual('tree/small', chosen.name)

    def test_files_of_less_than_the_size_that_is_asked_for_are_left_out(self):
        self.write('small', 9)
        self.write('larger', 10)
        chosen, = catalogue.choose(1, {'tree': self.top}, min_size=10)
        self.assertEqual('tree/larger', chosen.name)

    def test_too_few_files_are_an_error_that_says_how_many_there_are(self):
        self.write('one')
        with self.assertRaisesRegex(DemoError, '^2 files are wanted.* 1 of'):
            self.names(2)

    def test_no_name_occurs_twice_among_the_default_trees(self):
        names = [each.name for each in catalogue.choose(500)]
        self.assertEqual(500, len(set(names)))
