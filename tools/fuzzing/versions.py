# SPDX-License-Identifier: Apache-2.0
"""The rows of versions, the requests between sites, and how they are read.

A row is given as the JSON of the verb VERSION. A request between sites is
given as it comes, with its header as the first line.
"""

import io
import json
from dataclasses import replace
from hashlib import sha256

from swift_lightsync.versioning.core import row_data as rows
from swift_lightsync.versioning.core import shipping, signature, verb
from swift_lightsync.versioning.core.life import Life, life_of, life_row
from swift_lightsync.versioning.core.shipment import Frame, Shipment
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.rows import connections
from swift_lightsync.versioning.sites import receiver
from tools.fuzzing.mutate import JSON, edit_text
from tools.fuzzing.target import Target, as_text

LONGEST = 1 << 14
OFFERED = 40
KEY, MAC, ETAG = b'k' * 32, 'a' * 64, 'e' * 32
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
    rows.Entry('\u20ac%;=', VERSIONS[1], content_type=rows.DELETE_MARKER,
               null=True),
    rows.Entry('a/b c', VERSIONS[2], 98, ETAG, 'text/plain',
               changed=Stamp(VERSIONS[2].id.ticks + 998)),
    rows.Entry('ü\n', VERSIONS[4], 0, ETAG + '; slo_etag=x',
               'text/ü; charset=x')]
LIVES = [
    Life(True, STAMPS[1], 'paris', STAMPS[1], (
        ('x-container-meta-a', 'ü'), ('x-versions-enabled', 'true'))),
    Life(False, STAMPS[2], 'x' * 32)]
OFFERS = [shipping.Offered(each.object, each.version.id, each.version.site,
                           each.kind, each.changed) for each in ENTRIES]
GROUPS = [shipping.Group('AUTH_ü', 'c', tuple(OFFERS)),
          shipping.Group('a', 'x' * 256, tuple(OFFERS[:1]))]
SHIPMENTS = [
    *(Shipment('a', 'c', each, HEADERS[number:], min(each.size, 9) if
               each.kind is rows.Kind.DATA else 0)
      for number, each in enumerate(ENTRIES)),
    *(Shipment('a', 'c', life=life) for life in LIVES)]

def _frame(shipment):
    return shipping.encoded(shipment.to_frame().to_json())


FRAMES = [_frame(each) for each in SHIPMENTS]
HEADS = [shipping.offer([]), shipping.offer(GROUPS), shipping.pack(FRAMES),
         *(shipping.pack([each]) for each in FRAMES)]
ROWS = [*map(rows.row_of, ENTRIES), rows.purge_record(ENTRIES[0]),
        *map(life_row, LIVES),
        *(rows.listing_row(each, each.object, STAMPS[1])
          for each in ENTRIES[1:])]
CLAIMS = [signature.Claim.of(site, moment, 'f' * 32, b'{}').signed(
              KEY, 'rome', 99)
          for site, moment in (('paris', 0), ('x' * 32, 10 ** 12 - 1))]


def _written(row):
    return verb.encoded(verb.WireRow.of(row))


def _means(row):
    """Return what a row means, and a row that means the same."""
    if row.name == rows.LIFE:
        life = life_of(row)
        return life, life_row(life)
    if row.name.startswith(rows.LISTINGS):
        return rows.listed_of(row.etag), row
    entry = rows.entry_of(row)
    record = row.content_type == rows.PURGE_MARKER and not row.deleted
    return entry, (rows.purge_record if record else rows.row_of)(entry)


def parse_row(data):
    """Read it, and see that what it says can be written and read again."""
    row = verb.WireRow.parse(data, LONGEST).row
    found, again = _means(row)
    assert again.name == row.name, 'is written as %r' % (again,)
    same, _ = _means(verb.WireRow.parse(_written(again), 1 << 16).row)
    assert [getattr(same, each, None) for each in ('version', 'null', 'id')] \
        == [getattr(found, each, None) for each in (
            'version', 'null', 'id')], 'is read as %r' % (same,)
    return found


def parse_name(name):
    """Read the name of a row of a version, or of a purge record."""
    if name.startswith(rows.PURGES):
        return rows.purge_name, rows.parse_purge(name)
    return rows.version_name, rows.parse_version(name)


