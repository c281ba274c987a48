# SPDX-License-Identifier: Apache-2.0
"""The metadata of a file as JSON: what Swift keeps in extended attributes."""

import json
from collections.abc import Mapping
from typing import Any

from swift_losf.format.header import (
    MAX_METADATA,
    FormatError,
    expect,
    expect_range,
)


def _plain(value: Any) -> Any:
    """Return a value, with bytes as the text that Swift makes of them.

    :raises UnicodeEncodeError: if it is text that Swift cannot store
    """
    if isinstance(value, bytes):
        return value.decode('utf8', 'surrogateescape')
    if isinstance(value, str):
        value.encode('utf8', 'surrogateescape')
    return value


def encode_metadata(metadata: Mapping[Any, Any]) -> bytes:
    """Return metadata as JSON; bytes become text, as in stock Swift.

    :param metadata: a dict of text or bytes to text, bytes or numbers
    :raises FormatError: if it holds anything else, or too much
    """
    for key, value in metadata.items():
        expect('the metadata key', key, 'text or bytes',
               isinstance(key, (str, bytes)))
        expect('the metadata %r' % key, value, 'text, bytes or a number',
               isinstance(value, (str, bytes, int, float)) or value is None)
    try:
        data = json.dumps(
            {_plain(key): _plain(value) for key, value in metadata.items()},
            allow_nan=False, separators=(',', ':')).encode('ascii')
    except ValueError as err:
        raise FormatError('the metadata cannot be stored: %s' % err)
    expect_range('the length of the metadata', len(data), 0, MAX_METADATA)
    return data


def decode_metadata(data: bytes) -> dict[str, Any]:
    """Return the metadata that encode_metadata has coded.

    :raises FormatError: if the bytes are no JSON object
    """
    try:
        metadata: dict[str, Any] = json.loads(data.decode('ascii'))
    except ValueError as err:
        raise FormatError('the metadata is no JSON: %s' % err)
    expect('the metadata', metadata, 'a JSON object',
           isinstance(metadata, dict))
    return metadata
