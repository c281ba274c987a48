# SPDX-License-Identifier: Apache-2.0
"""The project's tests."""

import unittest
from contextlib import ExitStack

if not hasattr(unittest.TestCase, 'enterContext'):
    # Python 3.10 lacks these.
    def _enter_context(self, manager):
        stack = ExitStack()
        self.addCleanup(stack.close)
        return stack.enter_context(manager)

    def _enter_class_context(cls, manager):
        stack = ExitStack()
        cls.addClassCleanup(stack.close)
        return stack.enter_context(manager)

    unittest.TestCase.enterContext = _enter_context
    unittest.TestCase.enterClassContext = classmethod(_enter_class_context)
