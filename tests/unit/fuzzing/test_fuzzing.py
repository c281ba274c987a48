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

from tools.fuzzing import cli, mutate, target
from tools.fuzzing.target import Checker, Target

TARGETS = cli.targets()

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
            data = mutate.mutate(rng, found, rng.choice(seen))
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

    def test_what_is_written_is_read_as_something_else(self):
        self.assertEqual(['is not read as it was written'],
                         problems(write=lambda number: b'%d' % (number + 1)))

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
        wrong = Target('wrong', (), lambda data: 1 // 0, (), 9)
        for name, status, said in (('roots', 0, 'SyncMessageError'),
                                   ('wrong', 1, 'FOUND wrong: ZeroDivision')):
            out = io.StringIO()
            with tempfile.TemporaryDirectory() as directory, \
                    mock.patch.dict(TARGETS, wrong=wrong), \
                    contextlib.redirect_stdout(out):
                path = Path(directory, 'input')
                path.write_bytes(b'LSYN')
                self.assertEqual(status, cli.main([
                    '--target', name, '--replay', str(path)]))
            self.assertIn(said, out.getvalue())
        self.assertFalse(tracemalloc.is_tracing())


class TestMutations(unittest.TestCase):

    def made(self, change, data, number=50):
        rng = random.Random(1)
        return {change(rng, data) for _ in range(number)}

    def test_a_message_with_its_crc_repaired_is_accepted_again(self):
        roots = TARGETS['roots']
        data = roots.examples[5][:-1] + b'?'
        self.assertRaises(ValueError, roots.parse, data)
        roots.parse(mutate.repair_crc(data))

    def test_values_of_json_become_others_wherever_they_are(self):
        found = self.made(mutate.set_json_value, b'{"a": [1, {"b": 2}]}', 2000)
        self.assertLess({b'{"a": [1, {"b": NaN}]}', b'{}',
                         b'{"a": [1e999, {"b": 2}]}'}, found)
        self.assertGreater(len(found), len(mutate.JSON_VALUES))

    def test_what_is_nested_deeply_is_mutated_further_or_left(self):
        deep = self.made(mutate.nest_json_value, b'{"a": 1}')
        self.assertTrue(any(b'[' * 900 in each for each in deep))
        for data in deep:
            for change in mutate.JSON:
                self.made(change, data, 1)

    def test_texts_in_json_are_edited_and_nothing_else_is(self):
        found = [json.loads(each) for each in self.made(
            mutate.edit_json_text, b'{"a": [1, "b,c"]}')]
        self.assertTrue(all(each['a'][0] == 1 for each in found))
        self.assertGreater(len(found), 10)
        self.assertEqual({b'[1]'}, self.made(mutate.edit_json_text, b'[1]'))

    def test_most_mutations_change_something(self):
        data = bytes(range(64))
        self.assertGreater(len(self.made(mutate.garble, data, 500)), 400)
