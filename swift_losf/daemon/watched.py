# SPDX-License-Identifier: Apache-2.0
"""LOSF as ``swift-lightsync-health`` sees it: what the manager of the index
servers reported last. OPERATING.md, "What to watch".
"""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from swift.common.recon import DEFAULT_RECON_CACHE_PATH, RECON_OBJECT_FILE

from swift_lightsync.common.address import place_name
from swift_lightsync.common.health import (
    Finding,
    Routes,
    Scope,
    Severity,
    Verdict,
    Watched,
)
from swift_lightsync.common.nodes import MAX_BYTES, Question, Reply
from swift_lightsync.common.openmetrics import Family
from swift_lightsync.common.records import Between, Length, Record, load_json
from swift_lightsync.common.text import printable

PATH = '/recon/losf'
#: The manager's report in Swift's recon file of object-servers.
RECON_KEY = 'object_losf'
#: Percent of a disk that is free, below which that is a finding.
LITTLE_FREE, HARDLY_FREE = 10, 5

Count = Annotated[int, Between(0, 10 ** 15)]
Number = Annotated[float, Between(0, 1e15)]
Text = Annotated[str, Length(4096)]


@dataclass(frozen=True)
class IndexServer(Record):
    """One index server, as the manager's documentation describes it."""
    device: Text
    policy: Count
    state: Text
    restarts: Count
    error: Text = ''
    quarantined: Count = 0
    files: Count = 0
    bytes: Count = 0
    allocated_bytes: Count = 0
    free_percent: Annotated[float, Between(0, 100)] | None = None
    is_full: bool = False

    def problems(self) -> list[tuple[Severity, str]]:
        """Return what is wrong: how bad, and what."""
        if self.state == 'unmounted':
            return [(Severity.WARNING, 'it is not mounted')]
        if self.state != 'running' or self.error:
            return [(Severity.CRITICAL, 'its index server is %s%s' % (
                self.state, self.error and ', but: ' + self.error))]
        found = []
        if self.is_full:
            found.append((Severity.CRITICAL,
                          'it is full, only deletes are accepted'))
        elif self.free_percent is not None \
                and self.free_percent < LITTLE_FREE:
            found.append((
                Severity.CRITICAL if self.free_percent < HARDLY_FREE
                else Severity.WARNING, '%.1f %% free' % self.free_percent))
        if self.quarantined:
            found.append((Severity.WARNING,
                          '%d in quarantine' % self.quarantined))
        return found


@dataclass(frozen=True)
class NodeIndexes(Record):
    """What a node answers.

    :param time: its clock, Unix time
    :param source: the directory of its recon file
    :param valid_until: after that the report is stale; 0: there is none
    :param index_servers: one for each device and policy in volumes
    """
    time: Number
    source: Text
    valid_until: Number
    index_servers: tuple[IndexServer, ...]


@dataclass(frozen=True)
class _Reported(Record):
    valid_until: Number = 0
    index_servers: tuple[IndexServer, ...] = ()


def routes(conf: Mapping[str, Any]) -> Routes:
    """Return what a node answers.

    :param conf: ``recon_cache_path``
    """
    source = conf.get('recon_cache_path', DEFAULT_RECON_CACHE_PATH)

    def answer() -> bytes:
        try:
            with open(os.path.join(source, RECON_OBJECT_FILE), 'rb') as recon:
                data = recon.read(MAX_BYTES) or b'{}'
        except FileNotFoundError:
            data = b'{}'
        known = load_json(data, MAX_BYTES, RECON_OBJECT_FILE)
        found = _Reported.from_json(
            known.get(RECON_KEY) or {} if isinstance(known, dict) else known,
            RECON_KEY)
        return json.dumps(NodeIndexes(
            time.time(), source, found.valid_until, found.index_servers
            ).to_json()).encode('ascii')

    return {PATH: answer}


def _judge(replies: Mapping[str, Sequence[Reply]], scope: Scope) -> Verdict:
    # Servers of a host that share a recon file tell the same.
    nodes = {(reply.host[0], reply.answer.source): reply
             for reply in replies[PATH]
             if reply.answer and reply.answer.valid_until}
    findings = [Finding(Severity.UNKNOWN, '%s: %s' % (
        place_name(reply.host), reply.problem))
        for reply in replies[PATH] if reply.problem and not reply.answer]
    if not nodes:
        return Verdict(bool(findings), findings)
    servers = []
    for reply in nodes.values():
        late = reply.answer.time - reply.answer.valid_until
        if late > 0:
            findings.append(Finding(
                Severity.CRITICAL, '%s: the manager of its index servers has '
                'not reported for %d s' % (place_name(reply.host), late)))
        for each in reply.answer.index_servers:
            servers.append(each)
            findings += [Finding(severity, '%s, policy %d: %s' % (
                place_name((*reply.host, printable(each.device))),
                each.policy, printable(text)))
                for severity, text in each.problems()]
    files = sum(each.files for each in servers)
    return Verdict(True, findings, '%d index servers, %d files' % (
        len(servers), files), [
            Family('swift_losf_files', 'gauge', 'Files in volumes.').add(
                files),
            Family('swift_losf_bytes', 'gauge', 'Bytes of files in volumes.'
                   ).add(sum(each.bytes for each in servers)),
            Family('swift_losf_allocated_bytes', 'gauge', 'Bytes of disks '
                   'that volumes take.').add(sum(
                       each.allocated_bytes for each in servers)),
            Family('swift_losf_quarantined', 'gauge', 'Files in quarantine.'
                   ).add(sum(each.quarantined for each in servers))])


WATCHED = Watched('LOSF', routes, (Question(
    PATH, lambda data: NodeIndexes.parse(data, MAX_BYTES)),), _judge)
