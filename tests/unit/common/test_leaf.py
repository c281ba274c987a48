# SPDX-License-Identifier: Apache-2.0
"""The package is a leaf: it imports the standard library and itself."""

import ast
import os
import sys
import unittest

from swift_lightsync import common

PACKAGE = os.path.dirname(common.__file__)
#: What progress imports when it is there.
OPTIONAL = {'progress.py': {'rich'}}


def imported(source):
    for item in ast.walk(ast.parse(source)):
        if isinstance(item, ast.Import):
            yield from (alias.name for alias in item.names)
        elif isinstance(item, ast.ImportFrom):
            yield item.module or '.'


class TestLeaf(unittest.TestCase):

    @unittest.skipUnless(hasattr(sys, 'stdlib_module_names'), 'Python < 3.10')
    def test_it_imports_the_standard_library_and_itself(self):
        names = [each for each in os.listdir(PACKAGE) if each[-3:] == '.py']
        self.assertGreater(len(names), 10)
        for name in names:
            with open(os.path.join(PACKAGE, name), encoding='utf8') as source:
                found = list(imported(source.read()))
            for each in found:
                root = each.split('.')[0]
                self.assertTrue(
                    root in sys.stdlib_module_names
                    or each.startswith(common.__name__ + '.')
                    or root in OPTIONAL.get(name, ()),
                    '%s imports %s' % (name, each))


if __name__ == '__main__':
    unittest.main()
