# SPDX-License-Identifier: Apache-2.0
"""response: bytes to a response, and what is refused."""

import unittest

from hypothesis import example, given
from hypothesis import strategies as st

from cosbench.adaptors.core import http_response as response_module
from cosbench.adaptors.core.http_grammar import header_lines
from cosbench.adaptors.core.http_response import (
    MAX_EXCERPT,
    MAX_HEAD,
    MAX_INTERIM,
    MAX_LINE,
    Response,
)
from cosbench.adaptors.core.operation_errors import OperationError

OK = b'HTTP/1.1 200 OK\r\n'
BLOCKS = st.lists(st.binary(min_size=1, max_size=40), max_size=8)


def parsed(data, cuts=(), bodiless=False, eof=False):
    """:returns: (``Response``, body), of data that came in pieces"""
    body = bytearray()
    response = Response(bodiless, body.extend)
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for begin, end in zip(places, places[1:]):
        response.feed(data[begin:end])
    if eof:
        response.eof()
    return response, bytes(body)


def chunked(blocks, extension=b'', trailers=b''):
    return b''.join(
        b'%X%b\r\n%b\r\n' % (len(block), extension, block)
        for block in blocks) + b'0\r\n' + trailers + b'\r\n'


class TestWhatIsValid(unittest.TestCase):

    @given(BLOCKS, st.lists(st.integers(0)))
    def test_a_body_with_a_length_comes_whole_however_it_is_cut(
            self, blocks, cuts):
        content = b''.join(blocks)
        response, body = parsed(
            OK + b'X-A: 1\r\ncontent-LENGTH: %d\r\n\r\n' % len(content)
            + content, cuts)
        self.assertEqual((content, len(content), True, True, 200), (
            body, response.size, response.complete, response.reusable,
            response.status))

    @given(BLOCKS, st.lists(st.integers(0)), st.sampled_from(
        [b'', b';a', b' ;x="y;z"']), st.sampled_from(
            [b'', b'Etag: x\r\n', b'A: b\r\nC:\r\n']))
    def test_a_chunked_body_comes_whole_however_it_is_cut(
            self, blocks, cuts, extension, trailers):
        response, body = parsed(
            OK + b'Transfer-Encoding: Chunked\r\n\r\n'
            + chunked(blocks, extension, trailers), cuts)
        self.assertEqual((b''.join(blocks), True, True), (
            body, response.complete, response.reusable))

    @given(st.binary(), st.lists(st.integers(0)))
    def test_a_body_without_a_length_ends_with_the_connection(
            self, content, cuts):
        data = OK + b'\r\n' + content
        response, body = parsed(data, cuts)
        self.assertFalse(response.complete)
        response, body = parsed(data, cuts, eof=True)
        self.assertEqual((content, True, False), (
            body, response.complete, response.reusable))

    @given(st.binary(), st.lists(st.integers(0)), st.booleans())
    @example(b'HTTP/1.1 200 OK\r\n' + b'a' * MAX_HEAD, [], True)
    def test_any_bytes_are_a_response_or_an_operation_error(
            self, data, cuts, well_begun):
        if well_begun:
            data = OK + b'Transfer-Encoding: chunked\r\n\r\n' + data
        try:
            parsed(data, cuts, eof=True)
        except OperationError as err:
            self.assertIn(err.kind, ('protocol', 'closed'))

    def test_a_response_without_a_body_ends_with_its_head(self):
        for status, bodiless in ((204, False), (304, False), (200, True)):
            with self.subTest(status=status):
                response, _ = parsed(
                    b'HTTP/1.1 %d\r\nContent-Length: 9\r\n\r\n' % status,
                    bodiless=bodiless)
                self.assertTrue(response.complete and response.reusable)

    def test_interim_responses_are_passed_over(self):
        response, body = parsed(
            b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 E\r\nLink: x\r\n\r\n'
            + OK + b'Content-Length: 1\r\n\r\nx', cuts=range(0, 99, 5))
        self.assertEqual((200, b'x'), (response.status, body))
        self.assertNotIn(b'link', response.headers)

    def test_headers_are_trimmed_and_equal_ones_joined(self):
        response, _ = parsed(OK + b'A: \t1 \r\na:2\r\nEmpty:\r\n\r\n')
        self.assertEqual({b'a': b'1, 2', b'empty': b''}, response.headers)

    def test_the_connection_stays_only_if_both_sides_say_so(self):
        for head, stays in (
                (b'HTTP/1.1 200 OK\r\n', True),
                (b'HTTP/1.1 200 OK\r\nConnection: x, Close\r\n', False),
                (b'HTTP/1.0 200 OK\r\n', False),
                (b'HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n', True)):
            with self.subTest(head):
                response, _ = parsed(head + b'Content-Length: 0\r\n\r\n')
                self.assertEqual(stays, response.reusable)

    def test_bytes_after_the_response_are_not_its_and_end_the_reuse(self):
        for head in (b'Content-Length: 2\r\n\r\nab',
                     b'Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n'
                     b'0\r\n\r\n'):
            with self.subTest(head):
                response, body = parsed(OK + head + b'HTTP/1.1 200 OK\r\n')
                self.assertEqual((b'ab', 2, True, False), (
                    body, response.size, response.complete,
                    response.reusable))
        for status, bodiless in ((204, False), (200, True), (200, False)):
            with self.subTest(status=status, bodiless=bodiless):
                response, body = parsed(
                    b'HTTP/1.1 %d\r\nContent-Length: 0\r\n\r\nx' % status,
                    bodiless=bodiless)
                self.assertEqual((b'', True, False), (
                    body, response.complete, response.reusable))

    def test_the_body_of_a_failure_goes_to_the_excerpt_not_the_sink(self):
        content = b'why' * 1000
        response, body = parsed(
            b'HTTP/1.1 507 Full\r\nContent-Length: 3000\r\n\r\n' + content,
            cuts=(50, 70, 2500))
        self.assertEqual((b'', content[:MAX_EXCERPT], 3000), (
            body, response.excerpt, response.size))
        response, _ = parsed(
            b'HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n'
            + chunked([b'bad', b'luck']))
        self.assertEqual(b'badluck', response.excerpt)


