# SPDX-License-Identifier: Apache-2.0
"""Open loops: when operations are due."""

import random
import unittest
from itertools import islice

from cosbench.errors import ConfigError
from cosbench.workload.config import Config
from cosbench.workload.pacing import pace
from tests.unit.cosbench.documents import READ, refusals_of, work, wrapped


def offsets(config, worker, workers, number, seed=1):
    found = pace(Config.parse(config))
    return list(islice(found.offsets(worker, workers, random.Random(seed)),
                       number))


class TestPace(unittest.TestCase):

    def test_workers_together_space_operations_evenly(self):
        due = sorted(each for worker in range(4)
                     for each in offsets('rate=200', worker, 4, 50))
        self.assertEqual(200, len(due))
        for number, each in enumerate(due):
            self.assertAlmostEqual(number / 200, each)

    def test_even_times_do_not_drift(self):
        self.assertEqual(10 ** 6, offsets('rate=10', 0, 1, 10 ** 7 + 1)[-1])

    def test_poisson_arrivals_have_exponential_gaps_of_the_rate(self):
        due = offsets('rate=100;arrival=poisson', 0, 2, 20000)
        gaps = [after - before for before, after in zip(due, due[1:])]
        mean = sum(gaps) / len(gaps)
        self.assertAlmostEqual(0.02, mean, delta=0.001)
        # Of an exponential distribution, 1/e are longer than the mean.
        longer = sum(gap > mean for gap in gaps) / len(gaps)
        self.assertAlmostEqual(0.3679, longer, delta=0.02)

    def test_a_wrong_rate_is_refused(self):
        self.assertIsNone(pace(Config.parse('containers=c(1)')))
        for text in ('rate=0', 'rate=-1', 'rate=nan', 'rate=inf', 'rate=1e7',
                     'rate=fast', 'rate=', 'arrival=poisson',
                     'arrival=other;rate=5'):
            key = text.partition('=')[0]
            with self.subTest(text), \
                    self.assertRaisesRegex(ConfigError, '^%s=' % key):
                pace(Config.parse(text))

    def test_a_document_with_a_wrong_rate_is_refused_with_its_line(self):
        text = wrapped(work(READ, 'workers="1" runtime="1" config="rate=x"'))
        self.assertEqual(['4: rate=\'x\': must be operations a second, more '
                          'than 0 and at most 1000000'], refusals_of(text))
