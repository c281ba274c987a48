# SPDX-License-Identifier: Apache-2.0
"""policy_options: what [proxy-server:policy:N] may say."""

import unittest
from unittest import mock

from swift.common import storage_policy
from swift.common.storage_policy import (
    ECStoragePolicy,
    StoragePolicy,
    StoragePolicyCollection,
)

from swift_lightsync.common.options import OptionError
from swift_lightsync.proar.proxy.policy_options import (
    OnPrimaryFailure,
    PolicyOptions,
    primary_role_policies,
)

NO_AFFINITY = mock.Mock(read_affinity='', write_affinity='')
ON = {'primary_role_writes': 'true'}


class TestPolicyOptions(unittest.TestCase):

    def assert_refused(self, pattern, conf):
        with self.assertRaisesRegex(OptionError, pattern):
            PolicyOptions.from_conf(conf)

    def test_what_may_be_said(self):
        self.assertEqual(
            PolicyOptions(OnPrimaryFailure.BACKUP, 2),
            PolicyOptions.from_conf({
                'on_primary_failure': 'backup', 'min_sync_copies': '2',
                'sorting_method': 'x'}))

    def test_what_holds_if_nothing_is_said(self):
        self.assertEqual(PolicyOptions(OnPrimaryFailure.QUORUM, 1),
                         PolicyOptions.from_conf({}))

    def test_what_may_not(self):
        self.assert_refused(
            'on_primary_failure = retry: must be quorum or backup or fail',
            {'on_primary_failure': 'retry'})
        for value in ('0', '3', '-1', 'two', '1.5', ''):
            self.assert_refused('min_sync_copies = .*whole number, 1 to 2',
                                {'min_sync_copies': value})


class TestPrimaryRolePolicies(unittest.TestCase):

    def setUp(self):
        self.policies = [
            StoragePolicy(0, 'gold', is_default=True),
            ECStoragePolicy(1, 'deep', ec_type='liberasurecode_rs_vand',
                            ec_ndata=4, ec_nparity=2),
            StoragePolicy(2, 'silver')]
        for policy in self.policies:
            policy.object_ring = mock.Mock(replica_count=3)
        self.enterContext(mock.patch.object(
            storage_policy, '_POLICIES',
            StoragePolicyCollection(self.policies)))

    def load(self, override=NO_AFFINITY, conf=(), **sections):
        """Load sections p0 to p2, the options of the policies."""
        return primary_role_policies(dict(conf, policy_config={
            name[1:]: section for name, section in sections.items()}),
            lambda policy: override)

    def assert_refused(self, pattern, *args, **kwargs):
        with self.assertRaisesRegex(OptionError, pattern):
            self.load(*args, **kwargs)

    def test_a_policy_has_them_if_it_says_so(self):
        self.assertEqual(
            {self.policies[2]: PolicyOptions(min_sync_copies=2)},
            self.load(p0={'primary_role_writes': 'off'}, p1={},
                      p2={'primary_role_writes': 'Yes',
                          'min_sync_copies': '2'}))
        self.assertEqual({}, self.load())

    def test_a_switch_that_is_neither_on_nor_off_is_refused(self):
        self.assert_refused(
            r'\[proxy-server:policy:0\]: primary_role_writes = ture: must be '
            'true or false', p0={'primary_role_writes': 'ture'})

    def test_values_are_refused_where_it_is_off_as_well(self):
        self.assert_refused('min_sync_copies', p0={'min_sync_copies': '9'})

    def test_a_policy_that_is_not_replicated_is_refused(self):
        self.assert_refused(
            r'policy:1\]: primary_role_writes = true: policy deep is of type '
            'erasure_coding, must be replication', p1=ON)

    def test_more_copies_than_replicas_are_refused(self):
        self.policies[0].object_ring.replica_count = 1.5
        self.assert_refused(
            'min_sync_copies = 2: must be at most 1.5, the replicas of policy '
            'gold', p0=dict(ON, min_sync_copies='2'))

    def test_affinities_are_refused(self):
        for name in ('read_affinity', 'write_affinity'):
            override = mock.Mock(**dict(
                {'read_affinity': '', 'write_affinity': ''}, **{name: 'r1'}))
            self.assert_refused('%s = r1: must be empty for policy gold'
                                % name, override, p0=ON)
            self.assertEqual({}, self.load(override, p0={}))

    def test_options_in_the_wrong_section_are_refused(self):
        for name in ('primary_role_writes', 'on_primary_failure',
                     'min_sync_copies'):
            self.assert_refused(
                '%s = 1: must stand in a section' % name, conf={name: '1'})
