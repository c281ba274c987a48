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
"""Sizes of objects, as they are given and shown."""

import re

from tools.benchmarks.errors import BenchError

KIB, MIB = 2 ** 10, 2 ** 20
UNITS = {'': 1, 'K': KIB, 'M': MIB}


def parse_size(text):
    """
    :param text: such as ``4K``, ``64M`` or ``100``
    :returns: the bytes
    :raises BenchError: if it is anything else, or nothing
    """
    match = re.fullmatch(r'([1-9][0-9]*)([KM]?)', text.strip())
    if not match:
        raise BenchError('--sizes has %r; allowed: a comma-separated list of '
                         'bytes, KiB (4K) and MiB (4M)' % text)
    return int(match[1]) * UNITS[match[2]]


def size_text(size):
    """:returns: such as ``4 KiB``"""
    for unit, name in ((MIB, 'MiB'), (KIB, 'KiB')):
        if size % unit == 0:
            return '%d %s' % (size // unit, name)
    return '%d B' % size
