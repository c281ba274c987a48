# SPDX-License-Identifier: Apache-2.0
"""The bodies of Swift's requests and answers that say more than an object."""

import json
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from cosbench.adaptors.core.operation_errors import OperationError

#: What a listing says of a version that is a deletion.
_MARKER = 'application/x-deleted'


def _parsed(data: bytes, kind: type) -> Any:
    try:
        found = json.loads(data)
    except ValueError:
        found = None
    if not isinstance(found, kind):
        raise OperationError('protocol', 'no JSON as it was asked for: %r'
                             % data[:60])
    return found


def names_to_delete(container: str, names: Iterable[str]) -> bytes:
    """Return the body of a bulk delete."""
    return ''.join('%s/%s\n' % (quote(container, safe=''), quote(name))
                   for name in names).encode('ascii')


def check_deleted(data: bytes, wanted: int) -> None:
    """Check that a bulk delete left nothing.

    :param wanted: how many names were sent
    :raises OperationError: ``partial``, if something was not deleted
    """
    found = _parsed(data, dict)
    status, errors = found.get('Response Status'), found.get('Errors')
    done = [found.get('Number ' + key) for key in ('Deleted', 'Not Found')]
    if errors or not str(status).startswith('200') or \
            not all(type(each) is int for each in done) or \
            sum(done) != wanted:
        raise OperationError('partial', '%s of %d deleted: %s %s' % (
            done[0], wanted, status, str(errors)[:200]))


def versions_of(data: bytes, name: str) -> list[str]:
    """Return the ids of the versions of an object that have content.

    :returns: ids, in the order of the listing
    """
    return [each['version_id'] for each in _parsed(data or b'[]', list)
            if isinstance(each, dict) and each.get('name') == name
            and isinstance(each.get('version_id'), str)
            and not str(each.get('content_type')).startswith(_MARKER)]


def names_of(data: bytes) -> list[str]:
    """Return the names that a listing of a container has."""
    return [each['name'] for each in _parsed(data or b'[]', list)
            if isinstance(each, dict) and isinstance(each.get('name'), str)]


def manifest(container: str,
             segments: Sequence[tuple[str, str, int]]) -> bytes:
    """Return the manifest of a static large object.

    :param segments: name, ETag, bytes of each
    :returns: JSON
    """
    return json.dumps([
        {'path': '/%s/%s' % (container, name), 'etag': etag,
         'size_bytes': size} for name, etag, size in segments]).encode()
