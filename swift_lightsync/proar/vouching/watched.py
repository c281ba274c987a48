# SPDX-License-Identifier: Apache-2.0
"""PROAR as ``swift-lightsync-health`` sees it. See OPERATING.md."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from swift.common.recon import DEFAULT_RECON_CACHE_PATH

from swift_lightsync.common.address import NodeTuple
from swift_lightsync.common.health import Routes, Scope, Verdict, Watched, warn
from swift_lightsync.common.node_arguments import load_ring, policies
from swift_lightsync.common.nodes import Reply
from swift_lightsync.common.openmetrics import Family
from swift_lightsync.proar import lag
from swift_lightsync.proar.lag_report import PROAR, Lags, assess


def routes(conf: Mapping[str, Any]) -> Routes:
    """Return what a node answers.

    :param conf: ``recon_cache_path``
    """
    source = conf.get('recon_cache_path', DEFAULT_RECON_CACHE_PATH)
    return {lag.PATH: lambda: lag.read(source, time.time()).encode()}


def _members(swift_dir: str, followed: set[int]) -> set[NodeTuple]:
    """Return the addresses of the servers of the policies that are followed.

    :param swift_dir: the directory of swift.conf and the rings
    :param followed: indexes of the policies
    """
    return {(device['ip'], device['port'])
            for policy in policies(swift_dir, None)
            if int(policy) in followed
            for device in load_ring(swift_dir, policy).devs if device}


def _judge(replies: Mapping[str, Sequence[Reply]], scope: Scope) -> Verdict:
    used = [reply.answer for reply in replies[lag.PATH] if reply.answer
            and (reply.answer.updated or reply.answer.troubles)]
    if not used:
        return Verdict(False)
    # One that never reported counts where others follow a policy of its.
    members = _members(scope.swift_dir, {
        each.policy for answer in used for each in answer.devices})
    heard = [reply for reply in replies[lag.PATH] if not reply.answer
             or reply.answer in used or reply.host in members]
    indexes = {int(policy) for policy in policies(scope.swift_dir, None)}
    lags: Lags = assess(heard, indexes, scope.patience)
    entries = sum(row.lag.entries for row in lags.rows)
    exposed = sum(row.lag.exposed for row in lags.rows)
    return Verdict(
        True, warn(lags.complaints),
        '%d entries that a device lacks, %d that all lack' % (
            entries, exposed),
        [Family('swift_proar_entries', 'gauge', 'Logged writes that a device '
                'lacks.').add(entries),
         Family('swift_proar_exposed', 'gauge', 'Logged writes that only one '
                'device holds.').add(exposed),
         Family('swift_proar_oldest_seconds', 'gauge', 'Age of the oldest '
                'write that a device lacks.').add(max(
                    (row.lag.oldest_seconds for row in lags.rows),
                    default=0)), *_unsure(lags, indexes)])


def _unsure(lags: Lags, indexes: Iterable[int]) -> list[Family]:
    """Return how many devices of each policy may have lost objects."""
    count = Family('swift_proar_unsure_devices', 'gauge', 'Devices that may '
                   'have lost objects.')
    seconds = Family('swift_proar_unsure_seconds', 'gauge', 'The longest time '
                     'in service of one of them since.')
    for index in sorted(indexes):
        found = [role.unsure_seconds or 0 for _, role in lags.unsure(index)]
        count.add(len(found), policy=str(index))
        seconds.add(max(found, default=0), policy=str(index))
    return [count, seconds]


WATCHED = Watched('PROAR', routes, (PROAR,), _judge)
