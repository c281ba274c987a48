# SPDX-License-Identifier: Apache-2.0
"""What validate takes can be run, and what was run can be read."""

import os
import unittest

from cosbench.controller.result_document import empty, filled, terminated
from cosbench.controller.workload_run import Context, WorkloadRun
from cosbench.document.reader import read
from cosbench.measure.result import Result
from cosbench.measure.timeline import Timeline
from cosbench.reports import write_archive
from cosbench.workload.build import MAX_INT, MAX_WORKERS, MILLION
from tests.unit.cosbench.controller import runs
from tests.unit.cosbench.directory_case import new_directory
from tests.unit.cosbench.documents import READ, refusals_of, work, wrapped

#: The most of each number of a work.
MOSTS = {'workers': MAX_WORKERS, 'rampup': MAX_INT, 'runtime': MAX_INT,
         'rampdown': MAX_INT,
         'interval': MAX_INT, 'totalOps': MAX_INT,
         'totalBytes': 2 ** 63 - 1, 'afr': MILLION}


def text(**numbers):
    return wrapped(
        work(READ, ' '.join('%s="%d"' % each for each in numbers.items())),
        stage='name="s" closuredelay="%d"' % MAX_INT)


class TestBounds(unittest.TestCase):

    def test_the_most_of_each_is_run_and_read(self):
        found = text(**MOSTS)
        driver = runs.driver('a')
        run = WorkloadRun(read(found.encode()).workload,
                          Context('w1', found, 1, [driver]))
        runs.share(run.stages[0].works[0], driver, 9,
                   timeline=Timeline(MAX_INT).to_json())
        document = filled(empty('w1', run.workload, found, 1, 9.0, []), run)
        result, = Result.from_json(document).stages[0].works
        self.assertEqual((MAX_WORKERS, *(MAX_INT,) * 3), (
            result.workers, result.rampup, result.runtime, result.rampdown))
        # Rows go into the directory above it.
        write_archive(os.path.join(new_directory(self), 'w1-n'),
                      terminated(document, 10.0))

    def test_one_more_is_refused_by_name(self):
        for key, most in MOSTS.items():
            refusal, = refusals_of(text(**{**MOSTS, key: most + 1}))
            self.assertRegex(refusal, "^4: %s='%d': must be .*%d" % (
                key, most + 1, most))
