# SPDX-License-Identifier: Apache-2.0
"""Quotes paths several times.

Prints, as JSON, what they become, how often urllib was asked, and how often
what is no WSGI string was refused.
"""

import json
from unittest import mock

import swift
from swift.common.swob import Request, str_to_wsgi, urllib, wsgi_quote

PATHS = ['/v1/a/\0c\0/o \xe9', '/v1/a/c']
REPEATED = 10


def main():
    refused = 0
    with mock.patch.object(urllib.parse, 'quote',
                           side_effect=urllib.parse.quote) as quote:
        for _ in range(REPEATED):
            quoted = [Request({'PATH_INFO': str_to_wsgi(path)}).path
                      for path in PATHS]
            safe = wsgi_quote(PATHS[1], safe='')
        for wrong in ('\u20ac', b'/v1', None, []):
            try:
                wsgi_quote(wrong)
            except TypeError:
                refused += 1
    print(json.dumps({'swift': swift.__file__, 'quoted': quoted,
                      'safe': safe, 'times': quote.call_count,
                      'refused': refused}))


main()
