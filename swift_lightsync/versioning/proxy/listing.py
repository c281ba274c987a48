# SPDX-License-Identifier: Apache-2.0
"""Listings as clients see them: pages with prefix, delimiter, markers, limit
and reverse order, of a strategy's entries, of listing rows, and of objects
that are older than versioning.
"""

from dataclasses import dataclass, replace

from swift.common.utils import (
    Timestamp,
    config_true_value,
    override_bytes_from_content_type,
)

from swift_lightsync.versioning.core.row_data import (
    LAST,
    LISTINGS,
    Entry,
    listed_of,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import frontier


@dataclass(frozen=True)
class Page:
    """The part of a listing that a client asks for; all names are text.

    :param version_marker: a ``Stamp``, of a version of ``marker``
    :param subdirs: whether the subdirs that ``delimiter`` makes are listed
    """
    limit: int
    prefix: str = ''
    delimiter: str = ''
    marker: str = ''
    version_marker: Stamp | None = None
    end_marker: str = ''
    reverse: bool = False
    subdirs: bool = True

    @classmethod
    def of(cls, params, limit):
        """Make the page that a request asks for.

        :param params: of a request, text, without the version_marker
        """
        page = cls(
            limit, prefix=params.get('prefix', ''),
            delimiter=params.get('delimiter', ''),
            marker=params.get('marker', ''),
            end_marker=params.get('end_marker', ''),
            reverse=config_true_value(params.get('reverse', '')))
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
                       marker=subdir + ('' if self.reverse else LAST))

    def listing_params(self):
        """Return the parameters of a listing of listing rows, a dict."""
        found = {'format': 'json', 'limit': str(self.limit),
                 'prefix': LISTINGS + self.prefix,
                 'delimiter': self.delimiter,
                 'marker': self.marker and LISTINGS + self.marker,
                 'end_marker': self.end_marker and LISTINGS + self.end_marker,
                 'reverse': 'true' if self.reverse else ''}
        return {name: value for name, value in found.items() if value}


def listed(page, fetch, hides=lambda entry: False):
    """List entries and subdirs.

    :param page: a ``Page``
    :param fetch: a function of a page that returns as many ``Entry`` as its
        limit says, without regard to its delimiter
    :param hides: tells whether an ``Entry`` is left out
    :returns: a list of ``Entry`` and of subdirs, which are text; one more than
        the limit if there are more
    """
    items: list[Entry | str] = []
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


def described(entry):
    """Return the item of a listing, a dict, with what any object has."""
    item = {'name': entry.object, 'bytes': entry.size, 'hash': entry.etag,
            'content_type': entry.content_type,
            'last_modified': _last_modified(entry.version.id)}
    override_bytes_from_content_type(item)
    return item


def _last_modified(stamp):
    return Timestamp(str(stamp)).isoformat


def row_item(item, link):
    """Make the item that clients see from one of a listing of listing rows.

    :param item: a dict
    :param link: a function of a name and an id that returns the path of a
        version
    :returns: a dict
    """
    if 'subdir' in item:
        return {'subdir': item['subdir'][len(LISTINGS):]}
    name, row = item['name'][len(LISTINGS):], listed_of(item['hash'])
    if row is None:
        return dict(item, name=name)
    return dict(
        item, name=name, hash=row.etag, bytes=item['bytes'] or row.size,
        last_modified=_last_modified(row.id),
        **({} if row.null else _links(link(name, row.id))))


def entry_item(entry, link):
    """Make the item that clients see from an ``Entry``, or a subdir."""
    if isinstance(entry, str):
        return {'subdir': entry}
    return dict(described(entry), **(
        {} if entry.null else _links(link(entry.object, entry.version.id))))


def _links(path):
    return {'version_symlink': True, 'symlink_path': path}


def version_items(page, items, hidden, name_of, siblings):
    """Make the items of a listing of versions.

    :param page: a ``Page``
    :param items: the result of ``listed``
    :param hidden: each ``Entry`` that it has left out
    :param name_of: a function of an ``Entry`` that returns its id for clients
    :param siblings: a function of an object's name that returns its siblings,
        the latest first; for objects whose versions are not all on the page
    :returns: a list of dicts
    """
    groups: dict[str, list[Entry]] = {}
    for item in items[:page.limit]:
        if not isinstance(item, str):
            groups.setdefault(item.object, []).append(item)
    cut = {page.marker} if page.version_marker else set()
    cut.update(item.object for item in items[page.limit:]
               if not isinstance(item, str))
    marks = {name: _marks([each.version for each in (
        siblings(name) if name in cut else
        group + [each for each in hidden if each.object == name])])
        for name, group in groups.items()}
    return [{'subdir': item} if isinstance(item, str) else
            dict(described(item), version_id=name_of(item),
                 **_marked(item.version.id, *marks[item.object]))
            for item in items[:page.limit]]


def _marks(versions) -> tuple[Stamp | None, set[Stamp]]:
    """Return the latest of an object, and all that are its siblings."""
    return (max((each.id for each in versions), default=None),
            {each.id for each in frontier(versions)})


def _marked(stamp, latest, siblings):
    return dict({'is_latest': stamp == latest}, **(
        {'sibling': True} if len(siblings) > 1 and stamp in siblings else {}))


def old_versions(own, items):
    """Make items of a listing of versions from objects older than versioning.
    One that has a null version is being adopted.

    :param own: items of the user's container itself
    :param items: of versions
    """
    names = {item.get('name') for item in items}
    nulls = {item['name'] for item in items
             if item.get('version_id') == 'null'}
    return [item if 'subdir' in item else dict(
        item, version_id='null', is_latest=item['name'] not in names)
        for item in own if item.get('name') not in nulls]


def merged(page, *listings):
    """Merge listings of one page.

    :param listings: lists of dicts; of equal names the first one's is first
    """
    found = [(item.get('name') or item['subdir'], item)
             for items in (reversed(listings) if page.reverse else listings)
             for item in items]
    found.sort(key=lambda pair: pair[0], reverse=page.reverse)
    seen: set[str] = set()
    items = []
    for _, item in found:
        if item.get('subdir') not in seen:
            items.append(item)
            if 'subdir' in item:
                seen.add(item['subdir'])
    return items[:page.limit]
