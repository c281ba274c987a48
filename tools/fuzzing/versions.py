# SPDX-License-Identifier: Apache-2.0
"""
The rows of versions, the requests between sites, and how they are read.

A row is given as four lines: its name, hash, content type and when it was
modified, as a listing of a container has them. A request is given as it
comes, with its header as the first line.
"""

import io
from hashlib import sha256

from swift_lightsync.versioning.core import keys, pointer, shipping, signature
from swift_lightsync.versioning.core import row_data as rows
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.rows import row_wire
from swift_lightsync.versioning.sites import received_body, sites_conf
from tools.fuzzing.mutate import JSON, edit_part, edit_text
from tools.fuzzing.target import Target, as_text

LONGEST = 1 << 14
OFFERED = 40
KEY, MAC, ETAG = b'k' * 32, 'a' * 64, 'e' * 32
KEYS = (keys.WriteRepairKeys, keys.ReadRepairKeys)
HEADERS = (('x-object-meta-a', 'b'), ('x-object-meta-ü', 'ü'),
           ('content-encoding', 'gzip'), ('x-delete-at', '9'))
STAMPS = (Stamp(1, 0), Stamp(1700000000 * 10 ** 5, 5),
          Stamp((1 << 49) - 1, (1 << 40) - 1))
VERSIONS = [Version(stamp, site, Vector({'paris': STAMPS[1], site: stamp}),
                    deleted)
            for stamp, site in zip(STAMPS, ('paris', 'new-york', 'x' * 32))
            for deleted in (False, True)]
ENTRIES = [
    rows.Entry('x' * 900, VERSIONS[0], content_type=rows.PURGE_MARKER,
               purged=STAMPS[1]),
    rows.Entry('\u20ac%;=', VERSIONS[1], content_type=rows.DELETE_MARKER),
    rows.Entry('a/b c', VERSIONS[2], 98, ETAG, 'text/plain',
               changed=Stamp(VERSIONS[2].id.ticks + 998)),
    rows.Entry('ü\n', VERSIONS[4], 0, ETAG + '; slo_etag=x',
               'text/ü; charset=x')]
OFFERS = [shipping.Offered(each.object, each.version.id, each.version.site,
                           each.kind, each.changed) for each in ENTRIES]
HEADS = [shipping.offer([]), shipping.offer(OFFERS), *(
    shipping.shipment(shipping.Shipment(each, HEADERS[number:], each.size))
    for number, each in enumerate(ENTRIES))]
CLAIMS = [signature.Signed('POST', '/v1/a/c', site, 'rome', moment, 'f' * 32,
                           99, b'{}').claim(KEY)
          for site, moment in (('paris', 0), ('x' * 32, 10 ** 12 - 1))]
CONF = ('''[paris]
endpoints = http://10.0.0.1:8080/
key = %s
''' % ('k' * 32), '''[new-york]
endpoints = https://10.0.0.1:1/, http://10.0.0.2:65535/
key = %s
old_key = %s
[rome]
endpoints = http://[::1]:80/
key = %s
''' % ('k' * 64, 'o' * 40, 'x' * 32))


def _lines(row):
    """Return the bytes of a row, as a container server lists it."""
    headers = row_wire.put_headers(row)
    return '\n'.join((row.name, headers['X-Etag'], row.content_type,
                      '2026-01-02T03:04:05.678900')).encode('utf8')


def _row(data):
    name, etag, content_type, modified = (
        data.decode('utf8', 'replace') + '\n\n\n').split('\n')[:4]
    return row_wire.row_of_record({
        'name': name, 'hash': etag, 'bytes': 7, 'content_type': content_type,
        'last_modified': modified})


def _place(name):
    """Return the keys that made a name of a row, and its Place."""
    made = next((each for each in KEYS
                 if name.startswith(each.all_versions)), KEYS[0])
    return made, made.parse(name)


def parse_version_row(data):
    """Read it, and see that what it says can be written and read again."""
    row = _row(data)
    made, place = _place(row.name)
    entry = rows.entry_of(row, place)
    again = rows.row_of(entry, made.version(entry.object, entry.version))
    found = rows.entry_of(_row(_lines(again)), place)
    assert all(getattr(found, each) == getattr(entry, each) for each in (
        'version', 'etag', 'kind', 'plain')), 'is read as %r' % (found,)
    return entry


def pointer_rows():
    """Return rows of pointers, and of the objects themselves."""
    pointers = [pointer.pointer_after(None, ENTRIES[first:last],
                                      lambda: STAMPS[1])
                for first in range(4) for last in range(first + 1, 5)]
    latest = [rows.latest_row(each, 'o') for each in pointers]
    return [_lines(row) for row in (
        *(rows.history_row('o', each) for each in pointers),
        *(row for row in latest if not row.deleted))]


def parse_pointer_row(data):
    """Read it as a pointer's row, or without a frontier as an object's."""
    row = _row(data)
    if row.content_type != rows.PURGE_MARKER and \
            'frontier' not in rows.parameters_of(row.etag)[1]:
        found = latest = rows.listed_entry(row)
        assert (found is None) == (rows.null_of(row, 'paris') is not None), \
            'is of two, or of none'
    else:
        found = rows.pointer_of(row, 'o')
        again = rows.pointer_of(
            _row(_lines(rows.history_row('o', found))), 'o')
        assert again == found, 'is read as %r' % (again,)
        latest = found.latest
    assert not latest or latest.size >= 0, 'has %d bytes' % latest.size
    return found


