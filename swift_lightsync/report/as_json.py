# SPDX-License-Identifier: Apache-2.0
"""The report as JSON for other programs: all pairs, nothing left out."""

from typing import Any

from swift_lightsync.common.command import json_text
from swift_lightsync.common.nodes import Reply
from swift_lightsync.report.health import Health, PolicyHealth, Sighting


def _reply(reply: Reply) -> dict[str, Any]:
    return {'host': reply.host, 'outcome': reply.outcome.value,
            'problem': reply.problem}


def _policy(policy: PolicyHealth) -> dict[str, Any]:
    return {
        'policy': policy.ring.policy, 'name': policy.ring.name,
        'pairs': [dict(pair.record.to_json(), state=pair.state.value,
                       age=pair.age) for pair in policy.pairs]}


def _sighting(each: Sighting) -> dict[str, Any]:
    return dict(each.suspect.to_json(), node=each.node, left=each.left)


def render(health: Health) -> str:
    """Return the whole report."""
    return json_text({
        'time': health.time, 'stale_after': health.stale_after,
        'well': not health.complaints, 'complaints': health.complaints,
        'nodes': [_reply(reply) for reply in health.replies],
        'policies': [_policy(policy) for policy in health.policies],
        'failures': [_sighting(each) for each in health.sightings],
        'late': [{'device': each.device, 'age': each.age}
                 for each in health.late],
        'passes': [each.to_json() for each in health.passes],
        'hand_offs': [
            {'device': each.device, 'partitions': each.hand_offs,
             'seconds': each.hand_offs_seconds}
            for each in health.with_hand_offs]})
