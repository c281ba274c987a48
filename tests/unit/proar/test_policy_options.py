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
from swift.common.utils import (
    affinity_key_function,
    affinity_locality_predicate,
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
            policy.object_ring = mock.Mock(replica_count=3, devs=[])
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

    def affinities(self, read='', write=''):
        return mock.Mock(
            read_affinity=read, write_affinity=write,
            read_affinity_sort_key=affinity_key_function(read),
            write_affinity_is_local_fn=affinity_locality_predicate(write))

    def test_affinities_are_refused(self):
        for name, override in (('read_affinity', {'read': 'r1=1'}),
                               ('write_affinity', {'write': 'r1'})):
            override = self.affinities(**override)
            self.assert_refused('%s = r1.*: must be empty for policy gold'
                                % name, override, p0=ON)
            self.assertEqual({}, self.load(override, p0={}))

    def in_regions(self, *wanted):
        for module in 'swift_lightsync.proar.proxy.policy_options', :
            self.enterContext(mock.patch(
                module + '.regions_of', return_value=frozenset(wanted)))
        self.policies[0].object_ring.devs = [None, *(
            {'region': region, 'zone': zone, 'ip': '127.0.0.1'}
            for region in (1, 2, 3) for zone in (1, 2))]

    def test_an_affinity_that_agrees_with_the_regions_is_allowed(self):
        self.in_regions(1, 2)
        for allowed in (dict(write='r1, r2'), dict(write='r1, r2, r3'),
                        dict(read='r1=100, r2=100'),
                        dict(read='r1=100, r2=100, r3=200'),
                        dict(read='r1=1, r2=2', write='r1, r2')):
            self.assertEqual([self.policies[0]], list(self.load(
                self.affinities(**allowed), p0=ON)), allowed)
        for refused in (dict(write='r1'), dict(write='r1, r2z1'),
                        dict(write='r3'), dict(read='r1=100'),
                        dict(read='r1=100, r2=200, r3=150'),
                        dict(read='r3=100')):
            self.assert_refused(
                'must be empty for policy gold, which has '
                'primary_role_writes, or prefer the regions of its primary '
                r'roles, 1, 2 \(primary_role_regions\)',
                self.affinities(**refused), p0=ON)

    def test_a_region_without_devices_is_refused(self):
        self.in_regions(1, 4)
        self.assert_refused(
            'primary_role_regions = 1, 4: the ring of policy gold has '
            'regions 1, 2, 3', p0=ON)

    def test_the_regions_stand_in_swift_conf(self):
        self.assert_refused(
            r'primary_role_regions = 1: must stand in swift.conf, section '
            r'\[primary-role-writes:0\]',
            p0=dict(ON, primary_role_regions='1'))

    def test_options_in_the_wrong_section_are_refused(self):
        for name in ('primary_role_writes', 'on_primary_failure',
                     'min_sync_copies'):
            self.assert_refused(
                '%s = 1: must stand in a section' % name, conf={name: '1'})
