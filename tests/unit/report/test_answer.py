# SPDX-License-Identifier: Apache-2.0
"""answer: what a node tells arrives as it was, or is refused."""

import json
import unittest

from swift_lightsync.common.records import RecordError
from swift_lightsync.report.answer import (
    NodeAnswer,
    State,
    Suspect,
    decode,
    suspects,
)
from swift_lightsync.sync.core.failure_table import FailureTable
from tests.unit.report.fixtures import NOW, PAIR, PASS, SUSPECT

ANSWER = NodeAnswer(NOW, '/cache', (PAIR,), (PASS,), (SUSPECT,))
NODE = ('10.0.0.1', 6200)
DEVICE = NODE + ('sda',)


class TestSuspects(unittest.TestCase):

    def setUp(self):
        self.table = FailureTable(limit=3, interval=60)

    def found(self, now=NOW):
        return [(each.key, each.state, each.exceptions, each.until - NOW)
                for each in suspects(self.table, now)]

    def test_nobody_is_suspect_at_first(self):
        self.assertEqual([], self.found())

    def test_exceptions_count_until_the_key_has_failed(self):
        self.table.record(NODE, NOW - 5)
        self.assertEqual([(NODE, State.COUNTING, 1, 55)], self.found())
        self.table.record(NODE, NOW, 2)
        self.assertEqual([(NODE, State.FAILED, 3, 60)], self.found())

    def test_what_others_say_is_a_hint(self):
        self.table.report(('10.0.0.9', 1), DEVICE, NOW - 1)
        self.assertEqual([(DEVICE, State.HINTED, 0, 59)], self.found())

    def test_who_answers_after_having_failed_is_rejoining(self):
        self.table.record(NODE, NOW, 3)
        self.table.contact(NODE, NOW + 2)
        self.assertEqual([(NODE, State.REJOINING, 0, 62)],
                         self.found(NOW + 2))

    def test_who_sends_after_having_failed_is_rejoining(self):
        self.table.record(NODE, NOW - 9, 3)
        self.table.hint(NODE, NOW - 2)
        self.assertEqual([(NODE, State.REJOINING, 0, 58)], self.found())

    def test_who_fails_again_has_failed(self):
        self.table.record(NODE, NOW - 9, 3)
        self.table.contact(NODE, NOW - 5)
        self.table.record(NODE, NOW - 1, 3)
        self.assertEqual([(NODE, State.FAILED, 3, 59)], self.found())

    def test_what_is_past_is_forgotten(self):
        self.table.record(NODE, NOW, 3)
        self.table.hint(DEVICE, NOW)
        self.assertEqual(2, len(self.found(NOW + 59)))
        self.assertEqual([], self.found(NOW + 60))


class TestCodec(unittest.TestCase):

    def test_what_was_encoded_is_decoded(self):
        device = Suspect(DEVICE, State.HINTED, 9, NOW)
        for answer in (ANSWER, NodeAnswer(NOW, '', (), (), ()),
                       NodeAnswer(0.5, 'ü', (PAIR, PAIR), (), (device,))):
            self.assertEqual(answer, decode(answer.encode()))

    def test_what_is_no_answer_is_refused(self):
        for data in (b'', b'x', b'[]', b'1', b'null', b'[' * 100000, b'{}',
                     b'\xff', b'{"error": "x"}'):
            with self.assertRaises(RecordError):
                decode(data)

    def test_each_bad_field_is_refused(self):
        good = json.loads(ANSWER.encode())
        for name in good:
            for bad in (None, [1], {'x': 1}, -1, True, [{}], [[]], ['x']):
                with self.subTest(name=name, bad=bad), \
                        self.assertRaises(RecordError):
                    decode(json.dumps(dict(good, **{name: bad})).encode())
            with self.assertRaisesRegex(RecordError, name):
                decode(json.dumps({key: value for key, value in good.items()
                                   if key != name}).encode())

    def test_a_suspect_is_a_node_or_a_device(self):
        good = json.loads(ANSWER.encode())
        for key in ([], ['a'], ['a', 1, 'b', 'c'], ['a', 'b'], 'ab', None):
            suspect = dict(good['suspects'][0], key=key)
            with self.assertRaisesRegex(RecordError, 'key: '):
                decode(json.dumps(dict(good, suspects=[suspect])).encode())