def largest_heads():
    """Yield as many versions as an offer has, or as much as a head has."""
    ship = b'{"format":1,"verb":"ship",'
    yield shipping.offer([OFFERS[2]] * shipping.MAX_OFFERED)
    yield (b'{"format":1,"verb":"offer","versions":['
           + b'[],' * (shipping.MAX_HEAD // 3 - 20) + b'[]]}')
    yield ship + b'"headers":' + b'[' * 900000
    yield shipping.shipment(shipping.Shipment(ENTRIES[2], tuple(
        ('x-object-meta-%d' % number, 'ü' * 25) for number in range(900))))
    yield (ship + b'"vector":"' + b'a:1,' * (shipping.MAX_HEAD // 4 - 20)
           + b'"}')


def _decode(data):
    try:
        return shipping.decode(data)
    except UnicodeError as err:
        raise AssertionError('no field is named: %s' % err) from err


def encode_head(found):
    """Encode it again, and see that a row can hold it."""
    if isinstance(found, tuple):
        return shipping.offer(found)
    row = rows.row_of(found.entry, 'n')
    for value in row_wire.put_headers(row).values():
        value.encode('latin-1')
    place = keys.Place('o', found.entry.version.id)
    assert found.entry.changed or found.entry.purged or not rows.entry_of(
        row, place).changed, 'its row says it was changed: %s' % row
    return shipping.shipment(found)


def decode_head(data):
    found = _decode(data)
    assert _decode(encode_head(found)) == found, 'is not read as written'
    return found


def decode_answer(data):
    said = shipping.reason(data)
    assert isinstance(said, str) and len(said) <= 1000, \
        'is said to be %.80r' % (said,)
    places = shipping.lacking(data, OFFERED)
    assert list(places) == sorted(set(places)) and all(
        type(place) is int and 0 <= place < OFFERED for place in places), \
        'these are no places: %r' % (places,)
    return places


def sign(data):
    """Return a request with the trailer that belongs to its data."""
    line, _, body = data.partition(b'\n')
    head = int(line) if line.isdigit() and len(line) < 9 else 0
    if len(body) < head + signature.TRAILER:
        return data
    return data[:-signature.TRAILER] + signature.trailer(
        KEY, MAC, sha256(body[head:-signature.TRAILER]).hexdigest())


class _Slow(io.BytesIO):
    """A stream that gives less than is asked for, as sockets do."""

    def read(self, size=-1):
        return super().read(min(size, 100) if size > 0 else size)


def decode_request(data):
    """Read it as a proxy-server does: return what the head says, and data."""
    line, _, body = data.partition(b'\n')
    stream = _Slow(body)
    raw, length = received_body.read_head(stream, line.decode('latin-1'),
                                          len(body))
    head, found = len(raw), decode_head(raw)
    reader, got = received_body.Data(stream, length, KEY, MAC), b''
    signed = sign(data) == data
    try:
        for chunk in reader:
            got += chunk
    finally:
        assert signed or not length or len(got) != length, \
            'data was given that is not the sender\'s'
    assert signed and got == body[head:head + length], 'this was not sent'
    return found, got


def read_sites(data):
    """Read it, and see that each endpoint has a host and a port."""
    peers = sites_conf.parse(data.decode('utf8'), 'oslo', 'a file')
    for endpoint in (each for peer in peers.values()
                     for each in peer.endpoints):
        assert 0 < endpoint.port < 65536 and endpoint.host, \
            'an endpoint is %r' % (endpoint,)
    return peers


def _exact(name, values, parse, encode=str):
    """Return a target for which no two texts may say the same."""
    return Target(
        name, as_text(*values), lambda data: parse(data.decode('latin-1')),
        (ValueError,), LONGEST,
        encode=lambda found: encode(found).encode('latin-1'),
        mutations=(edit_text,))


def _of_row(name, examples, parse):
    # What is quoted is 8 bytes long in a text of wide characters.
    return Target(name, examples, parse, (ValueError,), LONGEST, 256,
                  mutations=(edit_part('\n'),))


TARGETS = (
    Target('sites-head', HEADS, decode_head, (ValueError,),
           shipping.MAX_HEAD, mutations=JSON, large=largest_heads),
    Target('sites-answer', [
        shipping.answer(lacking=lacking) for lacking in (
            [], [0], [1, 5, OFFERED - 1], list(range(OFFERED)))],
           decode_answer, (ValueError,), shipping.MAX_HEAD, mutations=JSON),
    Target('sites-request', [
        sign(b'%d\n' % len(head) + head + body + b' ' * signature.TRAILER)
        for head in HEADS for body in (b'', b'x' * 50)], decode_request,
           (ValueError, received_body.Disconnected), shipping.MAX_HEAD,
           finish=sign),
    Target('sites-claim', as_text(*CLAIMS),
           lambda data: signature.Claim.parse(data.decode('latin-1')),
           (signature.SignatureError,), 1000,
           encode=lambda claim: str(claim).encode(), mutations=(edit_text,)),
    # configparser keeps several copies of all lines.
    Target('sites.conf', as_text(*CONF), read_sites, (ValueError,), 1 << 16,
           mutations=(edit_text,)),
    _exact('stamp', STAMPS, Stamp.parse),
    _exact('vector', [each.vector for each in VERSIONS], Vector.parse),
    _exact('hidden-container', [
        keys.hidden_container('c' * length)
        for length in (0, 1, 256, shipping.MAX_NAME - 1)],
        keys.user_container, keys.hidden_container),
    _exact('row-name', [made.version('o' * length, version) for made in KEYS
                        for version in VERSIONS for length in (0, 1, 9)],
           _place, lambda found: found[0].version(found[1].object, found[1])),
    _of_row('version-row', [
        _lines(rows.row_of(entry, made.version('o', entry.version)))
        for made in KEYS for entry in ENTRIES], parse_version_row),
    _of_row('pointer-row', pointer_rows(), parse_pointer_row),
)
