# SPDX-License-Identifier: Apache-2.0
"""notice: the bytes, and what is not let through."""

import json
import re
import unittest

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.sync.wire.notice import (
    MAX_BYTES,
    Notice,
    NoticeError,
    decode,
)
from tests.unit.sync import documented

NAMES = st.text(min_size=1, max_size=20)
PORTS = st.integers(1, 65535)
EXAMPLE = Notice(('10.0.0.1', 6200), ('10.0.0.2', 6201, 'sda'))


class TestNotice(unittest.TestCase):

    @given(st.tuples(NAMES, PORTS),
           st.tuples(NAMES, PORTS) | st.tuples(NAMES, PORTS, NAMES))
    def test_what_is_encoded_is_decoded(self, reporter, failed):
        sent = Notice(reporter, failed)
        self.assertEqual(sent, decode(sent.encode()))

    def test_its_fields_are_the_documented_ones(self):
        text = re.search(r'\{"version": 1.*?\}', documented.protocol(),
                         re.S)[0]
        self.assertEqual(re.findall(r'"(\w+)":', text),
                         list(json.loads(EXAMPLE.encode())))
        self.assertEqual(format(MAX_BYTES, ','), documented.found(
            r'^at most ([\d,]+) bytes, answered with 204'))

    def refused(self, data, reason='^notice: '):
        with self.assertRaisesRegex(NoticeError, reason):
            decode(data)

    def test_what_is_no_json_object_of_the_version(self):
        for data in (b'', b'[]', b'{}', b'{"version": 2}',
                     EXAMPLE.encode()[:-1]):
            self.refused(data)
        self.assertTrue(issubclass(NoticeError, ValueError))

    def test_each_field_of_a_wrong_type_or_value_is_refused_by_name(self):
        sound = json.loads(EXAMPLE.encode())
        places = (None, ['a'], ['a', 0], ['a', 1, ''])
        for field in ('reporter', 'failed'):
            for value in places:
                with self.subTest(field=field, value=value):
                    self.refused(json.dumps(
                        dict(sound, **{field: value})).encode(), field)
            self.refused(json.dumps({
                name: value for name, value in sound.items()
                if name != field}).encode(), field)

    def test_a_reporter_that_is_a_device_is_refused(self):
        self.refused(Notice(('a', 1, 'b'), ('a', 1)).encode(), 'reporter')
