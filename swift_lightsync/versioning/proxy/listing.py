# SPDX-License-Identifier: Apache-2.0
"""
Listings of versions as clients see them: pages of a strategy's entries, with
prefix, delimiter, markers, limit and reverse order.
"""

from dataclasses import dataclass, replace
from itertools import groupby
from typing import Dict, List, Optional, Union

from swift.common.utils import Timestamp, override_bytes_from_content_type

from swift_lightsync.versioning.core.row_data import Entry, parameters_of
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.strategies.basis import latest_entry

#: Sorts after all that a name may go on with.
_LAST = '\U0010ffff'


@dataclass(frozen=True)
class Page:
    """
    The part of a listing that a client asks for; all names are text.

    :param version_marker: a ``Stamp``, of a version of ``marker``
    :param subdirs: whether the subdirs that ``delimiter`` makes are listed
    """
    limit: int
    prefix: str = ''
    delimiter: str = ''
    marker: str = ''
    version_marker: Optional[Stamp] = None
    end_marker: str = ''
    reverse: bool = False
    subdirs: bool = True

    @classmethod
    def of(cls, params, limit):
        """
        Make the page that a request asks for.

        :param params: of a request, text, without the version_marker
        """
        page = cls(
            limit, prefix=params.get('prefix', ''),
            delimiter=params.get('delimiter', ''),
            marker=params.get('marker', ''),
            end_marker=params.get('end_marker', ''),
            reverse=params.get('reverse', '').lower() in (
                'true', '1', 'yes', 'on', 't', 'y'))
        if 'path' in params:
            path = params['path'].rstrip('/')
            page = replace(page, prefix=path + '/' if path else '',
                           delimiter='/', subdirs=False)
        return page

    def subdir(self, name):
        """Return the subdir that a name belongs to, or None."""
        if not self.delimiter:
            return None
        end = name.find(self.delimiter, len(self.prefix))
        return None if end < 0 else name[:end + len(self.delimiter)]

    def after(self, entry):
        """Return the ``Page`` that continues after an ``Entry``."""
        subdir = self.subdir(entry.object)
        if subdir is None:
            return replace(self, marker=entry.object,
                           version_marker=entry.version.id)
        return replace(self, version_marker=None,
                       marker=subdir + ('' if self.reverse else _LAST))


def is_hidden(entry):
    """Check whether an entry only records the deletion of the null version."""
    return entry.plain and entry.version.deleted


def listed(page, fetch, hides=is_hidden):
    """
    List entries and subdirs.

    :param page: a ``Page``
    :param fetch: a function of a page that returns as many ``Entry`` as its
        limit says, without regard to its delimiter
    :param hides: tells whether an ``Entry`` is left out
    :returns: a list of ``Entry`` and of subdirs, which are text; one more than
        the limit if there are more
    """
    items: List[Union[Entry, str]] = []
    rest = replace(page, limit=page.limit + 1)
    while rest.limit > 0:
        entries = fetch(rest)
        for entry in entries:
            if not hides(entry):
                _add(items, page, entry)
        if len(entries) < rest.limit:
            break
        rest = replace(rest.after(entries[-1]),
                       limit=page.limit + 1 - len(items))
    return items


def _add(items, page, entry):
    subdir = page.subdir(entry.object)
    if subdir is None:
        items.append(entry)
    elif page.subdirs and subdir != page.marker and (
            not items or items[-1] != subdir):
        items.append(subdir)


def latest_ids(page, items, ask, hidden=()):
    """
    Find which listed versions are the latest of their objects.

    :param items: the result of ``listed``
    :param ask: a function of an object's name that returns its latest
        ``Entry``, for objects whose versions the page may not list completely
    :param hidden: each ``Entry`` that was left out
    :returns: a set of ids
    """
    entries = [item for item in items if not isinstance(item, str)]
    whole: Dict[str, Optional[Entry]] = {}
    left_out: Dict[str, List[Entry]] = {}
    for entry in hidden:
        left_out.setdefault(entry.object, []).append(entry)
    for name, group in groupby(entries, key=lambda entry: entry.object):
        whole[name] = latest_entry([*group, *left_out.get(name, ())])
    if entries and page.version_marker:
        first = entries[0].object
        whole[first] = ask(first)
    if entries and len(items) > page.limit:
        last = entries[-1].object
        whole[last] = ask(last)
    return {entry.version.id for entry in whole.values() if entry}


def described(entry):
    """Return the item of a listing, a dict, with what any object has."""
    item = {'name': entry.object, 'bytes': entry.size, 'hash': entry.etag,
            'content_type': entry.content_type,
            'last_modified': last_modified(entry.version.id)}
    override_bytes_from_content_type(item)
    return item


def last_modified(stamp):
    return Timestamp(str(stamp)).isoformat


def version_items(page, items, latest, name_of):
    """
    Make the items of a listing of versions.

    :param latest: the result of ``latest_ids``
    :param name_of: a function of an ``Entry`` that returns its id for clients
    :returns: a list of dicts
    """
    return [{'subdir': item} if isinstance(item, str) else
            dict(described(item), version_id=name_of(item),
                 is_latest=item.version.id in latest)
            for item in items[:page.limit]]


def current_item(item, link):
    """
    Make the item that clients see from an item of the user's container.

    :param item: a dict of a container's listing, from the row of a versioned
        object's latest version or of an unversioned object
    :param link: a function of a name and an id that returns the path of a
        version
    :returns: a dict
    """
    etag, ours = parameters_of(item.get('hash', ''))
    if 'id' not in ours or ours.get('at') == 'plain':
        if 'bytes' in ours and 'id' in ours:
            item = dict(item, bytes=item['bytes'] or int(ours['bytes']))
        return dict(item, hash=etag) if 'hash' in item else item
    return dict(
        item, hash=etag, bytes=item['bytes'] or int(ours['bytes']),
        last_modified=last_modified(ours['id']), version_symlink=True,
        symlink_path=link(item['name'], ours['id']))
