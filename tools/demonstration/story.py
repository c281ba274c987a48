# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""The scenes of the demonstration, in their order."""

from dataclasses import dataclass, field
import time

from tools.demonstration import catalogue, replicas
from tools.demonstration.client import Client
from tools.demonstration.errors import DemoError
from tools.demonstration.passes import VERBS, Cost, Meter
from tools.demonstration.plan import Plan, files_needed, make_plan
from tools.demonstration.show import byte_count

LOST_NODE = 3
MAX_PASSES = 12


@dataclass(frozen=True)
class Repair:
    """
    :param until_equal: the Cost of all passes until the replicas were equal
    :param stable: that of the next pass, with nothing left to repair
    """

    until_equal: Cost
    stable: Cost


@dataclass
class Story:
    """
    Tells the story on a stage.

    :param stage: a Stage
    :param show: a Show
    :param files: how many files to upload
    """

    stage: object
    show: object
    files: int
    #: ObjectName -> digest of its content; None once it was deleted
    expected: dict = field(default_factory=dict)
    client: Client = None
    plan: Plan = None

    @property
    def cluster(self):
        return self.stage.lightsync

    def run(self):
        """
        :returns: a dict of replicator's name -> Repair
        :raises DemoError, ClusterError: if anything is not as it should be
        """
        self.start_cluster()
        self.upload()
        self.settle()
        self.lose_node()
        before = self.copy_to_stock()
        repairs = {'lightsync': self.repair(
            'LightSync repairs', self.cluster, before)}
        repairs['stock'] = self.repair(
            "Swift's own replicator repairs the copy", self.stage.stock,
            before)
        self.check_protocols(repairs)
        self.compare_ends()
        self.check_objects()
        return repairs

    def start_cluster(self):
        self.show.scene('A cluster of five nodes')
        spec = self.cluster.spec
        self.stage.check_xattrs()
        if self.stage.clear():
            self.show.say('The cluster of an earlier demonstration in %s is '
                          'gone.' % self.stage.directory)
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
            self.show.say('Policy %s: %d replicas, %d partitions; container '
                          '%s.' % (policy.name, policy.replicas,
                                   2 ** policy.part_power, policy.name))
        if self.stage.note:
            self.show.say('Note: %s.' % self.stage.note)

    def upload(self):
        self.show.scene('Real files become objects')
        files = catalogue.choose(files_needed(self.files))
        self.plan = make_plan(files, self.files, [
            policy.name for policy in self.cluster.spec.policies])
        self.show.say('From %s: half to each policy, through the proxy.'
                      % ', '.join(catalogue.default_trees().values()))
        self._put(self.plan.uploads, 'files uploaded')

    def _put(self, items, what):
        self.expected.update(self._each(self.client.put, items, what))

    def _each(self, operation, items, what):
        with self.show.progress(what, len(items)) as count:
            return self.client.each(operation, items, count)

    def settle(self):
        self.show.scene('A first pass of LightSync on every node')
        meter = Meter(self.cluster)
        idle = meter.idle_pass()
        self.show.say('A pass with nothing to do, in which a replicator '
                      'starts and ends on each node, takes %.1f CPU seconds, '
                      'and %s went over loopback meanwhile; so much is in '
                      'each pass below.' % (
                          idle.cpu_seconds, byte_count(idle.loopback_bytes)))
        cost = meter.one_pass()
        self.show.say('The first pass hashes every partition: %.1f s on the '
                      'slowest node.' % cost.seconds)
        verdict = self._look(self.cluster)
        if not verdict.equal:
            self._unequal(self.cluster, verdict, 'after an undisturbed '
                          'upload and a pass')

    def lose_node(self):
        self.show.scene('Node %d dies, and users go on' % LOST_NODE)
        killed = self.cluster.kill(LOST_NODE)
        self.show.say('kill -9 of its %d processes.' % len(killed))
        self._put(self.plan.overwrites, 'objects overwritten')
        self._each(self.client.delete, self.plan.deletes, 'objects deleted')
        self.expected.update(dict.fromkeys(self.plan.deletes))
        self._put(self.plan.additions, 'objects added')
        self.cluster.start(LOST_NODE)
        self.show.say('Node %d is back, with what it had before.'
                      % LOST_NODE)
        verdict = self._look(self.cluster)
        if verdict.equal:
            raise DemoError('node %d was dead during %d changes, and yet all '
                            'replicas are identical' % (
                                LOST_NODE, len(self.plan.overwrites)))

    def copy_to_stock(self):
        self.show.scene('The same disks for stock Swift')
        stock = self.stage.stock
        stock.up()
        self.stage.copy_objects()
        before = replicas.survey(self.cluster)
        if replicas.survey(stock) != before:
            raise DemoError('the devices in %s are not a true copy of those '
                            'in %s' % (stock.spec.root,
                                       self.cluster.spec.root))
        if replicas.placement(stock) != replicas.placement(self.cluster):
            raise DemoError('the rings in %s and %s place partitions '
                            'differently' % (stock.spec.root,
                                             self.cluster.spec.root))
        self.show.say(
            "A second cluster with Swift's own object-server and replicator "
            'has a copy of every device (%d files, compared one by one) and '
            'rings that place every partition alike.'
            % sum(map(len, before.values())))
        return before

    def repair(self, title, cluster, before):
        """
        Replicate until all replicas are identical, and once more.

        :param title: of the scene
        :param cluster: the Cluster
        :param before: what a survey of it must find at first
        :returns: a Repair
        """
        self.show.scene(title)
        if replicas.survey(cluster) != before:
            raise DemoError('the devices in %s have changed before their '
                            'repair began' % cluster.spec.root)
        meter = Meter(cluster)
        total = Cost()
        for number in range(1, MAX_PASSES + 1):
            cost = meter.one_pass()
            total += cost
            self._tell('pass %d' % number, cost)
            verdict = self._look(cluster)
            if verdict.equal:
                break
        else:
            self._unequal(cluster, verdict, 'after %d passes' % MAX_PASSES)
        stable = meter.one_pass()
        self._tell('one more, nothing to repair', stable)
        verdict = self._look(cluster)
        if not verdict.equal:
            self._unequal(cluster, verdict, 'after a pass in the stable '
                          'state')
        return Repair(total, stable)

    def _tell(self, name, cost):
        self.show.lines('%s: %.1f s, %s' % (name, cost.seconds, ', '.join(
            '%d %s' % (count, verb)
            for count, verb in zip(cost.messages, VERBS) if count)
            or 'no messages'))

    def _look(self, cluster):
        """Judge what is on the disks, and say it."""
        begin = time.monotonic()
        verdict = replicas.judge(replicas.survey(cluster),
                                 replicas.placement(cluster))
        self.show.lines('  on the disks: %d objects, %d tombstones (%.1f s)'
                        % (verdict.live, verdict.deleted,
                           time.monotonic() - begin), '    %s' % verdict)
        deleted = sum(each is None for each in self.expected.values())
        wanted = len(self.expected) - deleted
        if (verdict.live, verdict.deleted) != (wanted, deleted):
            raise DemoError('%s: %d objects and %d tombstones are on the '
                            'disks, not %d and %d' % (
                                cluster.spec.root, verdict.live,
                                verdict.deleted, wanted, deleted))
        return verdict

    @staticmethod
    def _unequal(cluster, verdict, when):
        raise DemoError('%s: the replicas are not identical %s:\n  %s' % (
            cluster.spec.root, when, '\n  '.join(verdict.examples)))

    @staticmethod
    def check_protocols(repairs):
        """Each replicator must have found the differences in its way."""
        for name, repair in repairs.items():
            total = repair.until_equal + repair.stable
            sent = total.messages[VERBS.index('LIGHTSYNC')]
            if bool(sent) != (name == 'lightsync'):
                raise DemoError('the %s replicators sent %d sync messages of '
                                'LightSync' % (name, sent))

    def compare_ends(self):
        self.show.scene('Both ends compared')
        if replicas.survey(self.cluster) != replicas.survey(self.stage.stock):
            raise DemoError('LightSync and stock Swift left different files')
        self.show.say('LightSync and stock Swift left exactly the same files, '
                      'contents and metadata on every device.')

    def check_objects(self):
        self.show.scene('Every object through the proxy')
        for daemon in ('object-updater', 'container-replicator',
                       'container-updater'):
            self.cluster.swift_init(daemon, 'once')
        wrong = [text for text in self._each(
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
                len(wrong), '\n  '.join(wrong[:10])))
        self.show.say('Each has the content of its local file, each deleted '
                      'one answers 404, and the container listings agree.')
