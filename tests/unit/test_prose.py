# SPDX-License-Identifier: Apache-2.0
"""Docstrings open with a sentence that says what the thing is or does."""

import ast
import collections
import unittest

from tests.unit.test_architecture import modules, room_of

#: Of a room's docstrings, how many of a hundred may lack a summary.
MOST_PERCENT = 2


def lacking(source):
    """Return how many docstrings a module has, and how many lack a summary.

    :param source: the module's text
    :returns: (docstrings, docstrings that begin with a field)
    """
    found = [text for text in map(ast.get_docstring, (
        item for item in ast.walk(ast.parse(source)) if isinstance(item, (
            ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))))
        if text is not None]
    return len(found), sum(text.startswith(':') for text in found)


class TestProse(unittest.TestCase):

    def test_a_docstring_without_a_summary_is_seen(self):
        self.assertEqual((3, 1), lacking(
            '"""A module."""\ndef f(x):\n    """:returns: x"""\n'
            'class C:\n    """A class."""\n    def g():\n        pass\n'))

    def test_docstrings_open_with_a_summary(self):
        rooms = collections.defaultdict(lambda: (0, 0))
        for module, path in modules().items():
            if not path.endswith('_pb2.py'):
                with open(path, encoding='utf8') as source:
                    found = lacking(source.read())
                rooms[room_of(module)] = tuple(
                    map(sum, zip(rooms[room_of(module)], found)))
        for room, (all_, without) in rooms.items():
            self.assertLessEqual(100 * without, MOST_PERCENT * all_,
                                 '%s: %d of %d' % (room, without, all_))
