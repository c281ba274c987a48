# SPDX-License-Identifier: Apache-2.0
"""
What sites tell each other: the heads of their requests, and the answers.

A head is a JSON object. An *offer* lists versions, and is answered with the
places in its list that the receiver lacks; a *shipment* is one version, its
data follows the head. Nothing of a version is in the headers of a request.
All that is read here comes from outside: what is not as written below is
refused with a ValueError that names it.
"""

import json
import re
from dataclasses import dataclass
from typing import Optional, Tuple

from swift_lightsync.versioning.core.keys import RESERVED
from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    MAX_ETAG,
    PURGE_MARKER,
    Entry,
    Kind,
    parameters_of,
    row_of,
    stamped_etag,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version, check_site

FORMAT = 1
MAX_HEAD = 1 << 20
MAX_OFFERED = 1000
#: Bytes of an object's name, a content type, and all headers of an object.
MAX_NAME = 4096
#: As long as a line of a client's headers.
MAX_TYPE = 8192
MAX_HEADERS = 1 << 16
MAX_SIZE = (1 << 63) - 1
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
_HEADER = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]{1,256}\Z", re.ASCII)


@dataclass(frozen=True)
class Offered:
    """
    One version of a list.

    :param site: that made it
    :param changed: when its metadata were, or None if never
    """
    object: str
    id: Stamp
    site: str
    kind: Kind
    changed: Optional[Stamp] = None


@dataclass(frozen=True)
class Shipment:
    """
    One version, as it travels.

    :param entry: an ``Entry``; where its data is says nothing to others
    :param headers: (name in lower case, value), of what is stored
    :param length: bytes of data that follow
    """
    entry: Entry
    headers: Tuple[Tuple[str, str], ...] = ()
    length: int = 0


def lowered(name):
    """:returns: a name in lower case; other bytes than ASCII's stay"""
    return re.sub('[A-Z]+', lambda found: found[0].lower(), name)


def is_stored(name):
    """Whether a header, in lower case, is stored with an object."""
    return name in STORED or (name.startswith(STORED_PREFIXES)
                              and not name.startswith(_NOT_STORED))


def stored_headers(headers):
    """
    Return those headers of an object that are stored with it.

    :param headers: pairs of a name and a value
    :returns: a tuple of such pairs, the names in lower case
    """
    low = ((lowered(name), value) for name, value in headers)
    return tuple(pair for pair in low if is_stored(pair[0]))


def _head(verb, **fields):
    text = json.dumps({'format': FORMAT, 'verb': verb, **fields},
                      separators=(',', ':'))
    head = text.encode('ascii')
    if len(head) > MAX_HEAD:
        raise ValueError('a head has %d bytes, at most %d are allowed' % (
            len(head), MAX_HEAD))
    return head


def _object(data, what):
    if len(data) > MAX_HEAD:
        raise ValueError('%s has %d bytes, at most %d are allowed' % (
            what, len(data), MAX_HEAD))
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as err:
        raise ValueError('%s is not JSON: %s' % (what, err)) from None
    if not isinstance(fields, dict):
        raise ValueError('%s is %.60r, must be a JSON object' % (
            what, fields))
    return fields


def _field(fields, name, cls, what):
    found = fields.get(name)
    # A bool is an int to Python.
    if not isinstance(found, cls) or isinstance(found, bool):
        raise ValueError('%s: %s is %.80r, must be a %s' % (
            what, name, found, cls.__name__))
    return found


def _length(text, what):
    """:returns: bytes of a text in UTF-8"""
    try:
        return len(text.encode('utf8'))
    except UnicodeEncodeError:
        raise ValueError('%s is %.80r, must hold no surrogates' % (
            what, text)) from None


