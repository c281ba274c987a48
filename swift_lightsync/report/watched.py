# SPDX-License-Identifier: Apache-2.0
"""LightSync as ``swift-lightsync-health`` sees it. See RECON.md."""

import logging
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from swift.common.recon import DEFAULT_RECON_CACHE_PATH

from swift_lightsync.common.health import Routes, Scope, Verdict, Watched, warn
from swift_lightsync.common.node_arguments import load_ring, policies
from swift_lightsync.common.nodes import Reply
from swift_lightsync.common.openmetrics import Family
from swift_lightsync.report.answer import PATH, QUESTION, NodeAnswer, suspects
from swift_lightsync.report.health import PairState, Ring, assess
from swift_lightsync.sync.failure_store import FailureStore
from swift_lightsync.sync.recon_records import FILE, read


class _Raising(logging.Logger):
    """A logger that raises each warning as an error."""

    def warning(self, msg: object, *args: object,
                **kwargs: Any) -> NoReturn:
        raise ValueError(str(msg) % args)


def routes(conf: Mapping[str, Any]) -> Routes:
    """Return what a node answers.

    :param conf: ``recon_cache_path`` and the options of the failure table, as
        the replicator has them
    :raises OptionError: if an option has a value that is not allowed
    """
    source = conf.get('recon_cache_path', DEFAULT_RECON_CACHE_PATH)

    def failures() -> FailureStore:
        return FailureStore(conf, _Raising('lightsync-recon'))

    def answer() -> bytes:
        now = time.time()
        pairs, devices = read(os.path.join(source, FILE))
        known = failures()
        known.rejoined()
        return NodeAnswer(now, source, tuple(pairs.values()),
                          tuple(devices.values()),
                          tuple(suspects(known.table, now))).encode()

    failures()
    return {PATH: answer}


def object_rings(swift_dir: str, wanted: str | None = None) -> list[Ring]:
    """Return the rings of replicated policies.

    :param swift_dir: the directory of swift.conf
    :param wanted: a policy's name or index; None: all
    :raises UsageError: if there is none, or one cannot be read
    """
    return [Ring(int(policy), policy.name, {
        (dev['replication_ip'], dev['replication_port'], dev['device']):
        (dev['ip'], dev['port'])
        for dev in load_ring(swift_dir, policy).devs if dev})
        for policy in policies(swift_dir, wanted)]


def _judge(replies: Mapping[str, Sequence[Reply]], scope: Scope) -> Verdict:
    heard = replies[PATH]
    if not any(reply.answer and reply.answer.devices or reply.problem
               for reply in heard):
        return Verdict(False)
    health = assess(object_rings(scope.swift_dir), heard, scope.patience,
                    scope.now)
    pairs = [pair for policy in health.policies for pair in policy.in_use]
    family = Family('swift_lightsync_pairs', 'gauge',
                    'Pairs of neighbouring devices by state.')
    for state in PairState:
        family.add(sum(pair.state is state for pair in pairs),
                   state=state.value)
    differing = sum(policy.differing for policy in health.policies)
    return Verdict(
        True, warn(health.complaints),
        '%d pairs of devices, %d partitions differ' % (len(pairs), differing),
        [family, Family('swift_lightsync_differing_partitions', 'gauge',
                        'Partitions that are known to differ.'
                        ).add(differing)])


WATCHED = Watched('LightSync', routes, (QUESTION,), _judge)
