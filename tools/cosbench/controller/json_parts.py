# SPDX-License-Identifier: Apache-2.0
"""JSON that is put together of parts that are JSON already.

What has long parts is an iterable of texts to join, so that each is copied
once.
"""

import json


def dumps(value):
    """Return JSON without blanks."""
    return json.dumps(value, separators=(',', ':'))


def extended(fields, **parts):
    """Yield the JSON of an object with further keys.

    :param fields: a dict, not empty
    :param parts: further keys, whose values are texts that join to JSON
    """
    yield dumps(fields)[:-1]
    for key, texts in parts.items():
        yield ',"%s":' % key
        yield from texts
    yield '}'


def array(items):
    """Yield the JSON of a list.

    :param items: each texts that join to JSON
    """
    yield '['
    for number, texts in enumerate(items):
        if number:
            yield ','
        yield from texts
    yield ']'
