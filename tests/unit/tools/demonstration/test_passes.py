# SPDX-License-Identifier: Apache-2.0
"""Costs add up, and the loopback interface is really read."""

import socket
import unittest

from tools.demonstration.passes import Cost, loopback_bytes


class TestCost(unittest.TestCase):
    def test_costs_of_passes_add_up(self):
        total = Cost() + Cost(1, (1, 2, 3), 10, 0.5, 1.5) \
            + Cost(1, (1, 0, 0), 5, 0.25, 1)
        self.assertEqual(Cost(2, (2, 2, 3), 15, 0.75, 2.5), total)
        self.assertEqual(7, total.all_messages)


class TestLoopbackBytes(unittest.TestCase):
    def test_what_is_sent_over_loopback_is_counted(self):
        before = loopback_bytes()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            receiver.bind(('127.0.0.1', 0))
            sender.sendto(b'x' * 10000, receiver.getsockname())
            self.assertEqual(10000, len(receiver.recv(20000)))
        self.assertGreaterEqual(loopback_bytes() - before, 10000)
