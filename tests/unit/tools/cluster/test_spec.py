# SPDX-License-Identifier: Apache-2.0
"""A cluster's spec takes what can work, names what cannot, and persists."""

import unittest

from tools import ToolError
from tools.cluster import ClusterSpec, Policy

SMALL = Policy('small', 0, 3, kv=True)


class TestClusterSpec(unittest.TestCase):

    def test_a_spec_survives_json(self):
        spec = ClusterSpec(
            root='/c', nodes=4, policies=(Policy('one', 0, 4, 5),),
            services=('object',), options={
                'object-server': {'object-replicator': {'interval': 1}}})
        self.assertEqual(spec, ClusterSpec.from_json(spec.to_json()))

    def test_a_kv_policy_wants_ssync(self):
        self.assertEqual('rsync', ClusterSpec(root='/c').sync_method)
        self.assertEqual('ssync', ClusterSpec(
            root='/c', policies=(SMALL,)).sync_method)

    def test_a_wrong_value_is_named_with_what_is_allowed(self):
        two_of_index_0 = (Policy('a', 0, 1), Policy('b', 0, 1))
        for values, error in (
                ({'nodes': 0}, 'nodes is 0; allowed: .* from 1 to'),
                ({'nodes': '5'}, "nodes is '5'"),
                ({'network': 'wifi'}, "'wifi'; allowed: loopback, names"),
                ({'replicator': 'x'}, "'x'; allowed: lightsync, stock"),
                ({'sync_method': 'scp'}, "'scp'; allowed: rsync, ssync"),
                ({'sync_method': 'rsync', 'policies': (SMALL,)},
                 'sync_method is .*ssync with a kv policy'),
                ({'disk_size': 2 ** 20}, 'disk_size is 1048576; .*at least'),
                ({'base_port': 80}, 'base_port is 80; .* from 1024 to'),
                ({'services': ()}, 'services is .*at least one'),
                ({'services': ('proxy',)}, 'proxy needs account'),
                ({'services': ('web',)}, "service is 'web'; allowed: proxy"),
                ({'options': {'proxy': {}}}, "is 'proxy'; allowed: swift"),
                ({'nodes': 4}, 'replicas of policy platinum .* is 5'),
                ({'policies': (Policy('a', 0, 3, parity=1, proar=True),)},
                 'proar of policy a is True; allowed: .* replicated'),
                ({'policies': ()}, 'one of them index 0'),
                ({'policies': two_of_index_0}, 'different names and indexes'),
                ({'regions': 6}, 'regions is 6; allowed: .* from 1 to 5')):
            with self.subTest(values=values):
                with self.assertRaisesRegex(ToolError, error):
                    ClusterSpec(root='/c', **values)

    def test_policies_are_read_from_a_line(self):
        self.assertEqual(
            (Policy('gold', 0, 3, proar=True),
             Policy('small', 1, 2, kv=True, proar=True),
             Policy('plain', 2, 4)),
            Policy.several('gold:3:proar,small:2:kv:proar,plain:4'))
        self.assertEqual((Policy('ec', 0, 6, parity=2, kv=True),),
                         Policy.several('ec:4+2:kv'))
        for text in ('', 'gold', 'gold:0', 'gold:3:', 'gold:3:ec',
                     'gold:3,,a:1', 'gold :3', 'gold:3 '):
            with self.subTest(text=text):
                with self.assertRaisesRegex(ToolError, 'NAME:REPLICAS'):
                    Policy.several(text)

    def test_a_policy_is_found_by_itself_its_name_and_its_index(self):
        spec = ClusterSpec(root='/c')
        gold, platinum = spec.policies
        self.assertEqual([gold, platinum, platinum], [
            spec.policy(which) for which in (gold, 'platinum', 1)])
        self.assertEqual(['object', 'object-1'],
                         [each.ring_name for each in spec.policies])
        with self.assertRaisesRegex(ToolError, r"'tin'.*gold \(0\)"):
            spec.policy('tin')

    def test_differences_are_the_fields_that_differ(self):
        spec = ClusterSpec(root='/c')
        self.assertEqual(['nodes', 'base_port'], spec.differences(
            spec.changed(nodes=7, base_port=7000)))
