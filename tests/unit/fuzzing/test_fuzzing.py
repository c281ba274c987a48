# SPDX-License-Identifier: Apache-2.0
"""fuzzing: what it finds, and that our parsers give it nothing to find."""

import contextlib
import io
import json
import os
import random
import resource
import tempfile
import time
import tracemalloc
import unittest

from tools.fuzzing.catalogue import TARGETS
from tools.fuzzing.cli import main
from tools.fuzzing.mutate import (
    JSON_VALUES,
    edit_json_text,
    mutate,
    nest_json_value,
    repair_crc,
    set_json_value,
)
from tools.fuzzing.runner import Fuzzer, limits
from tools.fuzzing.target import Target


def parse_digits(data):
    if not data.isdigit():
        raise ValueError('no digits')
    return int(data)


def target(parse=parse_digits, **kwargs):
    wanted = dict(name='digits', make=lambda rng: b'%d' % rng.randrange(999),
                  parse=parse, refuses=(ValueError,), longest=64, memory=64)
    return Target(**dict(wanted, **kwargs))


def problems(*args, inputs=300, **kwargs):
    fuzzer = Fuzzer(target(*args, **kwargs), 1)
    fuzzer.run(inputs)
    return [finding.problem for finding in fuzzer.findings]


class TestOurParsers(unittest.TestCase):

    def test_they_refuse_what_is_not_valid_and_nothing_else_happens(self):
        for name in TARGETS:
            each = TARGETS[name]
            with self.subTest(target=name):
                fuzzer = Fuzzer(each, 7)
                fuzzer.run(250)
                self.assertEqual([], fuzzer.findings)
                self.assertGreater(fuzzer.accepted, 0)
                self.assertGreater(len(fuzzer.outcomes), 3)

    def test_what_is_made_is_valid_but_for_hostile_pickles(self):
        rng = random.Random(3)
        for name, each in TARGETS.items():
            if name != 'changed.pkl':
                for _ in range(20):
                    each.parse(each.make(rng))


class TestFindings(unittest.TestCase):

    def test_a_sound_parser_has_none(self):
        self.assertEqual([], problems(
            refuses=(ValueError,), longest=4000))

    def test_an_exception_that_is_not_documented(self):
        def parse(data):
            return {b'1': 1}[data[:1]]

        self.assertIn('KeyError', problems(parse)[0])

    def test_bytes_that_are_accepted_but_not_what_is_encoded(self):
        self.assertIn('is encoded in another way', problems(
            encode=lambda number: b'%d' % number, inputs=3000)[0])

    def test_what_is_accepted_but_cannot_be_encoded(self):
        self.assertIn('cannot be encoded: ZeroDivisionError', problems(
            encode=lambda number: b'%d' % (1 // 0))[0])

    def test_memory_beyond_the_bound(self):
        self.assertIn('bytes of memory', problems(
            lambda data: [0] * 1000000, inputs=20)[0])

    def test_memory_that_is_taken_once_only_is_no_finding(self):
        kept = []

        def parse(data):
            if not kept:
                kept.extend([0] * 1000000)

        self.assertEqual([], problems(parse, inputs=20))

    def test_time_beyond_the_bound(self):
        def parse(data):
            end = time.process_time() + 0.7
            while time.process_time() < end:
                pass

        self.assertIn('seconds', problems(parse, inputs=1)[0])

    def test_one_of_a_kind_is_reported_once(self):
        def parse(data):
            raise KeyError(len(data))

        self.assertEqual(1, len(problems(parse)))


class TestReproducing(unittest.TestCase):

    def test_inputs_follow_from_the_seed(self):
        def inputs(seed):
            seen = []
            Fuzzer(target(lambda data: seen.append(data)), seed).run(200)
            return seen

        self.assertEqual(inputs(5), inputs(5))
        self.assertNotEqual(inputs(5), inputs(6))

    def test_a_finding_can_be_replayed(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, 'input')
            with open(path, 'wb') as output:
                output.write(b'LSYN')
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                self.assertEqual(0, main(['--target', 'roots', '--replay',
                                          path]))
            self.assertIn('SyncMessageError', out.getvalue())

    def test_limits_are_lifted_afterwards(self):
        before = resource.getrlimit(resource.RLIMIT_AS)
        with limits():
            self.assertNotEqual(before, resource.getrlimit(
                resource.RLIMIT_AS))
        self.assertEqual(before, resource.getrlimit(resource.RLIMIT_AS))
        self.assertFalse(tracemalloc.is_tracing())


class TestMutations(unittest.TestCase):

    def test_a_message_with_its_crc_repaired_is_accepted_again(self):
        roots = TARGETS['roots']
        data = bytearray(roots.make(random.Random(1)))
        data[-1] ^= 1
        with self.assertRaises(ValueError):
            roots.parse(bytes(data))
        roots.parse(repair_crc(bytes(data)))

    def test_values_of_json_become_others_wherever_they_are(self):
        rng = random.Random(1)
        found = {set_json_value(rng, b'{"a": [1, {"b": 2}]}')
                 for _ in range(2000)}
        self.assertIn(b'{"a": [1, {"b": NaN}]}', found)
        self.assertIn(b'{"a": [1e999, {"b": 2}]}', found)
        self.assertIn(b'{}', found)
        self.assertGreater(len(found), len(JSON_VALUES))

    def test_what_is_nested_deeply_is_mutated_further_or_given_up(self):
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
        same = sum(mutate(rng, data, b'other') == data for _ in range(500))
        self.assertLess(same, 50)


if __name__ == '__main__':
    unittest.main()
