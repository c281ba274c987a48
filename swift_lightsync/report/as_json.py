# SPDX-License-Identifier: Apache-2.0
"""The report as JSON, for other programs: all pairs, nothing left out."""

import json


def _reply(reply):
    return {'host': reply.host, 'outcome': reply.outcome.value,
            'problem': reply.problem}


def _policy(policy):
    return {
        'policy': policy.ring.policy, 'name': policy.ring.name,
        'pairs': [dict(pair.record.to_fields(), state=pair.state.value,
                       age=pair.age) for pair in policy.pairs]}


def _sighting(each):
    return dict(each.suspect.to_fields(), node=each.node, left=each.left)


def render(health):
    """:returns: the whole report"""
    return json.dumps({
        'time': health.time, 'stale_after': health.stale_after,
        'well': not health.complaints, 'complaints': health.complaints,
        'nodes': [_reply(reply) for reply in health.replies],
        'policies': [_policy(policy) for policy in health.policies],
        'failures': [_sighting(each) for each in health.sightings],
        'late': [{'device': each.device, 'age': each.age}
                 for each in health.late]}, indent=2) + '\n'
