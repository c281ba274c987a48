# SPDX-License-Identifier: Apache-2.0
"""What the acts have in common: a cluster, its users, a look at its disks."""

import os
import time
from dataclasses import dataclass, field
from itertools import count
from threading import Lock

from tools.demonstration import replicas
from tools.demonstration.client import THREADS, Client
from tools.demonstration.errors import DemoError
from tools.demonstration.passes import VERBS, Cost, Meter

MAX_PASSES = 12
EXAMPLES = 10
NOTHING = 'nothing'
#: attribute of a Policy -> what it means
KINDS = {'kv': ', objects in volumes', 'proar': ', primary-role writes'}


def _in_words(content):
    if content in (None, NOTHING):
        return content or 'a tombstone'
    return 'content %.12s' % content


def _with_cues(counted, cues):
    """
    :param counted: called after each item
    :param cues: a dict of number -> what is called after so many items, one
        at a time
    :returns: what does both, in whatever thread
    """
    numbers, lock = count(1), Lock()

    def after_each():
        counted()
        cue = cues.get(next(numbers))
        if cue:
            with lock:
                cue()

    return after_each


@dataclass
class Act:
    """
    Plays on a stage; run is the play. Subclasses say which cluster it has.

    :param stage: a Stage
    :param show: a Show
    :param files: how many files the user wants to be uploaded
    """

    stage: object
    show: object
    files: int
    #: ObjectName -> digest of its content; None once it was deleted
    expected: dict = field(default_factory=dict)
    client: Client = None

    @property
    def cluster(self):
        """The Cluster that users talk to."""
        raise NotImplementedError

    def run(self):
        """:raises DemoError, ClusterError: if anything is not as it should"""
        raise NotImplementedError

    def to_look_at(self):
        """:returns: the lines that say what to look at while it is up"""
        raise NotImplementedError

    # A cluster and its users

    def start_cluster(self, title):
        """
        :param title: of the scene
        """
        self.show.scene(title)
        spec = self.cluster.spec
        self.cluster.up()
        environment = self.cluster.environment()
        self.client = Client(environment['ST_AUTH'], environment['ST_USER'],
                             environment['ST_KEY'])
        self.show.say('Nodes 1 to %d on %s to %s run object, container and '
                      'account servers; the proxy is on port %s.' % (
                          spec.nodes, self.cluster.node_ip(1),
                          self.cluster.node_ip(spec.nodes),
                          self.client.host.rpartition(':')[2]))
        for policy in spec.policies:
            self.client.make_container(policy.name, policy.name)
            self.show.say('Policy %s: %d replicas, %d partitions%s; '
                          'container %s.' % (
                              policy.name, policy.replicas,
                              2 ** policy.part_power,
                              ''.join(text for kind, text in KINDS.items()
                                      if getattr(policy, kind)),
                              policy.name))

    def put(self, items, what, cues=()):
        """
        :param items: tuple of (ObjectName, LocalFile)
        :param what: what is counted, such as 'files uploaded'
        :param cues: a dict of number -> what happens after so many, while
            the others go on
        """
        self.expected.update(self.each(self.client.put, items, what, cues))

    def delete(self, names, what):
        """
        :param names: ObjectNames
        :param what: what is counted
        """
        self.each(self.client.delete, names, what)
        self.expected.update(dict.fromkeys(names))

    def each(self, operation, items, what, cues=(), threads=THREADS):
        """:returns: a list of the results of an operation of the client"""
        with self.show.progress(what, len(items)) as counted:
            return self.client.each(operation, items, _with_cues(
                counted, dict(cues)), threads)

    def signal(self, node, daemon, number):
        """
        :param node: the number of a node
        :param daemon: such as 'object-server'
        :param number: of the signal that each of its processes gets
        :raises DemoError: if there is none
        """
        pids = self.cluster.pids(node, daemon)
        if not pids:
            raise DemoError('node %d has no %s that could be sent a signal'
                            % (node, daemon))
        for pid in pids:
            os.kill(pid, number)

    # The disks

    def look(self, cluster, policy=None):
        """
        Judge what is on the disks, and say it.

        :param cluster: a Cluster with the objects of this act
        :param policy: the Policy whose objects count; None: all do
        :returns: a Verdict
        :raises DemoError: if the newest state of any object is not what a
            user was told
        """
        begin = time.monotonic()
        found = replicas.survey(cluster)
        if policy:
            found = {device: {each for each in stored
                              if each.policy == policy.index}
                     for device, stored in found.items()}
        verdict = replicas.judge(found, replicas.placement(cluster))
        self.show.lines('  on the disks: %d objects, %d tombstones (%.1f s)'
                        % (verdict.live, verdict.deleted,
                           time.monotonic() - begin), '    %s' % verdict)
        self._check_contents(cluster, verdict.contents, [
            name for name in self.expected
            if not policy or name.container == policy.name])
        return verdict

    def _check_contents(self, cluster, contents, expected):
        names = replicas.object_keys(cluster, self.client.account, expected)
        wanted = {key: self.expected[name] for key, name in names.items()}
        wrong = ['%s: %s, not %s' % (
            names.get(key, 'policy %d, object %s' % key),
            *(_in_words(each.get(key, NOTHING))
              for each in (contents, wanted)))
            for key in sorted(contents.keys() | wanted.keys())
            if contents.get(key, NOTHING) != wanted.get(key, NOTHING)]
        if wrong:
            raise DemoError('%s: of %d objects the disks have not what was '
                            'acknowledged:\n  %s' % (
                                cluster.spec.root, len(wrong),
                                '\n  '.join(wrong[:EXAMPLES])))

    def replicate_until_equal(self, cluster):
        """:returns: the Cost of the passes that it took"""
        meter = Meter(cluster)
        total = Cost()
        for number in range(1, MAX_PASSES + 1):
            cost = meter.one_pass()
            total += cost
            self.tell('pass %d' % number, cost)
            verdict = self.look(cluster)
            if verdict.equal:
                return total
        self.require_equal(cluster, verdict, 'after %d passes' % MAX_PASSES)

    def tell(self, name, cost):
        """Say what a pass took."""
        self.show.lines('%s: %.1f s, %s' % (name, cost.seconds, ', '.join(
            '%d %s' % (number, verb)
            for number, verb in zip(cost.messages, VERBS) if number)
            or 'no messages'))

    @staticmethod
    def require_equal(cluster, verdict, when):
        """:raises DemoError: unless all replicas are identical"""
        if not verdict.equal:
            raise DemoError(
                '%s: the replicas are not identical %s:\n  %s' % (
                    cluster.spec.root, when, '\n  '.join(verdict.examples)))

    # What is served

    def check_served(self):
        """:raises DemoError: unless the proxy serves what it acknowledged"""
        self.show.scene('Every object through the proxy')
        for daemon in ('object-updater', 'container-replicator',
                       'container-updater'):
            self.cluster.swift_init(daemon, 'once')
        wrong = [text for text in self.each(
            self.client.check, list(self.expected.items()),
            'objects compared with what was uploaded, or gone') if text]
        for policy in self.cluster.spec.policies:
            listed = self.client.listing(policy.name)
            wanted = sorted(
                (where.name for where, content in self.expected.items()
                 if where.container == policy.name and content is not None),
                key=str.encode)
            if listed != wanted:
                wrong.append('the listing of container %s has %d names; %d '
                             'objects exist, %d names differ' % (
                                 policy.name, len(listed), len(wanted),
                                 len(set(listed) ^ set(wanted))))
        if wrong:
            raise DemoError('%d objects are wrong:\n  %s' % (
                len(wrong), '\n  '.join(wrong[:EXAMPLES])))
        self.show.say('Each has the content of its local file, each deleted '
                      'one answers 404, and the container listings agree.')
