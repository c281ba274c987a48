# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.

import io
import re
import time
import unittest
from types import SimpleNamespace

from tools.cosbench.commands.progress import Progress


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


if __name__ == '__main__':
    unittest.main()
