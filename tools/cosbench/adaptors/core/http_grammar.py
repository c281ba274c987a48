# SPDX-License-Identifier: Apache-2.0
"""The grammar of a response of HTTP/1.1, as far as it is read: RFC 9112."""

import re

_STATUS = rb'HTTP/1\.([01]) ([1-9]\d\d)(?: [^\r\n\0]*)?'
_FIELD = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\0]*"
HEAD = re.compile(_STATUS + rb'(?:\r\n' + _FIELD + rb')*')
STATUS_LINE = re.compile(_STATUS)
#: Those that say where a body ends.
FRAMING = re.compile(
    rb'\r\n(content-length|transfer-encoding|connection):([^\r\n]*)',
    re.IGNORECASE)
#: Of the headers of FRAMING, only Content-Length is as long.
LENGTH_NAME = 14
TRAILERS = re.compile(rb'(?:' + _FIELD + rb'\r\n)*')
LENGTH_VALUE = re.compile(rb'\d{1,18}')
CHUNK = re.compile(rb'([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?')