def largest_heads():
    """Yield as many versions as an offer has, or as much as a head has."""
    ship = b'{"format":1,"verb":"ship","shipments":['
    yield shipping.offer([shipping.Group('a', 'c', (OFFERS[2],) *
                                         shipping.MAX_OFFERED)])
    yield shipping.pack([FRAMES[2]] * shipping.MAX_PACKED)
    yield (b'{"format":1,"verb":"offer","groups":['
           + b'[],' * (shipping.MAX_HEAD // 3 - 20) + b'[]]}')
    yield ship + b'[' * 900000
    yield shipping.pack([_frame(Shipment('a', 'c', ENTRIES[2], tuple(
        ('x-object-meta-%d' % number, 'ü' * 25) for number in range(900))))])
    yield (ship + b'{"length":0,"what":{"vector":"'
           + b'a:1,' * (shipping.MAX_HEAD // 4 - 40) + b'"}}]}')


def encode_head(found):
    """Encode a head again, and what of its shipments can be read."""
    if not isinstance(found, shipping.Pack):
        return shipping.encoded(found.to_json())
    frames = []
    for frame in found.shipments:
        try:
            opened = frame.open()
        except ValueError as err:
            assert not isinstance(err, UnicodeError), 'no field is named'
            opened = None
        if opened and opened.entry:
            # A row can hold it.
            rows.row_of(opened.entry)
        frames.append(shipping.encoded(Frame(
            frame.length, opened.to_frame().what if opened
            else frame.what).to_json()))
    return shipping.pack(frames)


def _opened(found):
    """Return what the readable shipments of a pack are, or the head."""
    if not isinstance(found, shipping.Pack):
        return found
    opened = []
    for frame in found.shipments:
        try:
            opened.append(frame.open())
        except ValueError:
            opened.append(None)
    return opened


def decode_head(data):
    try:
        found = shipping.decode(data)
    except UnicodeError as err:
        raise AssertionError('no field is named: %s' % err) from err
    again = shipping.decode(encode_head(found))
    assert _opened(again) == _opened(found), 'is not read as written'
    return found


def decode_answer(data):
    said = shipping.reason(data)
    assert isinstance(said, str) and len(said) <= shipping.MAX_ERROR, \
        'is said to be %.80r' % (said,)
    found = shipping.lacking(data, OFFERED)
    assert all(type(place) is int and 0 <= place < OFFERED
               for place in found.lacking + found.unknown), \
        'these are no places: %r' % (found,)
    return found


def decode_results(data):
    found = shipping.results_of(data, 2)
    assert all(len(each.error) <= shipping.MAX_ERROR for each in found.results)
    return found


def decode_verb(data):
    """Read a request of the verb, or an answer to one."""
    fields = json.loads(data) if len(data) < LONGEST else None
    asked = isinstance(fields, dict) and 'listed' in fields
    return (verb.Request if asked else verb.Answer).parse(
        data, verb.MAX_BODY)


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
    claimed = int(line) if line.isdigit() and len(line) < 9 else 0
    claim = signature.Claim.of('paris', 0, '', body[:claimed])
    length = receiver.data_length(replace(claim, length=claimed),
                                       len(body))
    raw = receiver.read_head(stream, claim)
    head, found = len(raw), decode_head(raw)
    reader, got = receiver.Data(stream, length, KEY, MAC), b''
    signed = sign(data) == data
    try:
        for chunk in reader:
            got += chunk
    finally:
        assert signed or not length or len(got) != length, \
            'data was given that is not the sender\'s'
    assert signed and got == body[head:head + length], 'this was not sent'
    return found, got


def _exact(name, values, parse, encode=str):
    """Return a target for which no two texts may say the same."""
    return Target(
        name, as_text(*values), lambda data: parse(data.decode('latin-1')),
        (ValueError,), LONGEST,
        encode=lambda found: encode(found).encode('latin-1'),
        mutations=(edit_text,))


ANSWERS = [shipping.Lacking(places, unknown, error)
           for places, unknown, error in (
               ((), (), ''), ((0,), (1, 2), 'ü'), ((1, 5, OFFERED - 1), (),
                                                   ''),
               (tuple(range(OFFERED)), (), ''))]
RESULTS = [[shipping.Result(201), shipping.Result(status, 'rows')]
           for status in (100, 201, 503, 599)]
VERBS = [verb.Request('o', tuple(map(verb.WireRow.of, ROWS)), ('a', 'b'),
                      True, STAMPS[1], 5.5,
                      page=verb.Page('a', 'b', 'c', 7)),
         verb.Request(), verb.Answer(),
         verb.Answer(*map(verb.WireRow.of, ROWS[:2]),
                     tuple(map(verb.WireRow.of, ROWS)),
                     shards=(verb.Shard('.shards_a/c', '', 'x'),),
                     left=('o',), only_shards=True)]

TARGETS = (
    Target('sites-head', HEADS, decode_head, (ValueError,),
           shipping.MAX_HEAD, mutations=JSON, large=largest_heads),
    Target('sites-answer', [shipping.encoded(each.to_json())
                            for each in ANSWERS],
           decode_answer, (ValueError,), shipping.MAX_HEAD, mutations=JSON),
    Target('sites-results', list(map(shipping.results, RESULTS)),
           decode_results, (ValueError,), shipping.MAX_HEAD, mutations=JSON),
    Target('sites-request', [
        sign(b'%d\n' % len(head) + head + body + b' ' * signature.TRAILER)
        for head in HEADS for body in (b'', b'x' * 50)], decode_request,
           (ValueError, receiver.Disconnected), shipping.MAX_HEAD,
           finish=sign),
    Target('sites-claim', as_text(*CLAIMS),
           lambda data: signature.Claim.parse(data.decode('latin-1')),
           (signature.SignatureError,), 1000,
           encode=lambda claim: str(claim).encode(), mutations=(edit_text,)),
    _exact('stamp', STAMPS, Stamp.parse),
    _exact('vector', [each.vector for each in VERSIONS], Vector.parse),
    _exact('hidden-container', [
        rows.hidden_container('c' * length) for length in (0, 1, 256, 4095)],
        rows.user_container, rows.hidden_container),
    _exact('row-name', [name('o' * length, version.id)
                        for name in (rows.version_name, rows.purge_name)
                        for version in VERSIONS for length in (0, 1, 9)],
           parse_name, lambda found: found[0](found[1].object, found[1].id)),
    Target('version-row', list(map(_written, ROWS)), parse_row,
           (ValueError,), LONGEST, 256, mutations=JSON),
    Target('verb', list(map(verb.encoded, VERBS)), decode_verb,
           (ValueError, RecursionError), LONGEST, mutations=JSON,
           write=verb.encoded),
    Target('verb-head', as_text(
        'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
        'Content-Length: 300\r\nDate: Mon, 23 Nov 2026 16:00:00 GMT',
        'HTTP/1.1 503 x\r\ncontent-length:0\r\nConnection: close'),
           connections.parsed_head, (ValueError,), connections.MAX_HEAD, 256,
           mutations=(edit_text,)),
)
