# SPDX-License-Identifier: Apache-2.0
"""records: what is accepted comes back the same; the rest is refused."""

import json
import math
import re
import sys
import unittest
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from swift_lightsync.common.records import (
    Between,
    Length,
    Matches,
    Parsed,
    Record,
    RecordError,
    Utf8,
    load_json,
    read_value,
)

Count = Annotated[int, Between(0, 1000)]
Share = Annotated[float, Between(0, 1)]


class State(Enum):
    UP = 'up'
    DOWN = 'down'


@dataclass(frozen=True)
class Peer(Record):
    name: Annotated[str, Length(8, least=1)]
    state: State
    share: Share | None


@dataclass(frozen=True)
class Node(Record):
    version: Literal[1]
    device: tuple[str, Count]
    cells: Annotated[tuple[Count, ...], Length(3)]
    peers: dict[int, Peer]
    note: Annotated[str, Utf8(8)] | None = None
    tags: Annotated[dict[Annotated[str, Matches(
        re.compile('[a-z]+'), 'of lower case')], bool], Length(2)] = field(
            default_factory=dict)
    more: Any = None


@dataclass(frozen=True)
class Exact(Record, exact=True):
    low: int
    high: int = 5

    def __post_init__(self):
        if self.low > self.high:
            raise ValueError('low is %d, must be at most high, %d' % (
                self.low, self.high))


@dataclass(frozen=True)
class Outer(Record):
    inner: Exact
    tag: Annotated[tuple[str, str], Parsed(
        lambda text: tuple(read_pair(text)), write='-'.join)] = ('', '')


def read_pair(text):
    if text.count('-') != 1:
        raise ValueError('%r must have one -' % text)
    return text.split('-')


PEER = {'name': 'a', 'state': 'up', 'share': None}
NODE = {'version': 1, 'device': ['sda', 3], 'cells': [1, 2],
        'peers': {'7': PEER}, 'note': 'x', 'tags': {'a': True},
        'more': [1, {}]}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(), inner, max_size=3))
PEERS = st.builds(
    Peer, st.text(min_size=1, max_size=8), st.sampled_from(State),
    st.none() | st.floats(0, 1))
NODES = st.builds(
    Node, st.just(1), st.tuples(st.text(), st.integers(0, 1000)),
    st.lists(st.integers(0, 1000), max_size=3).map(tuple),
    st.dictionaries(st.integers(0, 10 ** 18), PEERS, max_size=3),
    st.none() | st.text(max_size=2), st.dictionaries(
        st.text('abc', min_size=1), st.booleans(), max_size=2),
    st.none() | st.lists(st.integers()))


class RecordTestCase(unittest.TestCase):

    def assert_refused(self, text, kind, value, place=''):
        with self.assertRaises(RecordError) as caught:
            read_value(kind, value, place)
        self.assertEqual(text, str(caught.exception))


class TestRecord(RecordTestCase):

    def test_an_object_becomes_a_record(self):
        self.assertEqual(
            Node(1, ('sda', 3), (1, 2), {7: Peer('a', State.UP, None)}, 'x',
                 {'a': True}, [1, {}]), Node.from_json(NODE))
        self.assertEqual(NODE, Node.from_json(NODE).to_json())

    def test_defaults_are_for_what_is_missing(self):
        few = {key: NODE[key] for key in ('version', 'device', 'cells',
                                          'peers')}
        found = Node.from_json(few)
        self.assertEqual((None, {}, None), (found.note, found.tags,
                                            found.more))
        for key in few:
            self.assert_refused('node.%s is missing' % key, Node, {
                other: few[other] for other in few if other != key}, 'node')

    def test_what_is_optional_may_be_null_but_not_missing(self):
        self.assert_refused('share is missing', Peer,
                            {'name': 'a', 'state': 'up'})

    def test_keys_that_are_not_known_are_ignored_or_refused(self):
        self.assertEqual(Peer.from_json(PEER),
                         Peer.from_json({**PEER, 'x': 1}))
        self.assert_refused(
            "exact: 'x' must be one of the keys high, low", Exact,
            {'low': 1, 'high': 2, 'x': 3}, 'exact')
        self.assert_refused('high is missing', Exact, {'low': 1})

    def test_an_error_says_where_what_and_what_is_allowed(self):
        for changed, text in (
                ({'version': True}, 'n.version: True must be 1'),
                ({'device': ['a']},
                 "n.device: ['a'] must be a list of 2 values"),
                ({'device': ['a', -1]}, 'n.device[1]: -1 must be an integer '
                 'from 0 to 1000'),
                ({'cells': [0] * 4}, 'n.cells: has 4 values, must be a list '
                 'of 0 to 3'),
                ({'peers': {'07': PEER}}, "n.peers['07']: '07' must be a "
                 'whole number from 0'),
                ({'peers': {'7': {**PEER, 'share': 2}}},
                 "n.peers['7'].share: 2 must be a number from 0 to 1"),
                ({'peers': {'7': {**PEER, 'state': 'UP'}}},
                 "n.peers['7'].state: 'UP' must be one of up, down"),
                ({'peers': {'7': []}}, "n.peers['7']: [] must be an object"),
                ({'tags': {'A': True}}, "n.tags['A']: 'A' must be of lower "
                 'case'),
                ({'tags': {'a': 1}}, "n.tags['a']: 1 must be true or false"),
                ({'note': 5}, 'n.note: 5 must be a string')):
            self.assert_refused(text, Node, {**NODE, **changed}, 'n')

    def test_fields_are_checked_together(self):
        self.assert_refused('a.inner: low is 7, must be at most high, 5',
                            Outer, {'inner': {'low': 7, 'high': 5}}, 'a')

    def test_a_value_of_another_type_is_made_by_its_function(self):
        value = {'inner': {'low': 1, 'high': 2}, 'tag': 'a-b'}
        found = Outer.from_json(value)
        self.assertEqual((('a', 'b'), value), (found.tag, found.to_json()))
        self.assert_refused("tag: 'ab' must have one -", Outer,
                            {**value, 'tag': 'ab'})
        self.assert_refused('tag: 5 must be a string', Outer,
                            {**value, 'tag': 5})

    @given(NODES)
    def test_what_is_written_is_read(self, node):
        text = json.dumps(node.to_json())
        self.assertEqual(node, Node.parse(text, 10 ** 6))
        self.assertEqual(node, Node.parse(text.encode('ascii'), 10 ** 6))

    @settings(max_examples=300)
    @given(st.sampled_from(sorted(NODE)), JSON)
    def test_whatever_replaces_a_field_is_read_or_refused(self, name, value):
        try:
            found = Node.from_json({**NODE, name: value})
        except RecordError as err:
            self.assertIn(name, str(err))
            self.assertLess(len(str(err)), 400)
        else:
            self.assertEqual(found.to_json(),
                             Node.from_json(found.to_json()).to_json())

    @given(JSON)
    def test_whatever_is_there_is_read_or_refused(self, value):
        for kind in (Node, Peer, Exact, Outer):
            with self.assertRaises(RecordError):
                kind.from_json(value)

    def test_what_cannot_be_a_field_is_a_mistake_of_ours(self):
        for kind in (bytes, object, list[int], tuple[object, ...],
                     Annotated[int, Length(3)], Annotated[str, Between(0, 1)],
                     Annotated[State, Length(1)]):
            with self.assertRaises(TypeError, msg=kind):
                read_value(kind, 1)


