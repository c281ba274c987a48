# SPDX-License-Identifier: Apache-2.0
"""The headers of a request, as bytes."""

import re
from collections.abc import Iterable

_VALUE = re.compile(r'[^\r\n\0]*')


def header_lines(pairs: Iterable[tuple[str, str]]) -> bytes:
    """
    Write headers.

    :param pairs: (name, value) texts
    :returns: the lines of a head
    :raises ValueError: if a value could be more than one line
    """
    for name, value in pairs:
        if not _VALUE.fullmatch(value):
            raise ValueError('header %s must be one line' % name)
    return ''.join('%s: %s\r\n' % pair for pair in pairs).encode('utf8')
