# SPDX-License-Identifier: Apache-2.0
"""Versions of several sites as ``swift-lightsync-health`` sees them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from swift.common.recon import DEFAULT_RECON_CACHE_PATH

from swift_lightsync.common.address import place_name
from swift_lightsync.common.health import Routes, Scope, Verdict, Watched, warn
from swift_lightsync.common.nodes import MAX_BYTES, Question, Reply
from swift_lightsync.common.openmetrics import Family
from swift_lightsync.versioning.sites.sync_report import Found, complaints
from swift_lightsync.versioning.sites.sync_state import SyncState, read

PATH = '/recon/versions'


def routes(conf: Mapping[str, Any]) -> Routes:
    """Return what a node answers: what its propagator recorded, or null.

    :param conf: ``recon_cache_path``
    """
    source = conf.get('recon_cache_path', DEFAULT_RECON_CACHE_PATH)

    def answer() -> bytes:
        state = read(source)
        return json.dumps(state and state.to_json()).encode('ascii')

    return {PATH: answer}


def _decode(data: bytes) -> Optional[SyncState]:
    return None if data == b'null' else SyncState.parse(data, MAX_BYTES)


def _judge(replies: Mapping[str, Sequence[Reply]], scope: Scope) -> Verdict:
    found = [Found(place_name(reply.host), reply.answer, reply.problem)
             for reply in replies[PATH] if reply.answer or reply.problem]
    states = [each.state for each in found if each.state]
    if not states:
        return Verdict(False)
    peers = [peer for state in states for peer in state.peers]
    rows = Family('swift_versions_lacking', 'gauge',
                  'Changes that another site is not known to have.')
    differing = Family('swift_versions_differing_containers', 'gauge',
                       'Containers that differ from those of another site.')
    for site in sorted({peer.site for peer in peers}):
        theirs = [peer for peer in peers if peer.site == site]
        rows.add(sum(peer.rows for peer in theirs), site=site)
        differing.add(sum(peer.differing for peer in theirs), site=site)
    return Verdict(
        True, warn(complaints(found, scope.now, scope.patience)),
        '%d databases, %d changes on their way' % (
            sum(state.databases for state in states),
            sum(peer.rows for peer in peers)), [rows, differing])


WATCHED = Watched('Versions', routes, (Question(PATH, _decode),), _judge,
                  server='container')
