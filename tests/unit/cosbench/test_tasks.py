# SPDX-License-Identifier: Apache-2.0
"""tasks: a limit of time, and a cancellation that comes just then."""

import asyncio
import itertools
import unittest

from cosbench.tasks import within


class TestWithin(unittest.IsolatedAsyncioTestCase):

    async def test_a_result_is_returned_and_an_error_raised(self):
        async def told(what):
            await asyncio.sleep(0)
            if isinstance(what, Exception):
                raise what
            return what
        for limit in 60, None:
            self.assertEqual(1, await within(limit, told(1)))
            with self.assertRaises(KeyError):
                await within(limit, told(KeyError()))

    async def test_what_is_late_has_ended(self):
        async def late():
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                ends.append(1)
        ends = []
        with self.assertRaises(asyncio.TimeoutError):
            await within(0.001, late())
        self.assertEqual([1], ends)

    async def test_a_cancellation_is_one_in_whatever_turn_it_comes(self):
        """Also in that in which the time ends, or the result comes."""
        async def soon():
            for _ in range(3):
                await asyncio.sleep(0)
        for limit, waiting in (0, asyncio.Event().wait), (60, soon):
            for turns in itertools.count(1):
                task = asyncio.ensure_future(within(limit, waiting()))
                for _ in range(turns):
                    await asyncio.sleep(0)
                if not task.cancel():
                    break
                await asyncio.wait([task])
                self.assertTrue(task.cancelled(), (limit, turns))
            self.assertGreater(turns, 3)
            if limit == 0:
                self.assertIsInstance(task.exception(), asyncio.TimeoutError)