def _text(fields, name, most, what):
    found = _field(fields, name, str, what)
    length = _length(found, '%s: %s' % (what, name))
    if length > most:
        raise ValueError('%s: %s has %d bytes, at most %d are allowed' % (
            what, name, length, most))
    if RESERVED in found or '\n' in found or '\r' in found:
        if name != 'object' or RESERVED in found:
            raise ValueError('%s: %s is %.80r, must hold no null character '
                             'and no line break' % (what, name, found))
    return found


def _count(fields, name, most, what):
    found = _field(fields, name, int, what)
    if not 0 <= found <= most:
        raise ValueError('%s: %s is %r, must be 0 to %d' % (
            what, name, found, most))
    return found


def _stamp(fields, name, what, optional=False):
    if optional and fields.get(name) is None:
        return None
    return Stamp.parse(_field(fields, name, str, what))


def _id(fields, what):
    stamp = _stamp(fields, 'id', what)
    if not stamp.is_tick:
        raise ValueError('%s: id is %s, must be given by a clock' % (
            what, stamp))
    return stamp


def _etag(fields, what):
    etag = _text(fields, 'etag', MAX_ETAG, what)
    # It is the value of a header of container servers.
    if not (etag.isascii() and etag.isprintable()):
        raise ValueError('%s: etag is %.80r, must be of printable ASCII' % (
            what, etag))
    if parameters_of(etag)[1]:
        raise ValueError('%s: etag is %.80r, must have no parameters sv_*' % (
            what, etag))
    return etag


def _kind(fields, what):
    kind = _field(fields, 'kind', str, what)
    try:
        return Kind(kind)
    except ValueError:
        raise ValueError('%s: kind is %.60r, must be one of %s' % (
            what, kind, ', '.join(each.value for each in Kind))) from None


def _name(fields, what):
    name = _text(fields, 'object', MAX_NAME, what)
    if not name:
        raise ValueError('%s: object is empty, must be a name' % what)
    return name


def _opt(stamp):
    return None if stamp is None else str(stamp)


def offer(versions):
    """
    :param versions: ``Offered``, at most ``MAX_OFFERED``
    :returns: bytes, the head of a request
    """
    return _head('offer', versions=[{
        'object': each.object, 'id': str(each.id), 'site': each.site,
        'kind': each.kind.value, 'changed': _opt(each.changed)}
        for each in versions])


def _offered(fields):
    what = 'an offered version'
    if not isinstance(fields, dict):
        raise ValueError('%s is %.60r, must be a JSON object' % (
            what, fields))
    return Offered(
        _name(fields, what), _id(fields, what),
        check_site(_field(fields, 'site', str, what)), _kind(fields, what),
        _stamp(fields, 'changed', what, optional=True))


def shipment(shipped):
    """:returns: bytes, the head of a request"""
    entry = shipped.entry
    return _head(
        'ship', object=entry.object, id=str(entry.version.id),
        site=entry.version.site, vector=str(entry.version.vector),
        kind=entry.kind.value, deleted=entry.version.deleted,
        size=entry.size, etag=entry.etag, type=entry.content_type,
        purged=_opt(entry.purged), changed=_opt(entry.changed),
        headers=[list(pair) for pair in shipped.headers],
        length=shipped.length)


def _headers(fields, what):
    pairs = _field(fields, 'headers', list, what)
    total, headers = 0, {}
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and all(
                isinstance(each, str) for each in pair)):
            raise ValueError('%s: a header is %.80r, must be a name and a '
                             'value' % (what, pair))
        name, value = pair
        # Swift lets names of user metadata be any UTF-8.
        readable = _HEADER.match(name) or (
            name.startswith(STORED_PREFIXES)
            and not re.search(r'[\x00-\x20:\x7f]', name))
        if not readable or name != lowered(name) or not is_stored(name):
            raise ValueError('%s: a header is %.80r, must be one that is '
                             'stored with an object, in lower case' % (
                                 what, name))
        if re.search(r'[\x00\r\n]', value) or name in headers:
            raise ValueError('%s: header %.80s is %.80r, must be there once, '
                             'without line breaks and null characters' % (
                                 what, name, value))
        total += _length(name, '%s: the name of a header' % what) + \
            _length(value, '%s: header %.80s' % (what, name))
        headers[name] = value
    if total > MAX_HEADERS:
        raise ValueError('%s: its headers have %d bytes, at most %d are '
                         'allowed' % (what, total, MAX_HEADERS))
    return tuple(headers.items())


