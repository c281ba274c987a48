# SPDX-License-Identifier: Apache-2.0
"""The options of PROAR in [proxy-server:policy:N]: parsed, or refused."""

from dataclasses import dataclass, fields
from enum import Enum

from swift.common.storage_policy import POLICIES, REPL_POLICY
from swift.common.utils import TRUE_VALUES

from swift_lightsync.common.conf_options import OptionError, between, option

SWITCH = 'primary_role_writes'
FALSE_VALUES = ('false', '0', 'no', 'off', 'f', 'n')
#: What moves requests to other devices than the primary role.
AFFINITIES = ('read_affinity', 'write_affinity')


class OnPrimaryFailure(Enum):
    """Who takes a write whose primary role does not answer."""
    QUORUM = 'quorum'
    BACKUP = 'backup'
    FAIL = 'fail'


def _boolean(value):
    text = str(value).strip().lower()
    if text not in TRUE_VALUES and text not in FALSE_VALUES:
        raise ValueError('must be true or false')
    return text in TRUE_VALUES


def _on_primary_failure(value):
    try:
        return OnPrimaryFailure(value)
    except ValueError:
        raise ValueError('must be %s' % ', '.join(
            each.value for each in OnPrimaryFailure))


@dataclass(frozen=True)
class PolicyOptions:
    """
    What a storage policy with primary-role writes does.

    :param on_primary_failure: an OnPrimaryFailure
    :param min_sync_copies: devices that hold a write when it is acknowledged
    :param failover_marker_seconds: how long reads ask all replicas after a
        write that the primary role did not take
    """
    on_primary_failure: OnPrimaryFailure = OnPrimaryFailure.QUORUM
    min_sync_copies: int = 1
    failover_marker_seconds: int = 600

    @classmethod
    def from_conf(cls, conf):
        """
        :param conf: a dict of a section's options
        :raises OptionError: if a value is not allowed
        """
        return cls(**{name: option(conf, name, DEFAULTS[name], parse)
                      for name, parse in PARSERS.items()})


#: memcache takes more seconds than these for a date.
MONTH = 30 * 24 * 3600
PARSERS = {'on_primary_failure': _on_primary_failure,
           'min_sync_copies': between(1, 2),
           'failover_marker_seconds': between(1, MONTH)}
DEFAULTS = {each.name: each.default for each in fields(PolicyOptions)}


def primary_role_policies(conf, overrides):
    """
    :param conf: of the proxy-server, with its policy_config
    :param overrides: a function of a policy that returns Swift's
        ProxyOverrideOptions of it
    :returns: a dict, storage policy to PolicyOptions, of those that have
        primary_role_writes
    :raises OptionError: if a value is not allowed, or not in this policy
    """
    source = conf.get('__file__', 'configuration')
    for name in (SWITCH,) + tuple(PARSERS):
        if name in conf:
            raise OptionError(
                '%s: %s = %s: must stand in a section [proxy-server:policy:N]'
                % (source, name, conf[name]))
    found = {}
    for index, section in conf.get('policy_config', {}).items():
        section = dict(section, __file__='%s: [proxy-server:policy:%s]' % (
            source, index))
        options = PolicyOptions.from_conf(section)
        if option(section, SWITCH, 'false', _boolean):
            policy = POLICIES.get_by_index(index)
            _check_policy(section, policy, options, overrides(policy))
            found[policy] = options
    return found


def _check_policy(section, policy, options, override):
    def refuse(name, reason):
        raise OptionError('%s: %s = %s: %s' % (
            section['__file__'], name, section.get(name, DEFAULTS.get(name)),
            reason))

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
