# SPDX-License-Identifier: Apache-2.0
import itertools
import math
import unittest

from tools.benchmarks.errors import BenchError
from tools.benchmarks.losf.walk import walk

POLICY = 'a policy'


class Worker:
    """An AuditorWorker, and its manager, of so many objects."""

    auditor_type = 'ZBF'

    def __init__(self, objects):
        self.locations = range(objects)
        self.diskfile_router = {POLICY: self}
        self.audited, self.cleared = [], []

    def clear_auditor_status(self, policy, auditor_type):
        self.cleared.append((policy, auditor_type))

    def object_audit_location_generator(self, policy, auditor_type):
        yield from self.locations

    def object_audit(self, location):
        self.audited.append(location)


class TestWalk(unittest.TestCase):

    def test_it_opens_as_many_objects_as_it_may_from_the_beginning(self):
        worker = Worker(10)
        seconds, latencies = walk(worker, POLICY, 4, 60)
        self.assertEqual([0, 1, 2, 3], worker.audited)
        self.assertEqual([(POLICY, 'ZBF')], worker.cleared)
        self.assertEqual(4, len(latencies))
        self.assertAlmostEqual(seconds, sum(latencies))

    def test_it_ends_in_time(self):
        worker = Worker(0)
        worker.locations = itertools.count()
        _, latencies = walk(worker, POLICY, 10 ** 9, 0)
        self.assertEqual(1, len(latencies))

    def test_it_opens_all_objects_if_it_may(self):
        worker = Worker(10)
        _, latencies = walk(worker, POLICY, math.inf, math.inf)
        self.assertEqual(list(range(10)), worker.audited)
        self.assertEqual(10, len(latencies))
        with self.assertRaisesRegex(BenchError, 'after 0 of inf objects'):
            walk(Worker(0), POLICY, math.inf, math.inf)

    def test_one_that_is_broken_off_is_an_error(self):
        with self.assertRaisesRegex(BenchError, 'after 10 of 11 objects'):
            walk(Worker(10), POLICY, 11, 60)


if __name__ == '__main__':
    unittest.main()
