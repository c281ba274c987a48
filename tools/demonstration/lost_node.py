# SPDX-License-Identifier: Apache-2.0
"""The first act: a node is lost and comes back.

LightSync repairs it, and Swift's own replicator a copy of the same disks.
"""

from tools import ToolError
from tools.cluster import Cluster
from tools.demonstration import survey
from tools.demonstration.act import Act
from tools.demonstration.passes import Cost, print_comparison

LOST_NODE = 3


class LostNode(Act):
    """The first act."""

    title = 'A node is lost and comes back (LightSync)'
    cluster_name = 'lightsync'

    def run(self) -> str:
        stock = self.stage.clusters['stock']
        self.start_cluster()
        self.upload()
        self.lose_node()
        before = self.copy_to_stock(stock)
        repair, stable = self.repair(
            'LightSync repairs', self.cluster, before, is_ours=True)
        stock_repair, stock_stable = self.repair(
            "Swift's own replicator repairs the copy", stock, before,
            is_ours=False)
        self.compare_ends(stock)
        self.check_served()
        self.show.scene('LightSync and stock Swift')
        print_comparison(self.show, 'repair: until all is identical', repair,
                         stock_repair)
        print_comparison(self.show, 'then, nothing to repair', stable,
                         stock_stable)
        with self.show.doing('the copy of stock Swift deleted'):
            stock.destroy()
        return ('all replicas identical; %d messages, stock Swift %d' % (
            repair.all_messages, stock_repair.all_messages))

    def upload(self) -> None:
        self.show.scene('%d objects, half to each policy' % self.files)
        self.items = [item for items in self.to_each(
            'object', self.files // 2).values() for item in items]
        self.put(self.items, 'objects uploaded')
        self.one_pass(self.cluster, 'a first pass, which hashes all')
        self.require_equal(self.look(self.cluster), 'after a first pass')

    def lose_node(self) -> None:
        self.show.scene('Node %d dies, and users go on' % LOST_NODE)
        killed = self.cluster.kill(LOST_NODE)
        self.show.say('kill -9 of its %d processes.' % len(killed))
        overwrites = [item._replace(seed='other ' + item.seed)
                      for item in self.items[::10]]
        self.put(overwrites, 'objects overwritten')
        self.delete([item.where for item in self.items[1::10]])
        self.put([item for items in self.to_each(
            'new', self.files // 30).values() for item in items],
            'objects added')
        with self.show.doing('node %d started, with what it had before'
                             % LOST_NODE):
            self.cluster.start(LOST_NODE)
        if self.look(self.cluster).equal:
            raise ToolError('node %d was dead during %d changes, and yet all '
                            'replicas are identical' % (
                                LOST_NODE, len(overwrites)))

    def copy_to_stock(self, stock: Cluster) -> survey.Survey:
        """Return what is on the disks of both clusters."""
        self.show.scene('The same disks for stock Swift')
        with self.show.doing('a second cluster started'):
            stock.up()
        with self.show.doing('all devices copied'):
            self.stage.copy_objects()
        before = self.read_disks(self.cluster)
        if self.read_disks(stock) != before or survey.placement(
                stock) != survey.placement(self.cluster):
            raise ToolError('devices and rings in %s are not a true copy of '
                            'those in %s' % (stock.spec.root,
                                             self.cluster.spec.root))
        self.show.say("Swift's own object-server and replicator have a copy "
                      'of each device (%d files, compared one by one), and '
                      'the same rings.' % sum(map(len, before.values())))
        return before

    def repair(self, title: str, cluster: Cluster, before: survey.Survey,
               is_ours: bool) -> tuple[Cost, Cost]:
        """Replicate until all replicas are identical, and once more.

        :param before: what a survey of the cluster must find at first
        :param is_ours: whether messages of LightSync must be sent, or must not
        :returns: the costs of the repair, and of the pass after it
        """
        self.show.scene(title)
        if self.read_disks(cluster) != before:
            raise ToolError('the devices in %s have changed before their '
                            'repair began' % cluster.spec.root)
        repair = self.replicate_until_equal(cluster)
        stable = self.one_pass(cluster, 'one more, nothing to repair')
        self.require_equal(self.look(cluster),
                           'after a pass in the stable state')
        sent = (repair + stable).messages['LIGHTSYNC']
        if bool(sent) != is_ours:
            raise ToolError('%s: the replicators sent %d sync messages of '
                            'LightSync' % (title, sent))
        return repair, stable

    def compare_ends(self, stock: Cluster) -> None:
        if self.read_disks(self.cluster) != self.read_disks(stock):
            raise ToolError('LightSync and stock Swift left different files')
        self.show.say('LightSync and stock Swift left exactly the same files, '
                      'contents and metadata on every device.')

    def to_look_at(self) -> tuple[str, ...]:
        saio = 'tools/saio --dir %s ' % self.cluster.spec.root
        return (saio + 'kill 2', saio + 'start 2', *self.shell(
            'swift-init %s once' % self.cluster.replicator_daemon))
