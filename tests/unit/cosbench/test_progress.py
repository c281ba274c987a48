# SPDX-License-Identifier: Apache-2.0

import io
import re
import time
import unittest
from types import SimpleNamespace

from cosbench.commands.progress import Progress


class TestProgress(unittest.TestCase):

    def test_the_first_rate_of_a_stage_is_since_its_begin(self):
        work = SimpleNamespace(
            shares=[SimpleNamespace(progress=SimpleNamespace(operations=40))],
            measured=SimpleNamespace(failed=0))
        stage = SimpleNamespace(
            index=0, stage=SimpleNamespace(name='main'), works=[work],
            started=time.time() - 2, state=SimpleNamespace(value='running'))
        out = io.StringIO()
        Progress(None, out)._line(SimpleNamespace(current=stage,
                                                  stages=[stage]))
        rate, = re.findall(r'40 operations, (\d+) a second', out.getvalue())
        # Less on a busy machine.
        self.assertTrue(0 < int(rate) <= 20, rate)
