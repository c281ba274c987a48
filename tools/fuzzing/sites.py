# SPDX-License-Identifier: Apache-2.0
"""
What sites tell each other: valid requests and answers, and how they are read.

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
from tools.fuzzing.target import Target

SITES = ('paris', 'rome', 'new-york', 'x' * 32)
OFFERED = 40
KEY, MAC = b'k' * 32, 'a' * 64
NAMES = ('o', 'a/b c', 'ü\n', 'x' * 900, '\u20ac%;=')


def make_stamp(rng):
    return Stamp(rng.randrange(1, 1 << 49), rng.choice((
        0, 5, rng.getrandbits(40))))


def make_version(rng, deleted=False):
    site = rng.choice(SITES)
    stamp = make_stamp(rng)
    vector = {each: make_stamp(rng) for each in rng.sample(
        SITES, rng.choice((0, 1, 2, len(SITES))))}
    return Version(stamp, site, Vector({**vector, site: stamp}), deleted)


def make_entry(rng, size=None):
    deleted = rng.random() < 0.2
    version, name = make_version(rng, deleted), rng.choice(NAMES)
    if rng.random() < 0.2:
        return Entry(name, version, content_type=PURGE_MARKER,
                     purged=make_stamp(rng))
    if deleted:
        return Entry(name, version, content_type=DELETE_MARKER)
    return Entry(
        name, version, rng.randrange(99) if size is None else size,
        '%032x%s' % (rng.getrandbits(128), rng.choice(('', '; slo_etag=x'))),
        rng.choice(('text/plain', 'text/ü; charset=x')),
        changed=Stamp(version.id.ticks + rng.randrange(999))
        if rng.random() < 0.3 else None)


def make_head(rng):
    if rng.random() < 0.3:
        return shipping.offer([Offered(
            entry.object, entry.version.id, entry.version.site, entry.kind,
            entry.changed) for entry in (
                make_entry(rng) for _ in range(rng.choice((0, 1, 3, 9))))])
    entry = make_entry(rng)
    headers = [('x-object-meta-a', 'b'), ('x-object-meta-ü', 'ü'),
               ('content-encoding', 'gzip'), ('x-delete-at', '9')]
    return shipping.shipment(Shipment(
        entry, tuple(rng.sample(headers, rng.randrange(5))), entry.size))


def make_largest_head(rng):
    """As many versions as an offer has, or as much as a head has."""
    return rng.choice((
        shipping.offer([Offered('o', make_stamp(rng), SITES[0],
                                make_entry(rng).kind)] *
                       shipping.MAX_OFFERED),
        b'{"format":1,"verb":"offer","versions":['
        + b'[],' * (shipping.MAX_HEAD // 3 - 20) + b'[]]}',
        b'{"format":1,"verb":"ship","headers":' + b'[' * 900000,
        shipping.shipment(Shipment(make_entry(rng), tuple(
            ('x-object-meta-%d' % number, 'ü' * 25)
            for number in range(900)))),
        b'{"format":1,"verb":"ship","vector":"'
        + b'a:1,' * (shipping.MAX_HEAD // 4 - 20) + b'"}'))


def decode_head(data):
    """Read it, and see that a row can hold it and that it is sent on."""
    try:
        found = shipping.decode(data)
    except UnicodeError as err:
        raise AssertionError('no field is named: %s' % err) from err
    if isinstance(found, tuple):
        again = shipping.offer(found)
    else:
        again = shipping.shipment(found)
        row = row_of(found.entry, 'n')
        for text in put_headers(row).values():
            text.encode('latin-1')
        changed = entry_of(row, Place('o', found.entry.version.id)).changed
        if changed and not found.entry.changed and not found.entry.purged:
            raise AssertionError('its row says it was changed: %s' % row)
    if shipping.decode(again) != found:
        raise AssertionError('is not read as it was written')
    return found


def make_answer(rng):
    return shipping.answer(lacking=sorted(rng.sample(
        range(OFFERED), rng.choice((0, 1, 5, OFFERED)))))


def decode_answer(data):
    said = shipping.reason(data)
    if not isinstance(said, str) or len(said) > 1000:
        raise AssertionError('is said to be %.80r' % (said,))
    places = shipping.lacking(data, OFFERED)
    if places != sorted(set(places)) or not all(
            type(place) is int and 0 <= place < OFFERED for place in places):
        raise AssertionError('these are no places: %r' % (places,))
    return places


def make_claim(rng):
    return str(Signed(
        'POST', '/v1/a/c', rng.choice(SITES), 'rome',
        rng.choice((0, 5, rng.randrange(10 ** 12))),
        '%032x' % rng.getrandbits(128), 99, b'{}').claim(KEY)).encode()


def decode_claim(data):
    return Claim.parse(data.decode('latin-1'))


def sign(data):
    """The trailer of a request becomes that of the data in it."""
    line, _, body = data.partition(b'\n')
    head = int(line) if line.isdigit() and len(line) < 9 else 0
    if len(body) < head + TRAILER:
        return data
    digest = sha256(body[head:-TRAILER]).hexdigest()
    return data[:-TRAILER] + trailer(KEY, MAC, digest)


def make_request(rng):
    head = make_head(rng)
    return sign(b'%d\n' % len(head) + head
                + rng.randbytes(rng.choice((0, 1, 50))) + b' ' * TRAILER)


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


def make_sites(rng):
    return ''.join('[%s]\nendpoints = %s\nkey = %s\n%s' % (
        site, ', '.join('http%s://10.0.0.%d:%d/' % (
            rng.choice(('', 's')), rng.randrange(256), rng.randrange(1, 9999))
            for _ in range(rng.choice((1, 1, 3)))),
        'k' * rng.choice((32, 64)), rng.choice(('', 'old_key = ' + 'o' * 40
                                                + '\n')))
        for site in rng.sample(SITES, rng.randrange(1, 4))).encode()


def read_sites(data):
    """:raises ValueError: as ``load`` does of a file"""
    peers = sites_conf.parse(data.decode('utf8'), 'oslo', 'a file')
    for peer in peers.values():
        for endpoint in peer.endpoints:
            if not 0 < endpoint.port < 65536 or not endpoint.host:
                raise AssertionError('an endpoint is %r' % (endpoint,))
    return peers


TARGETS = (
    Target('sites-head', make_head, decode_head, (ValueError,),
           shipping.MAX_HEAD, 64, mutations=JSON,
           make_large=make_largest_head),
    Target('sites-answer', make_answer, decode_answer, (ValueError,),
           shipping.MAX_HEAD, 64, mutations=JSON),
    Target('sites-request', make_request, decode_request,
           (ValueError, Disconnected), shipping.MAX_HEAD, 64, finish=sign),
    Target('sites-claim', make_claim, decode_claim, (SignatureError,), 1000,
           64, encode=lambda claim: str(claim).encode(),
           mutations=(edit_text,)),
    # configparser keeps several copies of all lines.
    Target('sites.conf', make_sites, read_sites, (ValueError,), 1 << 16, 64,
           mutations=(edit_text,)),
)
