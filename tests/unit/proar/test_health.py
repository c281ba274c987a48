# SPDX-License-Identifier: Apache-2.0
"""What the health check makes of what nodes say of PROAR."""

import unittest
from types import SimpleNamespace
from unittest import mock

from swift.common.storage_policy import StoragePolicy

from swift_lightsync.common.health import Scope
from swift_lightsync.common.nodes import Outcome, Reply
from swift_lightsync.proar import lag
from swift_lightsync.proar.lag import DeviceLag, NodeLag
from swift_lightsync.proar.vouching import watched

NOW = 1000.0


def reply(number, *policies, updated=NOW):
    return Reply(('10.0.0.%d' % number, 6200), Outcome.ANSWERED, '', NodeLag(
        NOW, '/var/cache/%d' % number, updated if policies else 0, tuple(
            DeviceLag('sda', policy, 0, 0, 0, {}, 0, 0)
            for policy in policies)))


class TestJudge(unittest.TestCase):

    #: policy -> numbers of the nodes in its ring
    rings = {0: (1, 2, 3), 1: (4,)}

    def judge(self, *replies):
        def load_ring(_, policy):
            return SimpleNamespace(devs=[None, *(
                {'ip': '10.0.0.%d' % number, 'port': 6200}
                for number in self.rings[int(policy)])])
        known = [StoragePolicy(index, 'p%d' % index, not index)
                 for index in self.rings]
        with mock.patch.object(watched, 'load_ring', load_ring), \
                mock.patch.object(watched, 'policies', lambda *_: known):
            return watched.WATCHED.judge({lag.PATH: replies},
                                         Scope('/etc/swift', NOW, 600))

    def test_a_node_without_a_converger_is_told_where_others_have_one(self):
        verdict = self.judge(reply(1, 0), reply(2, 0), reply(3), reply(4))
        self.assertEqual(['10.0.0.3:6200: its converger has never reported'],
                         [each.text for each in verdict.findings])

    def test_nodes_of_other_policies_need_none(self):
        verdict = self.judge(reply(1, 0), reply(2, 0), reply(3, 0), reply(4))
        self.assertEqual((True, []), (verdict.is_used,
                                      list(verdict.findings)))

    def test_it_is_not_used_where_none_has_reported(self):
        self.assertFalse(self.judge(reply(1), reply(4)).is_used)
