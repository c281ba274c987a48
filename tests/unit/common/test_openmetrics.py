# SPDX-License-Identifier: Apache-2.0
"""Metrics as text: written so that they are read, read from anyone."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from cosbench.errors import ConfigError
from cosbench.watch.core.targets import Target, target
from swift_lightsync.common.openmetrics import (
    MAX_SAMPLES,
    Family,
    exposition,
    parse,
)


class TestText(unittest.TestCase):

    def test_the_worked_example(self):
        text = exposition([
            Family('node_reads', 'counter', 'Reads.').add(7, device='sda'),
            Family('empty', 'gauge', 'Nothing.'),
            Family('up', 'gauge', 'Whether.').add(1)])
        self.assertEqual(
            '# TYPE node_reads counter\n# HELP node_reads Reads.\n'
            'node_reads_total{device="sda"} 7.0\n'
            '# TYPE up gauge\n# HELP up Whether.\nup 1.0\n# EOF\n', text)
        self.assertEqual([('node_reads_total', {'device': 'sda'}, 7)],
                         list(parse(text, 'node_')))

    @given(st.dictionaries(st.from_regex('[a-z]{1,5}', fullmatch=True),
                           st.text(st.characters(codec='utf8'))),
           st.floats(allow_nan=False, allow_infinity=False))
    def test_what_is_written_is_read_again(self, labels, value):
        text = exposition([Family('a', 'gauge', 'x').add(value, **labels)])
        self.assertEqual([('a', labels, value)], list(parse(text)))

    @given(st.text())
    def test_any_text_is_read(self, text):
        list(parse(text))
        list(parse('node_x' + text))

    def test_times_and_exemplars_are_passed_over(self):
        self.assertEqual(
            [('a', {}, 1), ('b', {'x': 'y'}, 2)],
            list(parse('a 1 1700000000\nb{x="y"} 2 # {t="1"} 0.5\nc NaN\n'
                       'd +Inf\ne x\nf\n')))
        self.assertEqual(MAX_SAMPLES, len(list(parse(
            'a 1\n' * (MAX_SAMPLES + 9)))))


class TestTargets(unittest.TestCase):

    def test_names_and_addresses(self):
        for text, right in (
                ('http://h:9100', Target('h:9100', 'http://h:9100/metrics')),
                ('n1=http://h:1/m', Target('n1', 'http://h:1/m')),
                ('n1=https://h/,recon=http://h:6200/',
                 Target('n1', 'https://h/metrics', 'http://h:6200'))):
            self.assertEqual(right, target(text))
        for text in ('', 'h', 'n=', 'ftp://h', 'n=http://', 'http://h:x',
                     'http://h,recon=x', 'n=http://h/\n', 'http://h:0/'):
            with self.assertRaisesRegex(ConfigError, 'watch='):
                target(text)
