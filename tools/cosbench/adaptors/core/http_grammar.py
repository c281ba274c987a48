# SPDX-License-Identifier: Apache-2.0
"""The grammar of a response of HTTP/1.1, as far as it is read: RFC 9112.

The headers of a request are written in it, too.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from cosbench.adaptors.core.operation_errors import OperationError

_STATUS = rb'HTTP/1\.([01]) ([1-9]\d\d)(?: [^\r\n\0]*)?'
_NAME = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_FIELD = _NAME + rb':[^\r\n\0]*'
STATUS_LINE = re.compile(_STATUS)


def _any_case(name: str) -> bytes:
    # Spelt out: re looks for the begin of a line much faster then.
    return ''.join('[%s%s]' % (each.upper(), each) if each.isalpha() else each
                   for each in name).encode()


#: Of the lines after the first: (name, value) of those that say where a body
#: ends, and a pair without a name for each that is no header.
FRAMING = re.compile(rb'\r\n(?:(%b):([^\r\n]*)|(?!%b:))' % (
    b'|'.join(map(_any_case, (
        'content-length', 'transfer-encoding', 'connection'))), _NAME))
#: What has no place in a head, but for its ends of lines.
BREAKS = b'\r\n\0'
#: Of the headers of FRAMING, only Content-Length is as long.
LENGTH_NAME = 14
TRAILERS = re.compile(rb'(?:' + _FIELD + rb'\r\n)*')
LENGTH_VALUE = re.compile(rb'\d{1,18}')
CHUNK = re.compile(rb'([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?')
_VALUE = re.compile(r'[^\r\n\0]*')
#: What an event loop or a parser hands on without copying it.
Data = bytes | memoryview


def header_lines(pairs: Iterable[tuple[str, str]]) -> bytes:
    """Write headers.

    :param pairs: (name, value) texts
    :returns: the lines of a head
    :raises ValueError: if a value could be more than one line
    """
    for name, value in pairs:
        if not _VALUE.fullmatch(value):
            raise ValueError('header %s must be one line' % name)
    return ''.join('%s: %s\r\n' % pair for pair in pairs).encode('utf8')


def wrong(what: str, data: Data = b'') -> OperationError:
    shown = ': %r' % bytes(data[:60]) if data else ''
    return OperationError('protocol', what + shown)


@lru_cache(maxsize=256)
def status_of(line: bytes) -> tuple[int, bool]:
    """Return what a status line says: the status, and whether it is 1.1."""
    match = STATUS_LINE.fullmatch(line)
    if match is None:
        raise wrong('no status line', line)
    return int(match[2]), match[1] == b'1'
