# SPDX-License-Identifier: Apache-2.0
"""The options of PROAR in [proxy-server:policy:N]: parsed, or refused."""

from dataclasses import dataclass, fields
from enum import Enum

from swift.common.storage_policy import POLICIES, REPL_POLICY

from swift_lightsync.common.options import (
    OptionError,
    Options,
    boolean,
    choice,
    integer,
    option,
    read_option,
)

SWITCH = 'primary_role_writes'
#: What moves requests to other devices than the primary role.
AFFINITIES = ('read_affinity', 'write_affinity')


class OnPrimaryFailure(Enum):
    """Who takes a write whose primary role does not answer."""
    QUORUM = 'quorum'
    BACKUP = 'backup'
    FAIL = 'fail'


@dataclass(frozen=True)
class PolicyOptions(Options):
    """
    What a storage policy with primary-role writes does.

    :param on_primary_failure: an OnPrimaryFailure
    :param min_sync_copies: devices that hold a write when it is acknowledged
    """
    on_primary_failure: OnPrimaryFailure = option(
        OnPrimaryFailure.QUORUM, choice(OnPrimaryFailure))
    min_sync_copies: int = option(1, integer(1, 2))


def primary_role_policies(conf, overrides):
    """
    Read the options of all storage policies with primary-role writes.

    :param conf: of the proxy-server, with its policy_config
    :param overrides: a function of a policy that returns Swift's
        ProxyOverrideOptions of it
    :returns: a dict, storage policy to PolicyOptions, of those that have
        primary_role_writes
    :raises OptionError: if a value is not allowed, or not in this policy
    """
    source = conf.get('__file__', 'configuration')
    for name in (SWITCH, *(each.name for each in fields(PolicyOptions))):
        if name in conf:
            raise OptionError(
                '%s: %s = %s: must stand in a section [proxy-server:policy:N]'
                % (source, name, conf[name]))
    found = {}
    for index, section in conf.get('policy_config', {}).items():
        section = dict(section, __file__='%s: [proxy-server:policy:%s]' % (
            source, index))
        options = PolicyOptions.from_conf(section)
        if read_option(section, SWITCH, 'false', boolean):
            policy = POLICIES.get_by_index(index)
            _check_policy(section, policy, options, overrides(policy))
            found[policy] = options
    return found


def _check_policy(section, policy, options, override):
    def refuse(name, reason):
        raise OptionError('%s: %s = %s: %s' % (
            section['__file__'], name,
            section.get(name, getattr(options, name, None)), reason))

    if policy.policy_type != REPL_POLICY:
        refuse(SWITCH, 'policy %s is of type %s, must be %s' % (
            policy.name, policy.policy_type, REPL_POLICY))
    replicas = policy.object_ring.replica_count
    if options.min_sync_copies > replicas:
        refuse('min_sync_copies', 'must be at most %g, the replicas of policy '
               '%s' % (replicas, policy.name))
    for name in AFFINITIES:
        if getattr(override, name):
            raise OptionError(
                '%s: %s = %s: must be empty for policy %s, which has %s' % (
                    section['__file__'], name, getattr(override, name),
                    policy.name, SWITCH))
