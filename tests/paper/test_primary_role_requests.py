# SPDX-License-Identifier: Apache-2.0
"""What the paper on PROAR says of requests, claim by claim: who takes a write,
when it is acknowledged, who is read, and who takes a place that is empty.
"""

import math
import os

from swift.common.utils import hash_path

from swift_lightsync.proar.core.oplog import eversion_of
from tests.unit.proar.logs import entries_of
from tests.unit.proar.proxy_world import VouchedCase


class LoggingCase(VouchedCase):

    def logged(self, server):
        """:returns: the entries of one device's log"""
        return entries_of(os.path.join(server.devices, 'sda'))


class TestOneHandlesAll(LoggingCase):
    """§IV, task 2; §III: "executed linearly by the same" OSD."""

    def test_all_operations_of_an_object_reach_one_device_in_order(self):
        operations = ['PUT', 'GET', 'POST', 'HEAD', 'PUT', 'DELETE']
        for number, method in enumerate(operations):
            self.assertLess(self.status(
                method, b'%d' % number if method == 'PUT' else None), 300)
        self.assertEqual(operations, self.role[0].methods())
        self.assertEqual([[]] * 3, [
            server.methods() for server in self.role[1:] + [self.handoff]])

    def test_it_logs_those_that_change_something(self):
        # §IV-C: the log of the primary role OSD, but for R, see PROTOCOL.md
        for method in ('PUT', 'GET', 'POST', 'HEAD', 'DELETE'):
            self.status(method, b'' if method == 'PUT' else None)
        entries = self.logged(self.role[0])
        self.assertEqual(
            [(op, eversion_of(1, index)) for index, op
             in enumerate((b'M', b'M', b'D'), 1)],
            [(entry.op.value, entry.eversion) for entry in entries])
        self.assertEqual({self.slot}, {entry.slot for entry in entries})
        self.assertEqual([[]] * 3, [
            self.logged(server) for server in self.role[1:] + [self.handoff]])


class TestAcknowledgement(LoggingCase):
    """§IV-B, steps 1 to 3."""

    def test_it_waits_for_the_primary_role_only(self):
        for server in self.role[1:] + [self.handoff]:
            server.stop()
        self.assertEqual(201, self.put())
        self.assertEqual((200, b'one'), self.on(self.role[0]))
        self.assertEqual(202, self.status('POST'))
        self.assertEqual(204, self.status('DELETE'))

    def test_a_read_is_from_the_primary_role_not_from_a_replica(self):
        self.put()
        self.role[1].direct('PUT', self.name, b'other', {
            'X-Timestamp': '%d.00000' % (self.clock - 1),
            'Content-Type': 'text/plain'})
        for _ in range(10):
            self.assertEqual(b'one', self.request('GET').body)
        self.assertEqual([10, 0, 0, 0], self.asked('GET'))


class TestElseReturnFalse(LoggingCase):
    """§IV-B, step 3: "else return false"."""

    options = {'on_primary_failure': 'fail'}

    def test_a_write_that_the_primary_role_does_not_take_fails(self):
        self.role[0].stop()
        self.assertEqual(503, self.put())


class TestBackup(LoggingCase):
    """§IV-C: the backup OSD is hashed to the value of the down OSD."""

    options = {'on_primary_failure': 'backup'}

    def test_another_takes_the_place_and_its_slot(self):
        self.put()
        self.role[0].stop()
        self.assertEqual(201, self.put(b'two'))
        self.assertEqual((200, b'two'), self.on(self.role[1]))
        self.assertEqual([self.slot], [
            entry.slot for entry in self.logged(self.role[1])])
        self.assertEqual(b'two', self.request('GET').body)


class TestBalance(LoggingCase):
    """§IV-A, §V-C: the objects of one PG have different primary role OSDs."""

    def test_writes_of_one_partition_spread_over_its_devices(self):
        # Names as they come: within four standard deviations of even.
        names = [name for name in ('o%d' % number for number in range(400))
                 if hash_path('a', 'c', name, raw_digest=True)[0] < 0x80][:90]
        for self.name in names:
            self.assertEqual(201, self.put())
        loads = [len(server.methods()) for server in self.role]
        self.assertEqual(len(names), sum(loads))
        noise = math.sqrt(len(names) * 1 / 3 * 2 / 3)
        for load in loads:
            self.assertLess(abs(load - len(names) / 3), 4 * noise)
