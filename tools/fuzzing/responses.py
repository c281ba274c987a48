# SPDX-License-Identifier: Apache-2.0
"""The responses in HTTP/1.1 that servers send COSBench, and the URLs in them.

An input is a byte that says whether the request was a HEAD or a GET, and a
response, which is read as one and in pieces.
"""

import random
from zlib import crc32

from cosbench.adaptors.core import http_response
from cosbench.adaptors.core.http_grammar import header_lines
from cosbench.adaptors.core.http_response import MAX_HEAD, MAX_LINE
from cosbench.adaptors.core.operation_errors import OperationError
from cosbench.adaptors.http1.url import parse_url
from cosbench.errors import ConfigError
from tools.fuzzing.mutate import edit_text
from tools.fuzzing.target import Target, as_text

LONGEST = 1 << 17
_OK = b'gHTTP/1.1 200 OK\r\n'
_CHUNKED = b'Transfer-Encoding: chunked\r\n\r\n'
RESPONSES = (
    _OK + b'Content-Length: 0\r\n\r\n',
    _OK + b'Date: x\r\nETag: "%s"\r\na:\r\nContent-Length: 20\r\n\r\n%s' % (
        b'e' * 32, b'x' * 20),
    _OK + b'Connection: close\r\n\r\n' + b'x' * 300,
    _OK + _CHUNKED + b'0\r\n\r\n',
    _OK + _CHUNKED + b'1\r\nx\r\na;a=b\r\n0123456789\r\n28 \r\n' + b'x' * 40
    + b'\r\n0\r\na: b\r\n\r\n',
    b'gHTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\nContent-Length: 1\r\n'
    b'\r\nx',
    b'gHTTP/1.0 200 OK\r\n\r\nx',
    b'g' + b'HTTP/1.1 100 Continue\r\n\r\n' * 8 + b'HTTP/1.1 201 \r\n'
    b'Content-Length: 0\r\n\r\n',
    b'gHTTP/1.1 204 No Content\r\na: b\r\n\r\n',
    b'gHTTP/1.1 304 \r\nContent-Length: 5\r\n\r\n',
    b'gHTTP/1.1 503 x\r\nContent-Length: 5\r\n\r\nwords',
    b'gHTTP/1.1 404 x\r\n' + _CHUNKED + b'5\r\nwords\r\n0\r\n\r\n',
    b'hHTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n',
    b'hHTTP/1.1 200 OK\r\n' + _CHUNKED)
URLS = ('http://h', 'HTTP://10.0.0.1:8080/', 'https://[::1]/v1/AUTH_a',
        'http://storage.example:443/v1/a%20b/', 'https://ü.example',
        'http://[fe80::1%25eth0]:8080/v1/AUTH_a')


def large_responses():
    """Yield what is as long as is taken, and a byte more."""
    head = b'gHTTP/1.1 200 \r\n'
    chunks = head + _CHUNKED
    for longest in (MAX_HEAD - 30, MAX_HEAD - 1, MAX_HEAD, MAX_HEAD + 1):
        yield head + b'a:\r\n' * (longest // 4)
        yield head + b'a' * longest
        yield head + b'connection:close\r\n' * (longest // 18) + b'\r\n'
        yield chunks + b'1\r\nx\r\n' * (longest // 6)
        yield chunks + b'0\r\n' + b'a:b\r\n' * (longest // 5) + b'\r\n'
        yield b'gHTTP/1.1 500 \r\n\r\n' + b'x' * longest
    for longest in (MAX_LINE - 9, MAX_LINE, MAX_LINE + 9):
        yield chunks + b'1;' + b'x' * longest


def _fed(data, bodiless, sizes):
    """Return what came of a response that is fed in pieces.

    :param sizes: of the pieces; the last one is what is left
    :raises OperationError: if it is no response
    """
    body = []
    response = http_response.Response(
        bodiless, lambda block: body.append(bytes(block)))
    for size in (*sizes, len(data)):
        piece, data = data[:size], data[size:]
        if piece:
            response.feed(piece)
    reusable = response.complete and response.reusable
    if not response.complete:
        response.eof()
    body = b''.join(body)
    assert len(body) == (response.size if response.status < 300 else 0) \
        and len(response.excerpt) <= http_response.MAX_EXCERPT \
        and len(response.said(200)) <= 200, '%d bytes of a body' % len(body)
    return (response.status, response.size, response.headers, body,
            response.excerpt, reusable)


def _result(*args):
    """Return what came of a response, and its error: one of them is None."""
    try:
        return _fed(*args), None
    except OperationError as err:
        return None, err


def decode_response(data):
    """Read it, and see that it is the same in whatever pieces it comes."""
    bodiless, data = data[:1] == b'h', data[1:]
    rng = random.Random(crc32(data))
    sizes = [1] * len(data) if len(data) < 500 else [
        rng.randint(1, 4000) for _ in range(20)]
    found, error = _result(data, bodiless, ())
    again, other = _result(data, bodiless, sizes)
    assert found == again and getattr(error, 'kind', None) == getattr(
        other, 'kind', None), 'is %.150r, but in pieces %.150r' % (
            found or error, again or other)
    if error:
        raise error
    return found


def decode_url(data):
    """Read it, and see that a request can be made of it."""
    url = parse_url('storage_url', data.decode('utf8', 'surrogateescape'))
    header_lines([('Host', url.netloc)])
    assert all('!' <= each <= '~' for each in url.path + url.netloc), \
        'is no target or host: %r' % (url,)
    return url


TARGETS = (
    Target('http-response', RESPONSES, decode_response, (OperationError,),
           LONGEST, 100, large=large_responses),
    Target('url', as_text(*URLS), decode_url, (ConfigError,), 4000,
           write=lambda url: str(url).encode(), mutations=(edit_text,)),
)
