# SPDX-License-Identifier: Apache-2.0
"""Docstrings open with a sentence; the lists of what is to come shrink."""

import ast
import collections
import os
import re
import unittest

from tests.unit.test_architecture import ROOT, modules, room_of

#: Of a room's docstrings, how many of a hundred may lack a summary.
MOST_PERCENT = 2
#: Rooms whose docstrings are still to be written so.
TO_COME = {
}
#: Packages that mypy does not look into yet: the end of pyproject.toml.
UNTYPED_AT_MOST = 0


def lacking(source):
    """
    Return how many docstrings a module has, and how many lack a summary.

    :param source: the module's text
    :returns: (docstrings, docstrings that begin with a field)
    """
    found = [text for text in map(ast.get_docstring, (
        item for item in ast.walk(ast.parse(source)) if isinstance(item, (
            ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))))
        if text is not None]
    return len(found), sum(text.startswith(':') for text in found)


def rooms():
    """Return (docstrings, those without a summary) of each room."""
    totals = collections.defaultdict(lambda: (0, 0))
    for module, path in modules().items():
        if not path.endswith('_pb2.py'):
            with open(path, encoding='utf8') as source:
                found = lacking(source.read())
            totals[room_of(module)] = tuple(
                map(sum, zip(totals[room_of(module)], found)))
    return totals


class TestProse(unittest.TestCase):

    def test_a_docstring_without_a_summary_is_seen(self):
        self.assertEqual((3, 1), lacking(
            '"""A module."""\ndef f(x):\n    """:returns: x"""\n'
            'class C:\n    """A class."""\n    def g():\n        pass\n'))

    def test_docstrings_open_with_a_summary(self):
        for room, (all_, without) in rooms().items():
            if room not in TO_COME:
                self.assertLessEqual(
                    100 * without, MOST_PERCENT * all_,
                    '%s: %d of %d lack one' % (room, without, all_))

    def test_rooms_that_are_done_are_not_to_come(self):
        found = rooms()
        for room in TO_COME:
            all_, without = found[room]
            self.assertGreater(100 * without, MOST_PERCENT * all_, room)

    def test_ever_fewer_packages_are_untyped(self):
        path = os.path.join(ROOT, 'pyproject.toml')
        with open(path, encoding='utf8') as text:
            overrides = text.read().partition('# Still to come')[2]
        listed = re.findall(r'^ {4}"([\w.*]+)",$', overrides, re.M)
        self.assertLessEqual(len(listed), UNTYPED_AT_MOST)


if __name__ == '__main__':
    unittest.main()
