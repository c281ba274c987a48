# SPDX-License-Identifier: Apache-2.0
"""The options of PROAR in [proxy-server:policy:N]: parsed, or refused."""

from dataclasses import dataclass, fields
from enum import Enum

from swift.common import utils
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
from swift_lightsync.proar import regions
from swift_lightsync.proar.regions import regions_of

SWITCH = 'primary_role_writes'


class OnPrimaryFailure(Enum):
    """Who takes a write whose primary role does not answer."""
    QUORUM = 'quorum'
    BACKUP = 'backup'
    FAIL = 'fail'


@dataclass(frozen=True)
class PolicyOptions(Options):
    """What a storage policy with primary-role writes does.

    :param on_primary_failure: an OnPrimaryFailure
    :param min_sync_copies: devices that hold a write when it is acknowledged
    """
    on_primary_failure: OnPrimaryFailure = option(
        OnPrimaryFailure.QUORUM, choice(OnPrimaryFailure))
    min_sync_copies: int = option(1, integer(1, 2))


def primary_role_policies(conf, overrides):
    """Read the options of all storage policies with primary-role writes.

    :param conf: of the proxy-server, with its policy_config
    :param overrides: a function of a policy that returns Swift's
        ProxyOverrideOptions of it
    :returns: a dict, storage policy to PolicyOptions, of those that have
        primary_role_writes
    :raises OptionError: if a value is not allowed, or not in this policy
    """
    source = conf.get('__file__', 'configuration')
    for name in (SWITCH, regions.NAME,
                 *(each.name for each in fields(PolicyOptions))):
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
    if regions.NAME in section:
        refuse(regions.NAME, 'must stand in swift.conf, section [%s]: '
               'object-servers and convergers have to know it' % (
                   regions.SECTION % int(policy)))
    _check_regions(policy)
    for name, is_heeded in AFFINITIES.items():
        if getattr(override, name) and not is_heeded(
                override, *_shared_out(policy)):
            raise OptionError(
                '%s: %s = %s: must be empty for policy %s, which has %s, or '
                'prefer the regions of its primary roles, %s (%s)' % (
                    section['__file__'], name, getattr(override, name),
                    policy.name, SWITCH, _text(regions_of(policy)),
                    regions.NAME))


def _check_regions(policy):
    """Check that the regions of primary roles have devices."""
    wanted = regions_of(policy)
    found = wanted and {device['region'] for device in
                        policy.object_ring.devs if device}
    if not wanted <= found:
        raise OptionError('%s: [%s]: %s = %s: the ring of policy %s has '
                          'regions %s' % (
                              utils.SWIFT_CONF_FILE,
                              regions.SECTION % int(policy), regions.NAME,
                              _text(wanted), policy.name, _text(found)))


def _text(numbers):
    return ', '.join(map(str, sorted(numbers))) or 'all'


def _shared_out(policy):
    """Return the devices that may be primary roles, and all others."""
    wanted = regions_of(policy)
    devices = [device for device in policy.object_ring.devs if device]
    return ([each for each in devices
             if not wanted or each['region'] in wanted],
            [each for each in devices
             if wanted and each['region'] not in wanted])


def _reads_agree(override, primary, others):
    """Return whether primary roles are read from first anyway."""
    key = override.read_affinity_sort_key
    return bool(others) and max(map(key, primary)) < min(map(key, others))


def _writes_agree(override, primary, others):
    """Return whether primary roles are written to first anyway."""
    return bool(others) and all(map(override.write_affinity_is_local_fn,
                                    primary))


#: What moves requests to other devices than the primary role, if these are
#: not preferred anyway.
AFFINITIES = {'read_affinity': _reads_agree, 'write_affinity': _writes_agree}
