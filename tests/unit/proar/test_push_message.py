# SPDX-License-Identifier: Apache-2.0
"""The bytes of pushes: swift_lightsync/proar/core/push_message.py."""

import json
import struct
import unittest

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.common.records import RecordError
from swift_lightsync.proar.core.push_message import (
    MAX_BODY,
    MAX_BYTES,
    MAX_HEAD,
    MAX_OBJECTS,
    METHODS,
    Answer,
    SentChange,
    SentObject,
    batch_of,
    decode_answers,
    decode_push,
    encode_answers,
)

POST = SentChange('POST', {'X-Timestamp': '2'})
OBJECT = SentObject(7, '/a/c/ö', (SentChange(
    'PUT', {'X-Timestamp': '1'}, 4), POST), b'body')


def changes(body):
    return st.lists(st.builds(
        SentChange, st.sampled_from(METHODS),
        st.dictionaries(st.text(), st.text()), st.just(0)),
        min_size=1, max_size=3).map(lambda found: (
            found[0]._replace(length=len(body)), *found[1:]))


@st.composite
def objects(draw):
    body = draw(st.binary(max_size=100))
    return SentObject(draw(st.integers(0, 2 ** 32 - 1)), draw(st.text()),
                      draw(changes(body)), body)


def upload(length):
    """:returns: an object that has a body of so many bytes"""
    return SentObject(1, '/a/c/o', (SentChange('PUT', {}, length),),
                      bytes(length))


def raw(head, body=b'', /, **lengths):
    return struct.pack('<LL', lengths.get('head', len(head)), lengths.get(
        'body', len(body))) + head + body


class TestPush(unittest.TestCase):

    def test_the_bytes_are_those_of_the_document(self):
        head = json.dumps([7, '/a/c/ö', [
            ['PUT', {'X-Timestamp': '1'}, 4],
            ['POST', {'X-Timestamp': '2'}, 0]]]).encode()
        self.assertEqual(raw(head, b'body'), OBJECT.encoded)

    @given(st.lists(objects(), max_size=4))
    def test_a_push_is_what_was_encoded(self, sent):
        self.assertEqual(sent, decode_push(b''.join(
            each.encoded for each in sent)))

    @given(st.binary(max_size=300))
    def test_any_bytes_are_a_push_or_an_error(self, data):
        try:
            decode_push(data)
        except RecordError:
            pass

    def test_what_is_no_push_is_an_error_that_says_so(self):
        for data, said in (
                (b'x', 'within an object'),
                (OBJECT.encoded[:-1], 'within an object'),
                (OBJECT.encoded + b'x', 'within an object'),
                (raw(b'', head=MAX_HEAD + 1), 'head: .* at most'),
                (raw(b'', body=MAX_BODY + 1), 'body: .* at most'),
                (raw(b'{'), 'object: '), (raw(b'[' * 10000), 'object: '),
                (raw(b'[1, "/a", []]'), '0 changes'),
                (raw(b'[1, "/a", [["POST", {}, 1]]]'), '0 bytes'),
                (raw(b'[-1, "/a", [["POST", {}, 0]]]'), 'an integer'),
                (raw(b'[4294967296, "/a", [["POST", {}, 0]]]'), 'an integer'),
                (raw(b'[true, "/a", [["POST", {}, 0]]]'), 'an integer'),
                (raw(b'[1, 2, [["POST", {}, 0]]]'), 'a string'),
                (raw(b'[1, "/a", [["SSYNC", {}, 0]]]'), "must be 'PUT'"),
                (raw(b'[1, "/a", [["POST", {"a": 1}, 0]]]'), 'a string'),
                (raw(b'[1, "/a", [["POST", [], 0]]]'), 'an object'),
                (OBJECT.encoded * (MAX_OBJECTS + 1), 'more than')):
            with self.assertRaisesRegex(RecordError, said):
                decode_push(data)

    def test_as_many_go_into_a_message_as_are_allowed(self):
        self.assertEqual(1, batch_of([OBJECT]))
        self.assertEqual(MAX_OBJECTS, batch_of([OBJECT] * 2000))
        self.assertEqual([OBJECT] * MAX_OBJECTS,
                         decode_push(OBJECT.encoded * MAX_OBJECTS))
        large = upload(MAX_BODY)
        self.assertEqual([large], decode_push(large.encoded))
        count = batch_of([large] * 500)
        self.assertLessEqual(count * len(large.encoded), MAX_BYTES)
        self.assertGreater((count + 1) * len(large.encoded), MAX_BYTES)
        half = upload(MAX_BYTES // 2)
        half = upload(MAX_BYTES - len(half.encoded))
        self.assertEqual(MAX_BYTES, 2 * len(half.encoded))
        self.assertEqual(2, batch_of([half] * 3))
        self.assertEqual(1, batch_of([upload(MAX_BYTES)] * 3))


class TestAnswers(unittest.TestCase):

    def test_answers_are_what_was_encoded(self):
        answers = [[Answer(201, '1.0')], [Answer(409), Answer(404, '', 'no')]]
        self.assertEqual(answers, decode_answers(encode_answers(answers), 2))

    def test_what_is_no_answer_is_an_error(self):
        for data in (b'', b'{}', b'[1]', b'[[[201]]]', b'[[["a", "", ""]]]',
                     b'[[]]', b'[[[201, "", ""]], [[201, "", ""]]]'):
            with self.assertRaises(RecordError):
                decode_answers(data, 1)
