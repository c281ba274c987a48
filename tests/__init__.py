# SPDX-License-Identifier: Apache-2.0
"""The project's tests."""

import asyncio
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


class _Runner:
    """What tests use of asyncio.Runner, which Python 3.10 lacks."""

    def __init__(self, loop_factory):
        self._loop = loop_factory()

    def __enter__(self):
        asyncio.set_event_loop(self._loop)
        return self

    def get_loop(self):
        return self._loop

    def run(self, coroutine):
        return self._loop.run_until_complete(coroutine)

    def __exit__(self, *exc_info):
        try:
            asyncio.runners._cancel_all_tasks(self._loop)
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(
                self._loop.shutdown_default_executor())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()


if not hasattr(asyncio, 'Runner'):
    asyncio.Runner = _Runner
