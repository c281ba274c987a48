# SPDX-License-Identifier: Apache-2.0
"""records: what is read is what was written, or is refused."""

import json
import os
import re
import tempfile
import unittest
from dataclasses import fields, replace

from swift_lightsync import report
from swift_lightsync.common.nodes import MAX_BYTES
from swift_lightsync.common.records import RecordError
from swift_lightsync.report.answer import NodeAnswer, Suspect
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.recon_records import PairRecord, PassRecord, read
from tests.unit.report.fixtures import PAIR, PASS

DOCUMENT = os.path.join(os.path.dirname(os.path.dirname(report.__file__)),
                        'sync', 'RECON.md')


def state(**values):
    return {'version': 1, 'pairs': {PAIR.name: PAIR.to_json()},
            'devices': {PASS.name: PASS.to_json()}, **values}


class TestRead(unittest.TestCase):

    def setUp(self):
        self.root = self.enterContext(tempfile.TemporaryDirectory())
        self.path = os.path.join(self.root, 'lightsync.recon')

    def write(self, data):
        with open(self.path, 'wb') as recon:
            recon.write(data)

    def assert_refused(self, data, reason='.'):
        self.write(data)
        with self.assertRaises(RecordError) as caught:
            read(self.path)
        self.assertRegex(str(caught.exception),
                         re.escape(self.path) + '.*' + reason)

    def test_what_was_written_is_read(self):
        never = replace(PAIR, policy=1, agreed=None, answer=Answer.REFUSED)
        self.write(json.dumps(state(pairs={
            pair.name: pair.to_json() for pair in (PAIR, never)})).encode())
        self.assertEqual(({PAIR.name: PAIR, never.name: never},
                          {PASS.name: PASS}), read(self.path))

    def test_no_file_an_empty_one_and_one_without_records_have_none(self):
        self.assertEqual(({}, {}), read(self.path))
        for data in (b'', b'{"version": 1}'):
            self.write(data)
            self.assertEqual(({}, {}), read(self.path))

    def test_fields_that_are_not_known_are_ignored(self):
        self.write(json.dumps(state(more=1, devices={
            'x': dict(PASS.to_json(), more=1)})).encode())
        self.assertEqual({PASS.name: PASS}, read(self.path)[1])

    def test_what_is_no_such_file_is_refused(self):
        for data in (b'garbage', b'[]', b'{}', b'{"version": 2}'):
            self.assert_refused(data)
        for name in ('pairs', 'devices'):
            for value in (None, [], {'x': 1}):
                self.assert_refused(json.dumps(
                    state(**{name: value})).encode())

    def test_a_file_that_is_too_long_is_not_parsed(self):
        with open(self.path, 'wb') as recon:
            recon.truncate(MAX_BYTES + 1)
        with self.assertRaisesRegex(RecordError, 'must be at most'):
            read(self.path)

    def test_each_bad_field_is_refused_by_its_name(self):
        places, numbers = [None, ['a', 1]], [-1, 'x', 10 ** 400]
        counts = [-1, 'x', None, 1.5]
        bad = {'device': places, 'neighbour': places, 'policy': counts,
               'since': numbers + [None], 'checked': numbers + [None],
               'agreed': numbers, 'partitions': counts, 'differed': counts,
               'differing': counts, 'ended': numbers + [None],
               'duration': numbers + [None], 'exchanges': counts,
               'full_exchanges': counts, 'hand_offs': counts,
               'hand_offs_seconds': numbers + [None],
               **dict.fromkeys(('messages', 'asked', 'busy', 'pushed',
                                'scrubbed', 'closed'), counts),
               'scrub_seconds': numbers + [None],
               'answer': [None, 'x', 'MATCH']}
        for key, record in (('pairs', PAIR), ('devices', PASS)):
            for name, good in record.to_json().items():
                for value in bad[name]:
                    with self.subTest(record=key, name=name, value=value):
                        self.assert_refused(json.dumps(state(**{key: {
                            'x': dict(record.to_json(), **{name: value})}
                        })).encode(), '%s: ' % name)
                if hasattr(type(record), name):
                    # Replicators of before did not write it.
                    continue
                lacking = record.to_json()
                lacking.pop(name)
                self.assert_refused(json.dumps(state(
                    **{key: {'x': lacking}})).encode(), name + ' is missing')


class TestDocument(unittest.TestCase):

    def test_each_field_has_its_row_in_the_document(self):
        with open(DOCUMENT, encoding='utf8') as document:
            tables = re.split(r'\n\n+', document.read())
        for head, kind in (('field of a pair', PairRecord),
                           ('field of a device', PassRecord),
                           ('field of a suspect', Suspect),
                           ('field', NodeAnswer)):
            table, = [table for table in tables
                      if table.startswith('| %s |' % head)]
            rows = [name for row in re.findall(r'^\| (`.*?) \|', table, re.M)
                    for name in re.findall(r'`(\w+)`', row)]
            self.assertEqual([each.name for each in fields(kind)], rows)

    def test_each_answer_has_its_metric_in_the_document(self):
        with open(DOCUMENT, encoding='utf8') as document:
            found = re.findall(r'`partition\.check\.(\w+)\.<', document.read())
        self.assertEqual([answer.value for answer in Answer], found)
