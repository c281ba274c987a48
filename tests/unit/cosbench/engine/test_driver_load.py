# SPDX-License-Identifier: Apache-2.0
"""What a driver says of itself."""

import asyncio
import time
import unittest

from cosbench.engine.driver_load import Health


class TestHealth(unittest.TestCase):

    def test_without_a_look_nothing_is_known(self):
        self.assertEqual({'cpu_percent_p95': None, 'loop_lag_ms_p99': None},
                         Health().to_json())

    def test_the_share_of_the_processor_is_of_the_time_that_passed(self):
        health = Health(lambda: 10.0, lambda: 3.0)
        health.record_cpu(12.0, 4.5)
        self.assertAlmostEqual(75, health.to_json()['cpu_percent_p95'],
                               delta=1)

    def test_lateness_is_in_milliseconds(self):
        health = Health()
        for _ in range(100):
            health.record_lag(0.040)
        self.assertAlmostEqual(40, health.to_json()['loop_lag_ms_p99'],
                               delta=1)

    def test_a_loop_that_is_held_up_is_late(self):
        async def run():
            health = Health()
            watch = asyncio.ensure_future(health.watch())
            await asyncio.sleep(0.06)
            time.sleep(0.3)  # the fault that is measured
            await asyncio.sleep(0.1)
            watch.cancel()
            return health.to_json()['loop_lag_ms_p99']
        self.assertGreater(asyncio.run(run()), 200)
