# SPDX-License-Identifier: Apache-2.0
"""
What servers answer COSBench: responses in HTTP/1.1, and the URLs in them.

A response is given after a byte that says whether a HEAD was asked for, and
how it comes: as one, or in pieces.
"""

import random
from zlib import crc32

from cosbench.adaptors.core.http_response import (
    MAX_EXCERPT,
    MAX_HEAD,
    MAX_LINE,
    Response,
    header_lines,
)
from cosbench.adaptors.core.operation_errors import OperationError
from cosbench.adaptors.http1.url import parse_url
from cosbench.errors import ConfigError
from tools.fuzzing.mutate import edit_text
from tools.fuzzing.target import Target

LONGEST = 1 << 17
_FIELDS = (b'Date: x\r\n', b'ETag: "%s"\r\n' % (b'e' * 32), b'a:\r\n',
           b'Connection: close\r\n', b'connection: Keep-Alive\r\n')


def _chunked(rng, body):
    pieces = []
    while body:
        size = rng.randint(1, 40)
        piece, body = body[:size], body[size:]
        pieces.append(b'%x%s\r\n%s\r\n' % (
            len(piece), rng.choice((b'', b' ', b';a=b')), piece))
    return b''.join(pieces) + b'0\r\n' + rng.choice(
        (b'', b'a: b\r\n')) + b'\r\n'


def make_response(rng):
    body = rng.randbytes(rng.choice((0, 1, 20, 300)))
    fields = list(rng.sample(_FIELDS, rng.randrange(len(_FIELDS))))
    framing = rng.random()
    if framing < 0.4:
        fields.append(b'Content-Length: %d\r\n' % len(body))
    elif framing < 0.8:
        fields.append(b'Transfer-Encoding: chunked\r\n')
        body = _chunked(rng, body)
    rng.shuffle(fields)
    interim = b'HTTP/1.1 100 Continue\r\n\r\n' * rng.choice((0, 0, 1, 8))
    return b'%s%sHTTP/1.%d %d %s\r\n%s\r\n%s' % (
        rng.choice((b'g', b'g', b'h')), interim,
        0.4 <= framing < 0.8 or rng.random() < 0.8,
        rng.choice((200, 200, 201, 204, 304, 404, 503)),
        rng.choice((b'OK', b'')), b''.join(fields), body)


def make_large_response(rng):
    """What is as long as is taken, and a byte more."""
    head = b'gHTTP/1.1 200 \r\n'
    longest = MAX_HEAD + rng.choice((-30, -1, 0, 1))
    chunks = head + b'transfer-encoding:chunked\r\n\r\n'
    return rng.choice((
        head + b'a:\r\n' * (longest // 4), head + b'a' * longest,
        head + b'connection:close\r\n' * (longest // 18) + b'\r\n',
        chunks + b'1\r\nx\r\n' * (longest // 6),
        chunks + b'1;' + b'x' * (MAX_LINE + rng.choice((-9, 0, 9))),
        chunks + b'0\r\n' + b'a:b\r\n' * (longest // 5) + b'\r\n',
        b'gHTTP/1.1 500 \r\n\r\n' + b'x' * longest))


def _fed(data, bodiless, sizes):
    """
    :param sizes: of the pieces; the last one is what is left
    :returns: what came of a response
    :raises OperationError: if it is none
    """
    body = []
    response = Response(bodiless, lambda block: body.append(bytes(block)))
    for size in sizes:
        piece, data = data[:size], data[size:]
        if piece:
            response.feed(piece)
    if data:
        response.feed(data)
    if response.complete:
        reusable = response.reusable
    else:
        response.eof()
        reusable = False
    body = b''.join(body)
    said = response.said(200)
    if len(response.excerpt) > MAX_EXCERPT or len(said) > 200 or \
            response.status < 300 and len(body) != response.size or \
            response.status >= 300 and body:
        raise AssertionError('%d bytes of a body' % len(body))
    return (response.status, response.size, response.headers, body,
            response.excerpt, reusable)


def decode_response(data):
    """Read it, and see that it is the same in whatever pieces it comes."""
    bodiless, data = data[:1] == b'h', data[1:]
    rng = random.Random(crc32(data))
    small = len(data) < 500
    sizes = [1 if small else rng.randint(1, 4000) for _ in range(
        len(data) if small else 20)]
    try:
        found = _fed(data, bodiless, ())
    except OperationError as err:
        try:
            again = _fed(data, bodiless, sizes)
        except OperationError as other:
            if other.kind == err.kind:
                raise
            again = other
        raise AssertionError('%r is none, but in pieces %r' % (
            err, again)) from None
    try:
        again = _fed(data, bodiless, sizes)
    except OperationError as err:
        again = err
    if again != found:
        raise AssertionError('is %.150r, but in pieces %.150r' % (
            found, again))
    return found


def make_url(rng):
    return '%s://%s%s%s' % (
        rng.choice(('http', 'https', 'HTTP')),
        rng.choice(('h', '10.0.0.1', '[::1]', 'storage.example', 'ü.example',
                    '[fe80::1%25eth0]')),
        rng.choice(('', ':8080', ':443')),
        rng.choice(('', '/', '/v1/AUTH_a', '/v1/a%20b/')))


def decode_url(data):
    """Read it, and see that a request can be made of it."""
    url = parse_url('storage_url', data.decode('utf8', 'surrogateescape'))
    header_lines([('Host', url.netloc)])
    if not all('!' <= each <= '~' for each in url.path + url.netloc):
        raise AssertionError('is no target or host: %r' % (url,))
    if parse_url('again', str(url)) != url:
        raise AssertionError('is read again as %r' % (
            parse_url('again', str(url)),))
    return url


TARGETS = (
    Target('http-response', make_response, decode_response,
           (OperationError,), LONGEST, 100, make_large=make_large_response),
    Target('url', lambda rng: make_url(rng).encode(), decode_url,
           (ConfigError,), 4000, 64, mutations=(edit_text,)),
)
