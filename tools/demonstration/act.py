# SPDX-License-Identifier: Apache-2.0
"""What the acts have in common: a cluster, its users, a look at its disks."""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tools import ToolError
from tools.cluster import Cluster, Policy
from tools.demonstration import survey
from tools.demonstration.passes import Cost, one_pass
from tools.demonstration.show import Show
from tools.demonstration.stage import Stage
from tools.demonstration.users import ObjectName, Upload, User

THREADS = 8
MAX_PASSES = 12
EXAMPLES = 10
NOTHING = 'nothing'
Cues = dict[int, Callable[[], Any]]


def _in_words(content: str | None) -> str:
    return content if content == NOTHING else (
        'content %.12s' % content if content else 'a tombstone')


@dataclass
class Act:
    """Plays on a stage: run does, and returns the verdict in a sentence.

    :param files: how many files the user wants to be uploaded
    """

    stage: Stage
    show: Show
    files: int
    #: digest of the content of each object; None once it was deleted
    expected: dict[ObjectName, str | None] = field(default_factory=dict)

    title = ''
    cluster_name = ''

    @property
    def cluster(self) -> Cluster:
        """The Cluster that users talk to."""
        return self.stage.clusters[self.cluster_name]

    @property
    def policies(self) -> Sequence[Policy]:
        return self.cluster.spec.policies

    def run(self) -> str:
        """Play; an error says what is not as it should be."""
        raise NotImplementedError

    def to_look_at(self) -> Iterable[str]:
        """Return commands to look at what is left."""
        return ()

    def shell(self, command: str) -> tuple[str, ...]:
        """Return how to run a command in the environment of the cluster."""
        return ('eval "$(tools/saio --dir %s env)"' % self.cluster.spec.root,
                'swift list', command)

    # A cluster and its users

    def start_cluster(self) -> None:
        spec = self.cluster.spec
        self.show.scene('A cluster of %d nodes' % spec.nodes)
        with self.show.doing('servers started'):
            self.cluster.up()
        self.user = User(self.cluster.environment())
        self.copies = survey.Copies(self.cluster, self.user.account)
        self.show.say('Nodes 1 to %d on %s to %s; the proxy is on port %d.' % (
            spec.nodes, self.cluster.node_ip(1),
            self.cluster.node_ip(spec.nodes), spec.port('proxy-server')))
        for policy in self.policies:
            self.user.make_container(policy.name, {
                'X-Storage-Policy': policy.name})
        self.show.say('Policies, and a container for each: %s.' % ', '.join(
            '%s with %d replicas%s' % (
                policy.name, policy.replicas, ' in volumes' if policy.kv
                else ' and primary-role writes' if policy.proar else '')
            for policy in self.policies))

    def to_each(self, *args: Any) -> dict[str, list[Upload]]:
        """Return a dict of container -> the same uploads for each."""
        return {policy.name: self.uploads(policy.name, *args)
                for policy in self.policies}

    @staticmethod
    def uploads(container: str, kind: str, number: int, *sizes: int
                ) -> list[Upload]:
        """Return so many uploads, called by their kind and number."""
        names = ['%s %d' % (kind, each) for each in range(number)]
        return [Upload(ObjectName(container, name), name, *sizes)
                for name in names]

    def each(self, operation: Callable, items: Iterable[Any], what: str,
             cues: Cues | None = None, threads: int = THREADS
             ) -> list[Any]:
        """Do an operation with each item, in threads; a failure ends all.

        :param what: what is counted, such as 'files uploaded'
        :param cues: what happens after so many, one at a time, while the
            others go on
        :returns: the results, in the order of the items
        """
        items, numbers, lock = list(items), count(1), threading.Lock()
        with self.show.doing(what, len(items)) as step, \
                ThreadPoolExecutor(threads) as pool:
            def one(item: Any) -> Any:
                result = operation(item)
                step()
                cue = (cues or {}).get(next(numbers))
                if cue:
                    with lock:
                        cue()
                return result

            pending = [pool.submit(one, item) for item in items]
            try:
                return [each.result() for each in pending]
            finally:
                pool.shutdown(cancel_futures=True)

    def put(self, items: Iterable[Upload], what: str,
            cues: Cues | None = None) -> None:
        self.expected.update(self.each(self.user.put, items, what, cues))

    def delete(self, names: Sequence[ObjectName]) -> None:
        self.each(self.user.delete, names, 'objects deleted')
        self.expected.update(dict.fromkeys(names))

    def signal(self, node: int, daemon: str, number: int) -> None:
        """Send a signal to each process of a daemon of a node."""
        pids = self.cluster.pids(node, daemon)
        if not pids:
            raise ToolError('node %d has no %s that could be sent a signal'
                            % (node, daemon))
        for pid in pids:
            os.kill(pid, number)

    # The disks

    def read_disks(self, cluster: Cluster) -> survey.Survey:
        with self.show.doing('every file of every device read'):
            return survey.survey(cluster)

    def look(self, cluster: Cluster, policy: Policy | None = None
             ) -> survey.Findings:
        """Judge what is on the disks, and say it.

        :param cluster: a Cluster with the objects of this act
        :param policy: whose objects count; None: all do
        :raises ToolError: if the newest state of any object is not what a
            user was told
        """
        found = {device: frozenset(each for each in files if not policy
                                   or each.policy == policy.index)
                 for device, files in self.read_disks(cluster).items()}
        findings = survey.judge(found, survey.placement(cluster))
        self.show.say('on the disks: %s' % findings)
        wanted = {(self.copies.policy(name).index, self.copies.hash(name)):
                  (name, content) for name, content in self.expected.items()
                  if not policy or name.container == policy.name}
        wrong = []
        for key in sorted(findings.contents.keys() | wanted.keys()):
            name, content = wanted.get(
                key, ('policy %d, object %s' % key, NOTHING))
            there = findings.contents.get(key, NOTHING)
            if there != content:
                wrong.append('%s: %s, not %s' % (
                    name, _in_words(there), _in_words(content)))
        self.require_none(wrong, 'objects are not on the disks of %s as was '
                          'acknowledged' % cluster.spec.root)
        return findings

    @staticmethod
    def require_none(wrong: list[str], what: str) -> None:
        if wrong:
            raise ToolError('%d %s:\n  %s' % (
                len(wrong), what, '\n  '.join(wrong[:EXAMPLES])))

    def require_equal(self, findings: survey.Findings, when: str) -> None:
        if not findings.equal:
            raise ToolError('the replicas are not identical %s:\n  %s' % (
                when, findings.examples))

    def one_pass(self, cluster: Cluster, name: str) -> Cost:
        with self.show.doing('a pass on every node'):
            cost = one_pass(cluster)
        self.show.say('%s: %s' % (name, cost))
        return cost

    def replicate_until_equal(self, cluster: Cluster) -> Cost:
        """Return the Cost of the passes that it took."""
        total, number = Cost(), 0
        while True:
            number += 1
            total += self.one_pass(cluster, 'pass %d' % number)
            findings = self.look(cluster)
            if findings.equal:
                return total
            if number == MAX_PASSES:
                self.require_equal(findings, 'after %d passes' % MAX_PASSES)

    # What is served

    def check_served(self) -> None:
        """Check that the proxy serves what it has acknowledged."""
        self.show.scene('Every object through the proxy')
        with self.show.doing('container listings brought up to date'):
            for daemon in ('object-updater', 'container-replicator',
                           'container-updater'):
                self.cluster.swift_init(daemon, 'once')
        wrong = [text for text in self.each(
            self.user.check, self.expected.items(),
            'objects compared with what was uploaded, or gone') if text]
        for policy in self.policies:
            names = {where.name for where, content in self.expected.items()
                     if where.container == policy.name and content}
            differing = names.symmetric_difference(
                self.user.listing(policy.name))
            wrong += ['%s/%s: its listing is wrong' % (policy.name, name)
                      for name in sorted(differing)]
        self.require_none(wrong, 'objects are wrong')
        self.show.say('Each has the content that was uploaded, each deleted '
                      'one answers 404, and the container listings agree.')
