# SPDX-License-Identifier: Apache-2.0
"""PROAR as ``swift-lightsync-health`` sees it. See OPERATING.md."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from swift.common.recon import DEFAULT_RECON_CACHE_PATH

from swift_lightsync.common.address import place_name
from swift_lightsync.common.health import (
    Finding,
    Routes,
    Scope,
    Severity,
    Verdict,
    Watched,
    warn,
)
from swift_lightsync.common.node_arguments import policies
from swift_lightsync.common.nodes import Question, Reply
from swift_lightsync.common.openmetrics import Family
from swift_lightsync.proar import lag
from swift_lightsync.proar.lag_report import PROAR, Lags, assess
from swift_lightsync.proar.vouching import report

ROLES = Question(report.PATH, lambda data: report.NodeStanding.parse(
    data, report.MAX_BYTES))


def routes(conf: Mapping[str, Any]) -> Routes:
    """
    Return what a node answers.

    :param conf: ``recon_cache_path``
    """
    source = conf.get('recon_cache_path', DEFAULT_RECON_CACHE_PATH)
    return {
        lag.PATH: lambda: lag.read(source, time.time()).encode(),
        report.PATH: lambda: report.read(source, time.time()).encode()}


def _judge(replies: Mapping[str, Sequence[Reply]], scope: Scope) -> Verdict:
    heard = [reply for reply in replies[lag.PATH]
             if not reply.answer or reply.answer.updated
             or reply.answer.troubles]
    if not any(reply.answer for reply in heard):
        return Verdict(False)
    indexes = {int(policy) for policy in policies(scope.swift_dir, None)}
    lags: Lags = assess(heard, indexes, scope.patience)
    standings = [(reply.host, each) for reply in replies[report.PATH]
                 if reply.answer for each in reply.answer.devices]
    silent = [Finding(Severity.WARNING, '%s: %d devices have not vouched for '
                      'it for %d s, its reads ask all devices' % (
                          place_name((*host, each.device)), len(each.silent),
                          scope.now - each.silent_since))
              for host, each in standings if each.silent_since is not None
              and scope.now - each.silent_since > scope.patience]
    epochs = [Finding(Severity.WARNING, '%s: %d devices have another ring of '
                      'policy %d' % (place_name((*host, each.device)),
                                     len(each.others), each.policy))
              for host, each in standings if each.others]
    entries = sum(row.lag.entries for row in lags.rows)
    exposed = sum(row.lag.exposed for row in lags.rows)
    return Verdict(
        True, warn(lags.complaints) + silent + epochs,
        '%d entries that a device lacks, %d that all lack' % (
            entries, exposed),
        [Family('swift_proar_entries', 'gauge', 'Logged writes that a device '
                'lacks.').add(entries),
         Family('swift_proar_exposed', 'gauge', 'Logged writes that only one '
                'device holds.').add(exposed),
         Family('swift_proar_oldest_seconds', 'gauge', 'Age of the oldest '
                'write that a device lacks.').add(max(
                    (row.lag.oldest_seconds for row in lags.rows),
                    default=0))])


WATCHED = Watched('PROAR', routes, (PROAR, ROLES), _judge)