class TestWhatIsRefused(unittest.TestCase):

    def refused(self, data, words, kind='protocol'):
        for cuts in ((), range(0, len(data), 7)):
            with self.subTest(data[:60], cuts=bool(cuts)):
                with self.assertRaisesRegex(OperationError, words) as raised:
                    parsed(data, cuts, eof=True)
                self.assertEqual(kind, raised.exception.kind)

    def test_what_is_no_status_line(self):
        for line in (b'SSH-2.0-OpenSSH', b'HTTP/2 200 OK', b'HTTP/1.1 2000',
                     b'HTTP/1.1 099 X', b'HTTP/1.1  200 OK', b''):
            self.refused(line + b'\r\n\r\n', 'no status line')

    def test_headers_that_two_readers_could_read_differently(self):
        for line in (b' folded: x', b'a : x', b'no colon', b': x', b'a\0: x',
                     b'a: x\ny: z', b'a: x\ry', b'\xe4: x'):
            self.refused(OK + b'A: 1\r\n' + line + b'\r\n\r\n',
                         'malformed header')

    def test_lengths_that_are_none(self):
        for value in (b'-1', b'+1', b'1,1', b'0x10', b'1 1', b'', b'9' * 19,
                      '٣'.encode()):
            self.refused(OK + b'Content-Length: ' + value + b'\r\n\r\n',
                         'Content-Length')

        self.refused(OK + b'Content-Length: 1\r\nContent-Length: 2\r\n\r\n',
                     'two of the header')
        self.refused(OK + b'Content-Length: 3\r\n'
                     b'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
                     'Content-Length')

    def test_transfer_codings_other_than_chunked(self):
        for value in (b'gzip', b'gzip, chunked', b'identity', b''):
            self.refused(OK + b'Transfer-Encoding: ' + value + b'\r\n\r\n',
                         'Transfer-Encoding')
        self.refused(b'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked'
                     b'\r\n\r\n0\r\n\r\n', 'Transfer-Encoding')

    def test_chunks_that_are_none(self):
        begin = OK + b'Transfer-Encoding: chunked\r\n\r\n'
        for chunk in (b'x\r\n', b'-1\r\n', b'0x1\r\na\r\n', b'\r\n',
                      b'f' * 16 + b'\r\n', b'1 1\r\na\r\n'):
            self.refused(begin + chunk, 'no size of a chunk')
        for chunk in (b'1\r\nab\r\n', b'1\r\na\n\r0\r\n', b'1\r\na\rx'):
            self.refused(begin + chunk, 'longer than its size')
        self.refused(begin + b'0\r\nno colon\r\n\r\n', 'malformed trailer')

    def test_heads_lines_and_trailers_without_an_end(self):
        self.refused(OK + b'A: ' + b'a' * MAX_HEAD, 'a head of more than')
        begin = OK + b'Transfer-Encoding: chunked\r\n\r\n'
        self.refused(begin + b'1;' + b'a' * MAX_LINE,
                     'size of a chunk of more than')
        self.refused(begin + b'0\r\n' + b'a: b\r\n' * MAX_HEAD,
                     'trailers of more than')

    def test_interim_responses_without_an_end(self):
        self.refused(b'HTTP/1.1 100 C\r\n\r\n' * (MAX_INTERIM + 1),
                     'unexpected response')
        self.refused(b'HTTP/1.1 101 Switching\r\n\r\n', 'unexpected')

    def test_an_early_end(self):
        for data in (b'', b'HTTP/1.1', OK, OK + b'Content-Length: 2\r\n\r\na',
                     OK + b'Transfer-Encoding: chunked\r\n\r\n',
                     OK + b'Transfer-Encoding: chunked\r\n\r\n5\r\nab',
                     OK + b'Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n'
                     ):
            self.refused(data, 'closed the connection', kind='closed')

    def test_a_huge_chunk_is_counted_not_kept(self):
        response = Response()
        response.feed(OK + b'Transfer-Encoding: chunked\r\n\r\n'
                      b'FFFFFFFFFFFFFFF\r\n')
        for _ in range(100):
            response.feed(bytes(2 ** 16))
        self.assertEqual(100 * 2 ** 16, response.size)
        self.assertEqual(b'', response._buffer)


class TestHeaderLines(unittest.TestCase):

    def test_a_value_of_two_lines_is_refused(self):
        for value in ('a\r\nX: y', 'a\nb', 'a\0'):
            with self.assertRaisesRegex(ValueError, 'X-A must be one line'):
                header_lines([('X-A', value)])

    def test_lines_are_utf8(self):
        self.assertEqual('A: ä\r\nB: \r\n'.encode(),
                         header_lines([('A', 'ä'), ('B', '')]))

    def test_the_module_does_no_io(self):
        names = set(vars(response_module))
        self.assertFalse(names & {'asyncio', 'socket', 'time', 'os'})
