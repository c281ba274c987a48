# SPDX-License-Identifier: Apache-2.0
"""RESULT.md says what the code does, to the byte."""

import base64
import json
import os
import re
import unittest
import zlib

from cosbench import measure
from cosbench.measure.interval import slot_of
from cosbench.measure.sample import Sample
from cosbench.measure.tally import Tally
from cosbench.measure.timeline import Timeline

PATH = os.path.join(os.path.dirname(measure.__file__), 'RESULT.md')


class TestTheWorkedExample(unittest.TestCase):

    def setUp(self):
        with open(PATH, encoding='utf8') as source:
            self.text = source.read()
        self.example = json.loads(re.search(
            '```json\n(.*?)```', self.text, re.S).group(1))
        self.samples = [
            Sample('op1', 100, 100, 100.002, 100.005, 1000),
            Sample('op1', 106, 106, 106, 106.5, 0, 'timeout')]

    def test_the_timeline_is_that_of_the_samples(self):
        made = Timeline(5, 100)
        for sample in self.samples:
            made.add(sample)
        self.assertEqual(self.example['timeline'], made.to_json())

    def test_the_tally_is_that_of_the_samples(self):
        made = Tally(100)
        for sample in self.samples:
            made.add(sample)
        # What deflate makes of the same bytes is for each zlib to choose.
        self.assertEqual(inflated(self.example['tally']),
                         inflated(made.to_json()))
        self.assertEqual(
            inflated(Tally.from_json(self.example['tally']).to_json()),
            inflated(made.to_json()))

    def test_the_bytes_are_as_it_says(self):
        said = re.search(r'inflated: ([0-9a-f ]+)\*\*([0-9a-f ]+)\*\*',
                         self.text)
        self.assertEqual(
            bytes.fromhex(said.group(1) + said.group(2)),
            inflated(self.example['tally'])['response']['hdr'])
        self.assertEqual(462, slot_of(5000))


def inflated(tally):
    found = json.loads(json.dumps(tally))
    for name in ('response', 'processing', 'intended'):
        raw = base64.b64decode(found[name]['hdr'])
        found[name]['hdr'] = zlib.decompress(raw[8:])
    return found
