# SPDX-License-Identifier: Apache-2.0
"""Who gets which workers, and what a lost driver leaves."""

import unittest
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from cosbench.controller.core.plan import (
    Address,
    Progress,
    addresses,
    eligible,
    inherited,
    shares,
    split,
)
from cosbench.engine.core.mission import Mission
from cosbench.errors import ConfigError
from tests.unit.cosbench.documents import READ, work, works_of

URL = 'http://127.0.0.1:18088'


@dataclass(frozen=True)
class Driver:

    address: Address


def drivers(*names):
    return [Driver(Address(name, name.split('-')[0], URL)) for name in names]


def mission(workers, **fields):
    return Mission(**{'id': 'm', 'document': '', 'stage': 0, 'work': 0,
                      'first': 0, 'count': workers, 'seed': 1, **fields})


class TestAddresses(unittest.TestCase):

    def test_a_range_of_ports_is_as_many_drivers_of_one_group(self):
        self.assertEqual(
            (Address('a-1', 'a', 'http://h:1'), Address('a-2', 'a',
                                                        'http://h:2'),
             Address('driver2', 'driver2', 'https://[::1]:9')),
            addresses(['a=http://h:1-2', 'https://[::1]:9']))

    def test_what_is_no_address_is_refused(self):
        for text in ('', 'h:1', 'http://h', 'ftp://h:1', 'http://h:0',
                     'http://h:2-1', 'http://h:65536', 'http://h:1/path',
                     'http://u@h:1', 'a b=http://h:1', '../x=http://h:1',
                     'http://h:1\n', 'http://h:1-65535'):
            with self.subTest(text), \
                    self.assertRaisesRegex(ConfigError, '^driver='):
                addresses([text])
        # Nor may two have one name or URL.
        for texts in (['a=http://h:1', 'a=http://h:2'],
                      ['a=http://h:1', 'b=http://h:1'],
                      ['a=http://h:1-3', 'b=http://h:2']):
            with self.assertRaises(ConfigError):
                addresses(texts)


class TestShares(unittest.TestCase):

    @given(st.integers(0, 5), st.integers(1, 40), st.integers(1, 9),
           st.integers(0, 9))
    def test_each_worker_is_somewhere_once(self, first, count, number, turn):
        found = shares(first, count, list(range(number)), turn)
        workers = [worker for _, begin, size in found
                   for worker in range(begin, begin + size)]
        self.assertEqual(list(range(first, first + count)), sorted(workers))
        sizes = [size for _, _, size in found]
        self.assertLessEqual(max(sizes) - min(sizes), 1)
        self.assertEqual(len(found), len({each[0] for each in found}))

    def test_a_pinned_work_goes_to_its_driver_or_group_only(self):
        found = drivers('a-1', 'a-2', 'b-1')
        for pin, names in ((None, ['a-1', 'a-2', 'b-1']), ('a-2', ['a-2']),
                           ('a', ['a-1', 'a-2']), ('c', [])):
            attributes = 'workers="1" runtime="1"'
            if pin:
                attributes += ' driver="%s"' % pin
            pinned = works_of(work(READ, attributes))[0]
            self.assertEqual(names, [
                each.address.name for each in eligible(pinned, found)])

    @given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 100))
    def test_what_is_left_is_shared_out_to_the_last(self, workers, number,
                                                    left):
        found = split(mission(workers, operations=left),
                      drivers(*('d%d' % each for each in range(number))), 0,
                      lambda driver: driver.address.name)
        self.assertEqual(left, sum(part.operations for _, part in found))


class TestInherited(unittest.TestCase):

    def inherited(self, attributes, used=Progress(), elapsed=0.0, **fields):
        found = works_of(work(READ, attributes))[0]
        whole = mission(found.workers, **fields)
        return inherited(whole, found, used, elapsed)

    def test_it_goes_on_with_the_rest_of_its_time_and_quotas(self):
        found = self.inherited('workers="4" runtime="60"', elapsed=20)
        self.assertEqual((20, None, 1), (found.elapsed, found.operations,
                                         found.attempt))
        self.assertIsNone(self.inherited(
            'workers="4" runtime="60" rampdown="5"', elapsed=65))
        self.assertIsNone(self.inherited('workers="4" totalOps="100"',
                                         Progress(100, 0)))
        found = self.inherited(
            'workers="4" totalOps="100" totalBytes="1000"', Progress(30, 400))
        self.assertEqual((70, 600), (found.operations, found.volume))
        again = self.inherited('workers="4" totalOps="100"', Progress(30, 0),
                               operations=70)
        self.assertEqual(40, again.operations)

    def test_a_special_work_is_done_anew(self):
        found = works_of('<work type="init" workers="4" config="containers='
                         'r(1,9)"/>')[0]
        whole = mission(4)
        self.assertEqual(replace(whole, attempt=1),
                         inherited(whole, found, Progress(2, 0), 3.0))
