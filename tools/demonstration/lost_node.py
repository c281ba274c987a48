# SPDX-License-Identifier: Apache-2.0
"""
The first act: a node is lost and comes back.

LightSync repairs it, and Swift's own replicator a copy of the same disks.
"""

from dataclasses import dataclass

from tools.demonstration import catalogue, replicas
from tools.demonstration.act import Act
from tools.demonstration.comparison import Repair, print_comparison
from tools.demonstration.epilogue import saio
from tools.demonstration.errors import DemoError
from tools.demonstration.passes import VERBS, Meter
from tools.demonstration.plan import Plan, files_needed, make_plan
from tools.demonstration.show import byte_count

LOST_NODE = 3


@dataclass
class LostNode(Act):
    """
    The first act.

    :param keep_stock: leave the cluster of stock Swift up; else delete it
    """

    keep_stock: bool = False
    plan: Plan = None

    @property
    def cluster(self):
        return self.stage.lightsync

    def run(self):
        self.start_cluster('A cluster of five nodes')
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
        self.check_served()
        print_comparison(self.show, repairs)
        if not self.keep_stock:
            self.stage.stock.destroy()

    def upload(self):
        self.show.scene('Real files become objects')
        files = catalogue.choose(files_needed(self.files))
        self.plan = make_plan(files, self.files, [
            policy.name for policy in self.cluster.spec.policies])
        self.show.say('From %s: half to each policy, through the proxy.'
                      % ', '.join(catalogue.default_trees().values()))
        self.put(self.plan.uploads, 'files uploaded')

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
        self.require_equal(self.cluster, self.look(self.cluster),
                           'after an undisturbed upload and a pass')

    def lose_node(self):
        self.show.scene('Node %d dies, and users go on' % LOST_NODE)
        killed = self.cluster.kill(LOST_NODE)
        self.show.say('kill -9 of its %d processes.' % len(killed))
        self.put(self.plan.overwrites, 'objects overwritten')
        self.delete(self.plan.deletes, 'objects deleted')
        self.put(self.plan.additions, 'objects added')
        self.cluster.start(LOST_NODE)
        self.show.say('Node %d is back, with what it had before.'
                      % LOST_NODE)
        verdict = self.look(self.cluster)
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
        until_equal = self.replicate_until_equal(cluster)
        stable = Meter(cluster).one_pass()
        self.tell('one more, nothing to repair', stable)
        self.require_equal(cluster, self.look(cluster),
                           'after a pass in the stable state')
        return Repair(until_equal, stable)

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

    def to_look_at(self):
        cluster = self.cluster
        device = cluster.device_path(1, cluster.devices(1)[0])
        lines = (
            "# LightSync's roots, beside Swift's suffix hashes",
            'ls -l %s/objects*/*/*.pkl' % device,
            '', "# node 1's account of its last pass, from its disk and over "
            'HTTP', 'cat %s/object.recon' % cluster.layout.cache_dir(1),
            'curl -s http://%s:%d/recon/replication/object' % (
                cluster.node_ip(1), cluster.spec.port('object-server', 1)),
            '', '# the logs of all daemons', 'ls %s' % cluster.layout.logs)
        if self.keep_stock:
            stock = saio(self.stage.stock)
            lines += ('', '# the copy with stock Swift', stock + ' status',
                      stock + ' destroy')
        return lines
