# SPDX-License-Identifier: Apache-2.0
"""The fuzzer finds each kind of misbehaviour, and our parsers have none."""

import contextlib
import io
import json
import random
import tempfile
import tracemalloc
import unittest
from itertools import islice
from pathlib import Path
from unittest import mock

import pytest

from tools.fuzzing import cli, target
from tools.fuzzing.catalogue import TARGETS
from tools.fuzzing.mutate import (
    JSON_VALUES,
    edit_json_text,
    garble,
    mutate,
    nest_json_value,
    repair_crc,
    set_json_value,
)
from tools.fuzzing.target import Checker, Target

#: Mutated inputs that each target is given.
INPUTS = 200


@pytest.mark.timeout(1800)
@pytest.mark.parametrize('name', TARGETS)
def test_our_parsers_refuse_what_is_not_valid_and_nothing_else(name):
    found, rng = TARGETS[name], random.Random('%s 7' % name)
    checker, seen = Checker(found), list(found.examples)
    with tracing():
        for data in (*found.examples, *islice(found.large(), 1)):
            checker.feed(data)
        accepted = checker.accepted
        for _ in range(INPUTS):
            data = mutate(rng, found, rng.choice(seen))
            known = len(checker.outcomes)
            checker.feed(data)
            # What is answered in a new way is mutated further.
            if len(checker.outcomes) > known and len(data) < 1 << 14:
                seen.append(data)
    assert checker.findings == []
    assert len(checker.outcomes) > 3
    # The pickles are hostile, most of them.
    assert accepted >= (4 if name == 'changed.pkl' else len(found.examples))


@contextlib.contextmanager
def tracing():
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def parse_digits(data):
    if not data.isdigit():
        raise ValueError('no digits')
    return int(data)


def problems(parse=parse_digits, inputs=(b'1', b'x', b'07'), **more):
    checker = Checker(Target('digits', (b'1',), parse, (ValueError,), 64,
                             **more))
    with tracing():
        for data in inputs:
            checker.feed(data)
    return [finding.problem for finding in checker.findings]


class TestFindings(unittest.TestCase):

    def test_a_sound_parser_has_none(self):
        self.assertEqual([], problems())

    def test_an_exception_that_is_not_documented(self):
        self.assertEqual(["KeyError: b'x'"],
                         problems(lambda data: {b'1': 1, b'07': 7}[data]))

    def test_bytes_that_are_accepted_but_not_what_is_encoded(self):
        self.assertEqual(['is encoded in another way: 37'],
                         problems(encode=lambda number: b'%d' % number))

    def test_what_is_accepted_but_cannot_be_encoded(self):
        self.assertIn('cannot be encoded: ZeroDivisionError', problems(
            encode=lambda number: b'%d' % (1 // 0))[0])

    def test_memory_beyond_the_bound(self):
        self.assertIn('bytes of memory',
                      problems(lambda data: [0] * 1000000)[0])

    def test_memory_that_is_taken_once_only_is_no_finding(self):
        kept = []
        self.assertEqual([], problems(
            lambda data: kept or kept.extend([0] * 1000000)))

    def test_time_beyond_the_bound_of_a_machine_as_slow_as_this(self):
        clock = [0.0]

        def parse(data):
            clock[0] += 0.7

        with mock.patch.object(target, 'process_time', lambda: clock[0]):
            with mock.patch.object(target, 'slowness', lambda: 1.0):
                self.assertIn('seconds', problems(parse)[0])
            with mock.patch.object(target, 'slowness', lambda: 2.0):
                self.assertEqual([], problems(parse))

    def test_one_of_a_kind_is_reported_once(self):
        def parse(data):
            raise KeyError(len(data))

        self.assertEqual(1, len(problems(parse)))

    def test_bytes_beyond_the_longest_are_not_fed(self):
        seen = []
        problems(seen.append, [b'x' * 65])
        self.assertEqual([b'x' * 64], seen)

    def test_a_finding_can_be_replayed(self):
        for data, parse, status in ((b'LSYN', None, 0),
                                    (b'', lambda data: 1 // 0, 1)):
            out = io.StringIO()
            with tempfile.TemporaryDirectory() as directory, \
                    contextlib.redirect_stdout(out):
                path = Path(directory, 'input')
                path.write_bytes(data)
                roots = TARGETS['roots']
                if parse:
                    roots = Target('roots', (), parse, (), 9)
                with mock.patch.dict(TARGETS, roots=roots):
                    self.assertEqual(status, cli.main([
                        '--target', 'roots', '--replay', str(path)]))
            self.assertIn('FOUND roots: ZeroDiv' if status else
                          'SyncMessageError', out.getvalue())
        self.assertFalse(tracemalloc.is_tracing())


class TestMutations(unittest.TestCase):

    def test_a_message_with_its_crc_repaired_is_accepted_again(self):
        roots = TARGETS['roots']
        data = bytearray(roots.examples[5])
        data[-1] ^= 1
        with self.assertRaises(ValueError):
            roots.parse(bytes(data))
        roots.parse(repair_crc(bytes(data)))

    def test_values_of_json_become_others_wherever_they_are(self):
        rng = random.Random(1)
        found = {set_json_value(rng, b'{"a": [1, {"b": 2}]}')
                 for _ in range(2000)}
        self.assertLess({b'{"a": [1, {"b": NaN}]}', b'{}',
                         b'{"a": [1e999, {"b": 2}]}'}, found)
        self.assertGreater(len(found), len(JSON_VALUES))

    def test_what_is_nested_deeply_is_mutated_further_or_left(self):
        rng = random.Random(1)
        deep = {nest_json_value(rng, b'{"a": 1}') for _ in range(50)}
        self.assertTrue(any(b'[' * 900 in each for each in deep))
        for data in deep:
            for change in (nest_json_value, set_json_value, edit_json_text):
                self.assertIsInstance(change(rng, data), bytes)

    def test_texts_in_json_are_edited_and_nothing_else_is(self):
        rng = random.Random(1)
        found = [json.loads(edit_json_text(rng, b'{"a": [1, "b,c"]}'))
                 for _ in range(50)]
        self.assertTrue(all(each['a'][0] == 1 for each in found))
        self.assertGreater(len({each['a'][1] for each in found}), 10)
        self.assertEqual(b'[1]', edit_json_text(rng, b'[1]'))

    def test_most_mutations_change_something(self):
        rng = random.Random(1)
        data = bytes(range(64))
        same = sum(garble(rng, data) == data for _ in range(500))
        self.assertLess(same, 50)
