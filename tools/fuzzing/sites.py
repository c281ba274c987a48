# SPDX-License-Identifier: Apache-2.0
"""
The requests and answers between sites, and how they are read.

A request is given as it comes, with its header as the first line.
"""

import io
from hashlib import sha256

from swift_lightsync.versioning.core import shipping
from swift_lightsync.versioning.core.keys import Place
from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    PURGE_MARKER,
    Entry,
    entry_of,
    row_of,
)
from swift_lightsync.versioning.core.shipping import Offered, Shipment
from swift_lightsync.versioning.core.signature import (
    TRAILER,
    Claim,
    SignatureError,
    Signed,
    trailer,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.rows.row_wire import put_headers
from swift_lightsync.versioning.sites import sites_conf
from swift_lightsync.versioning.sites.received_body import (
    Data,
    Disconnected,
    read_head,
)
from tools.fuzzing.mutate import JSON, edit_text
from tools.fuzzing.target import Target, as_text, reread

OFFERED = 40
KEY, MAC = b'k' * 32, 'a' * 64
HEADERS = (('x-object-meta-a', 'b'), ('x-object-meta-ü', 'ü'),
           ('content-encoding', 'gzip'), ('x-delete-at', '9'))
STAMPS = (Stamp(1, 0), Stamp(1700000000 * 10 ** 5, 5),
          Stamp((1 << 49) - 1, (1 << 40) - 1))
VERSIONS = [Version(stamp, site, Vector({'paris': STAMPS[1], site: stamp}),
                    deleted)
            for stamp, site in zip(STAMPS, ('paris', 'new-york', 'x' * 32))
            for deleted in (False, True)]
ENTRIES = [
    Entry('x' * 900, VERSIONS[0], content_type=PURGE_MARKER,
          purged=STAMPS[1]),
    Entry('\u20ac%;=', VERSIONS[1], content_type=DELETE_MARKER),
    Entry('a/b c', VERSIONS[2], 98, 'e' * 32, 'text/plain',
          changed=Stamp(VERSIONS[2].id.ticks + 998)),
    Entry('ü\n', VERSIONS[4], 0, 'e' * 32 + '; slo_etag=x',
          'text/ü; charset=x')]
OFFERS = [Offered(each.object, each.version.id, each.version.site, each.kind,
                  each.changed) for each in ENTRIES]
HEADS = [shipping.offer([]), shipping.offer(OFFERS), *(
    shipping.shipment(Shipment(each, HEADERS[number:], each.size))
    for number, each in enumerate(ENTRIES))]
CLAIMS = [Signed('POST', '/v1/a/c', site, 'rome', moment, 'f' * 32, 99,
                 b'{}').claim(KEY)
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


def largest_heads():
    """Yield as many versions as an offer has, or as much as a head has."""
    ship = b'{"format":1,"verb":"ship",'
    yield shipping.offer([OFFERS[2]] * shipping.MAX_OFFERED)
    yield (b'{"format":1,"verb":"offer","versions":['
           + b'[],' * (shipping.MAX_HEAD // 3 - 20) + b'[]]}')
    yield ship + b'"headers":' + b'[' * 900000
    yield shipping.shipment(Shipment(ENTRIES[2], tuple(
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
    row = row_of(found.entry, 'n')
    for value in put_headers(row).values():
        value.encode('latin-1')
    changed = entry_of(row, Place('o', found.entry.version.id)).changed
    if changed and not found.entry.changed and not found.entry.purged:
        raise AssertionError('its row says it was changed: %s' % row)
    return shipping.shipment(found)


decode_head = reread(_decode, encode_head)


def decode_answer(data):
    said = shipping.reason(data)
    if not isinstance(said, str) or len(said) > 1000:
        raise AssertionError('is said to be %.80r' % (said,))
    places = shipping.lacking(data, OFFERED)
    if list(places) != sorted(set(places)) or not all(
            type(place) is int and 0 <= place < OFFERED for place in places):
        raise AssertionError('these are no places: %r' % (places,))
    return places


def sign(data):
    """Return a request with the trailer that belongs to its data."""
    line, _, body = data.partition(b'\n')
    head = int(line) if line.isdigit() and len(line) < 9 else 0
    if len(body) < head + TRAILER:
        return data
    return data[:-TRAILER] + trailer(
        KEY, MAC, sha256(body[head:-TRAILER]).hexdigest())


class _Slow(io.BytesIO):
    """A stream that gives less than is asked for, as sockets do."""

    def read(self, size=-1):
        return super().read(min(size, 100) if size > 0 else size)


def decode_request(data):
    """
    Read it as a proxy-server does.

    :returns: what the head says, and the data
    """
    line, _, body = data.partition(b'\n')
    stream = _Slow(body)
    raw, length = read_head(stream, line.decode('latin-1'), len(body))
    head, found = len(raw), decode_head(raw)
    reader, got = Data(stream, length, KEY, MAC), b''
    try:
        for chunk in reader:
            got += chunk
    finally:
        signed = sign(data) == data
        if (len(got) == length and length) and not signed:
            raise AssertionError('data was given that is not the sender\'s')
    if got != body[head:head + length] or not signed:
        raise AssertionError('this data was not sent')
    return found, got


def read_sites(data):
    """Read it, and see that each endpoint has a host and a port."""
    peers = sites_conf.parse(data.decode('utf8'), 'oslo', 'a file')
    for peer in peers.values():
        for endpoint in peer.endpoints:
            if not 0 < endpoint.port < 65536 or not endpoint.host:
                raise AssertionError('an endpoint is %r' % (endpoint,))
    return peers


TARGETS = (
    Target('sites-head', HEADS, decode_head, (ValueError,),
           shipping.MAX_HEAD, mutations=JSON, large=largest_heads),
    Target('sites-answer', [
        shipping.answer(lacking=lacking) for lacking in (
            [], [0], [1, 5, OFFERED - 1], list(range(OFFERED)))],
           decode_answer, (ValueError,), shipping.MAX_HEAD, mutations=JSON),
    Target('sites-request', [
        sign(b'%d\n' % len(head) + head + body + b' ' * TRAILER)
        for head in HEADS for body in (b'', b'x' * 50)], decode_request,
           (ValueError, Disconnected), shipping.MAX_HEAD, finish=sign),
    Target('sites-claim', as_text(*CLAIMS),
           lambda data: Claim.parse(data.decode('latin-1')),
           (SignatureError,), 1000, encode=lambda claim: str(claim).encode(),
           mutations=(edit_text,)),
    # configparser keeps several copies of all lines.
    Target('sites.conf', as_text(*CONF), read_sites, (ValueError,), 1 << 16,
           mutations=(edit_text,)),
)