def _version(fields, what):
    deleted = fields.get('deleted')
    if not isinstance(deleted, bool):
        raise ValueError('%s: deleted is %.60r, must be true or false' % (
            what, deleted))
    version = Version(
        _id(fields, what),
        check_site(_field(fields, 'site', str, what)),
        Vector.parse(_field(fields, 'vector', str, what)), deleted)
    if dict(version.vector).get(version.site) != version.id:
        raise ValueError('%s: vector is %.120s, must have %s for its site %s'
                         % (what, version.vector, version.id, version.site))
    return version


def _shipment(fields):
    what = 'a shipment'
    entry = Entry(
        _name(fields, what), _version(fields, what),
        _count(fields, 'size', MAX_SIZE, what),
        _etag(fields, what),
        _text(fields, 'type', MAX_TYPE, what),
        purged=_stamp(fields, 'purged', what, optional=True),
        changed=_stamp(fields, 'changed', what, optional=True))
    length = _count(fields, 'length', MAX_SIZE, what)
    if _kind(fields, what) is not entry.kind:
        raise ValueError('%s: kind is %s, must be %s, by its fields' % (
            what, fields['kind'], entry.kind.value))
    if entry.kind is Kind.DATA:
        if entry.content_type in (DELETE_MARKER, PURGE_MARKER):
            raise ValueError('%s: type is %s, must not be that of a marker' %
                             (what, entry.content_type))
    elif length:
        raise ValueError('%s: length is %d, must be 0 for kind %s' % (
            what, length, entry.kind.value))
    # Before its data is stored: no row could tell of it.
    stamped_etag(row_of(entry, entry.object))
    return Shipment(entry, _headers(fields, what), length)


def decode(head):
    """
    :param head: bytes
    :returns: a tuple of ``Offered``, or a ``Shipment``
    :raises ValueError: if it is none
    """
    fields = _object(head, 'a head')
    if _field(fields, 'format', int, 'a head') != FORMAT:
        raise ValueError('the format of a head is %.60r, must be %d' % (
            fields['format'], FORMAT))
    if fields.get('verb') == 'ship':
        return _shipment(fields)
    if fields.get('verb') != 'offer':
        raise ValueError('the verb of a head is %.60r, must be offer or ship'
                         % (fields.get('verb'),))
    versions = _field(fields, 'versions', list, 'an offer')
    if len(versions) > MAX_OFFERED:
        raise ValueError('an offer has %d versions, at most %d are allowed' %
                         (len(versions), MAX_OFFERED))
    return tuple(_offered(each) for each in versions)


def answer(**fields):
    """:returns: the bytes of an answer"""
    return json.dumps(fields, sort_keys=True,
                      separators=(',', ':')).encode('ascii')


def lacking(body, count):
    """
    :param body: of the answer to an offer, bytes
    :param count: of the versions that were offered
    :returns: a sorted list of the places of those to ship
    :raises ValueError: if it is none
    """
    places = _field(_object(body, 'an answer'), 'lacking', list, 'an answer')
    for place in places:
        if type(place) is not int or not 0 <= place < count:
            raise ValueError('an answer: lacking has %.60r, must be numbers '
                             '0 to %d' % (place, count - 1))
    return sorted(set(places))


def reason(body):
    """:returns: what the answer to a refused request says, a text"""
    try:
        found = _object(body, 'an answer').get('error')
    except ValueError:
        return ''
    return found[:1000] if isinstance(found, str) else ''