class TestValues(RecordTestCase):

    def check(self, kind, allowed, refused):
        for value in allowed:
            self.assertEqual(value, read_value(kind, value))
        for value in refused:
            with self.assertRaises(RecordError, msg=value):
                read_value(kind, value)

    def test_whole_numbers(self):
        self.check(Count, (0, 1000), (
            -1, 1001, True, False, 1.0, '1', None, [], {}, 10 ** 400))
        self.check(int, (0, -10 ** 400), (1.5, True))

    def test_numbers_become_floats(self):
        for value in (0, 1, 0.5):
            self.assertIs(float, type(read_value(Share, value)))
        self.check(Share, (0, 1, 0.5), (
            -0.1, 1.1, math.nan, math.inf, True, '1', None, 10 ** 400))
        self.check(float, (-1e300,), (math.nan, -math.inf, 10 ** 400))
        self.assert_refused('nan must be a finite number', float, math.nan)

    def test_texts(self):
        self.check(Annotated[str, Length(2, least=1)], ('a', 'ab', '\udc80'),
                   ('', 'abc', None, 1, ['a']))
        self.check(Annotated[str, Utf8(2)], ('', 'ab', 'ä'),
                   ('abc', 'aä', '\udc80'))
        self.check(Annotated[str, Utf8(9), Matches(
            re.compile('[^\0\r\n]*'), 'x')], ('a', ''),
            ('a\n', '\0', 'a' * 10))

    def test_an_optional_one_has_the_limits_outside_as_well(self):
        self.check(Annotated[int | None, Between(0, 1)], (None, 1), (2,))

    def test_literals_have_their_types(self):
        self.check(Literal[1, 'a'], (1, 'a'), (True, 1.0, '1', None, []))
        self.check(Literal[True], (True,), (1,))
        self.assert_refused("2 must be 1 or 'a'", Literal[1, 'a'], 2)

    def test_enums(self):
        self.assertIs(State.UP, read_value(State, 'up'))
        self.check(State, (), ('UP', '', None, 1, True, [], {}))

    def test_a_hostile_value_is_shown_short_and_on_one_line(self):
        for value in ('x\n\x1b' * 10 ** 6, [[[[]]]] * 10 ** 5,
                      {'k' * 1000: 'v' * 1000}, 10 ** 4000):
            with self.assertRaises(RecordError) as caught:
                read_value(Count, value)
            self.assertLess(len(str(caught.exception)), 130)
            self.assertTrue(str(caught.exception).isprintable())


class TestText(unittest.TestCase):

    def test_what_is_no_json_is_refused(self):
        for text in (b'', b'{', b'\xff\xfe', b'[' * 100000, b'NaN',
                     b'[-Infinity]', b'9' * 10000, '{"a":}',
                     b'{"a":' * 50000):
            with self.assertRaisesRegex(RecordError, '^doc: must be JSON: '):
                load_json(text, 10 ** 6, 'doc')

    def test_a_number_without_end_is_refused_by_its_field(self):
        with self.assertRaisesRegex(RecordError, 'share: inf must be'):
            Peer.parse('{"name": "a", "state": "up", "share": 1e999}', 99)

    def test_what_a_reader_cannot_follow_is_refused(self):
        def follow(value):
            return value and follow(value[0])

        deep = []
        for _ in range(sys.getrecursionlimit()):
            deep = [deep]
        with self.assertRaisesRegex(RecordError, 'nested too deeply'):
            read_value(Annotated[Any, Parsed(follow, Any)], deep, 'it')

    def test_what_is_too_long_is_not_parsed(self):
        self.assertEqual([], load_json(b'[]', 2))
        with self.assertRaisesRegex(RecordError, '^doc: has a length of 3, '
                                    'must be at most 2$'):
            load_json(b'[ ]', 2, 'doc')
