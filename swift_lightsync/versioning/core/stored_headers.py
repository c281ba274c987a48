# SPDX-License-Identifier: Apache-2.0
"""The headers that are stored with an object, and travel with a version."""

import re
from typing import Iterable, Tuple

Headers = Tuple[Tuple[str, str], ...]
#: Bytes of all headers of an object.
MAX_HEADERS = 1 << 16
#: Headers of an object that are stored with it ...
STORED = frozenset((
    'cache-control', 'content-disposition', 'content-encoding',
    'content-language', 'content-type', 'etag', 'expires', 'x-delete-at',
    'x-object-manifest', 'x-robots-tag', 'x-static-large-object'))
#: ... and how the names of others begin.
STORED_PREFIXES = ('x-object-meta-', 'x-object-sysmeta-',
                   'x-object-transient-sysmeta-')
#: These are of one cluster's fragments.
_NOT_STORED = ('x-object-sysmeta-ec-',)
#: Under this name a version keeps X-Delete-At, whose data stays beyond it.
DELETE_AT = 'x-object-transient-sysmeta-site-versions-delete-at'
_HEADER = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]{1,256}\Z", re.ASCII)


def lowered(name: str) -> str:
    """Return a name in lower case; bytes outside ASCII stay."""
    return re.sub('[A-Z]+', lambda found: found[0].lower(), name)


def is_stored(name: str) -> bool:
    """Return whether a header, in lower case, is stored with an object."""
    return name in STORED or (name.startswith(STORED_PREFIXES)
                              and not name.startswith(_NOT_STORED))


def stored_headers(headers: Iterable[Tuple[str, str]]) -> Headers:
    """Return those headers of an object that are stored with it.

    :param headers: pairs of a name and a value
    :returns: a tuple of such pairs, the names in lower case
    """
    low = ((lowered(name), value) for name, value in headers)
    return tuple(pair for pair in low if is_stored(pair[0]))


def _utf8(text: str, what: str) -> int:
    """Return the bytes of a text in UTF-8."""
    try:
        return len(text.encode('utf8'))
    except UnicodeEncodeError:
        raise ValueError('%s is %.80r, must hold no surrogates' % (
            what, text)) from None


def check_headers(headers: Headers) -> None:
    """Refuse headers of another site that no object may be stored with.

    :raises ValueError: if there is one
    """
    total, names = 0, set()
    for name, value in headers:
        # Swift lets names of user metadata be any UTF-8.
        readable = _HEADER.match(name) or (
            name.startswith(STORED_PREFIXES)
            and not re.search(r'[\x00-\x20:\x7f]', name))
        if not readable or name != lowered(name) or not is_stored(name):
            raise ValueError('a header is %.80r, must be one that is stored '
                             'with an object, in lower case' % name)
        if re.search(r'[\x00\r\n]', value) or name in names:
            raise ValueError('header %.80s is %.80r, must be there once, '
                             'without line breaks and null characters' % (
                                 name, value))
        total += _utf8(name, 'the name of a header') + \
            _utf8(value, 'header %.80s' % name)
        names.add(name)
    if total > MAX_HEADERS:
        raise ValueError('its headers have %d bytes, at most %d are allowed' %
                         (total, MAX_HEADERS))
