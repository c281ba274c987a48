# SPDX-License-Identifier: Apache-2.0
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
