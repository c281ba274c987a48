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
"""``workload.log`` of a run: what the controller says while it goes on."""

import logging
import os
import time
from contextlib import contextmanager

NAME = 'workload.log'
_FORMAT = '%(asctime)s,%(msecs)03d [%(levelname)s] [%(name)s] - %(message)s'
_ROOT = logging.getLogger('cosbench')


class _Formatter(logging.Formatter):
    """Times are UTC, and a message is one line whoever wrote it."""

    converter = time.gmtime

    def format(self, record):
        return super().format(record).replace('\r', '\\r').replace(
            '\n', '\n    ')


@contextmanager
def journal(directory):
    """
    Have all that is logged in the block written there, too.

    :param directory: of the run in the archive
    """
    handler = logging.FileHandler(os.path.join(directory, NAME),
                                  encoding='utf8',
                                  errors='backslashreplace')
    handler.setFormatter(_Formatter(_FORMAT, '%Y-%m-%dT%H:%M:%SZ'))
    before = _ROOT.level
    _ROOT.setLevel(min(before or logging.INFO, logging.INFO))
    _ROOT.addHandler(handler)
    try:
        yield
    finally:
        _ROOT.removeHandler(handler)
        _ROOT.setLevel(before)
        handler.close()
