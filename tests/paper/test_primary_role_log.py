# SPDX-License-Identifier: Apache-2.0
"""PROAR §IV-B and IV-C, Figure 4: the primary role's write and its log."""

import time

from swift.common.utils import Timestamp, hash_path

from swift_lightsync.proar.core.oplog import eversion_of
from tests.unit.proar.server_world import ServerTestCase

VERBS = ('PUT', 'PUT', 'DELETE', 'POST', 'DELETE')
NAMES = ('obj1', 'obj2', 'obj1', 'obj2', 'obj2')


def at(index):
    """:returns: the eversion of a record of the first segment"""
    return eversion_of(1, index)


class TestTheLogOfThePrimaryRole(ServerTestCase):

    def setUp(self):
        super().setUp()
        for verb, name in zip(VERBS, NAMES):
            self.write(verb, '2', name=name)

    def test_fig_4_an_entry_is_op_object_osd_and_eversion(self):
        self.assertEqual(
            [(b'M', 'obj1', 2, at(1)), (b'M', 'obj2', 2, at(2)),
             (b'D', 'obj1', 2, at(3)), (b'M', 'obj2', 2, at(4)),
             (b'D', 'obj2', 2, at(5))],
            [(entry.op.value, self.name(entry.path_hash), entry.slot,
              entry.eversion) for entry in self.entries()])

    def name(self, path_hash):
        return {hash_path('a', 'c', name, raw_digest=True): name
                for name in NAMES}[path_hash]

    def test_iv_c_the_version_increments_with_each_operation(self):
        for number in range(6, 20):
            self.write(name='more')
            self.assertEqual(at(number), self.entries()[-1].eversion)

    def test_iv_b_the_answer_comes_when_it_is_on_this_disk(self):
        # "Once an updated data is written to disk by the primary role OSD,
        # all operations can be proceeded."
        self.assertEqual(201, self.write(name='new').status_int)
        self.assertEqual('COMMITTED', self.entries()[-1].state.name)
        self.assertEqual(200, self.request('GET', name='new').status_int)

    def test_iv_b_else_the_answer_is_false_and_nothing_is_logged(self):
        self.assertEqual(409, self.request(
            'PUT', {'X-Backend-Proar-Slot': '2',
                    'X-Timestamp': Timestamp(time.time() - 10 ** 6).internal},
            name='obj2').status_int)
        self.assertEqual(5, len(self.entries()))

    def test_deviation_reads_are_not_logged(self):
        for verb in 'GET', 'HEAD':
            self.write(verb, name='obj2')
        self.assertEqual(5, len(self.entries()))
