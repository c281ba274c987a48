# SPDX-License-Identifier: Apache-2.0
"""``bench sync``: its options, and the order in which things are done."""

import os
from contextlib import ExitStack

from swift.common.utils import set_swift_dir

from tools.benchmarks import report
from tools.benchmarks.errors import BenchError
from tools.benchmarks.invocation import (
    Invocation,
    add_output,
    check_json,
    directory,
)
from tools.benchmarks.sync import settings as settings_module
from tools.benchmarks.sync.dataset import DataSet, Write
from tools.benchmarks.sync.record import METRICS, Shape
from tools.benchmarks.sync.scenarios import SCENARIOS
from tools.benchmarks.sync.settings import REPLICATORS, Settings
from tools.benchmarks.sync.site import Site
from tools.benchmarks.sync.storage import Storage
from tools.benchmarks.sync.trial import Trial
from tools.cluster.spec import SYNC_METHODS

HELP = 'LightSync against the stock object replicator (root)'
MASTER = 'master'


def add_arguments(parser):
    """:param parser: the argparse parser of this benchmark"""
    add = parser.add_argument
    add('--nodes', type=int, default=Settings.nodes, help='storage nodes')
    add('--replicas', type=int, default=Settings.replicas,
        help='replicas of each object')
    add('--part-power', type=int, help='of the ring; None: about 8 objects '
        'a partition')
    add('--objects', type=int, default=Settings.objects, metavar='PER_NODE',
        help='object replicas that a node holds')
    add('--size', default='6-10', metavar='LOW-HIGH',
        help='size of an object, KiB')
    add('--scenarios', default=','.join(SCENARIOS), metavar='NAME,…',
        help='what is measured')
    add('--sync-method', default=Settings.sync_method, metavar='METHOD',
        help='how data is pushed: ' + ' or '.join(SYNC_METHODS))
    add('--replicators', default=','.join(REPLICATORS), metavar='NAME,…',
        help='what is compared')
    add('--runs', type=int, default=Settings.runs,
        help='of each scenario with each replicator')
    add('--timeout', type=float, default=Settings.timeout,
        metavar='SECONDS', help='that one replication pass may take')
    add('--seed', type=int, default=Settings.seed,
        help='of all random choices')
    add_output(parser, 'data, logs')


def run(args):
    """
    :param args: what argparse made of the command line
    :returns: the exit status
    """
    settings = settings_module.from_arguments(args)
    check_json(args.json)
    with directory('sync', args.keep) as root:
        bench = Bench(settings, root)
        try:
            bench.run()
        finally:
            # Also when it is interrupted: what was measured is measured.
            _report(bench.sorted_records(), args.json)
    return bench.status('not measured')


def _report(records, json_file):
    if records:
        print(report.table(records, METRICS), flush=True)
    if json_file:
        report.write_json(json_file, records)


class Bench(Invocation):
    """
    All trials of one invocation.

    :param settings: the Settings
    :param root: a directory for everything
    """

    def __init__(self, settings, root):
        super().__init__(settings, root)
        self.master = os.path.join(root, MASTER)
        self.data_set = DataSet(settings.seed, settings.unique_objects,
                                settings.sizes, settings.epoch)
        self.storage = None
        self.shape = None
        self.records = []

    def run(self):
        """Play all trials; fill ``records`` and ``failures`` (texts)."""
        with ExitStack() as stack:
            sites = []
            for name in self.settings.replicators:
                self.say('starting %d nodes for %s' % (
                    self.settings.nodes, name))
                sites.append(stack.enter_context(Site(
                    self.settings, os.path.join(self.root, name), name)))
            self._write_master(sites[0])
            self._play_all(sites)

    def sorted_records(self):
        """:returns: the records, those of one replicator together"""
        order = self.settings.replicators.index
        return sorted(self.records, key=lambda each: order(each.replicator))

    def _write_master(self, site):
        # Rings and the paths of objects depend on swift.conf.
        set_swift_dir(site.cluster.layout.etc)
        self.storage = Storage(site.cluster.layout.etc,
                               site.cluster.ring(settings_module.POLICY),
                               self.settings.seed)
        for node in site.nodes():
            for device in site.cluster.devices(node):
                os.makedirs(os.path.join(self.master, device))
        self.shape = self._shape()
        self.say('writing %d objects, %d replicas each; a node holds %.0f '
                 'partitions' % (
                     self.data_set.count, self.settings.replicas,
                     self.shape.partitions_per_node))
        self.storage.write(
            [Write(version, self.storage.devices_of(version.name))
             for version in self.data_set.objects],
            lambda device: self.master, hash_partitions=True)

    def _shape(self):
        suffixes = {
            os.path.dirname(self.storage.place(each.name).path)
            for each in self.data_set.objects}
        partitions = {os.path.dirname(path) for path in suffixes}
        share = self.settings.replicas / self.settings.nodes
        return Shape(
            self.settings.nodes, self.settings.replicas,
            self.data_set.count * share, len(partitions) * share,
            len(suffixes) / len(partitions))

    def _play_all(self, sites):
        for number in range(1, self.settings.runs + 1):
            for scenario in self.settings.scenarios:
                # Neither side is always the one to go first.
                for site in sites if number % 2 else sites[::-1]:
                    self._play(site, scenario, number)

    def _play(self, site, scenario, number):
        what = '%s, %s, run %d' % (scenario, site.replicator, number)
        trial = Trial(site, self.storage, self.data_set, self.master,
                      scenario, number)
        try:
            found = trial.play(self.shape)
        except BenchError as err:
            self.failures.append('%s: %s' % (what, err))
            self.say('%s: %s' % (what, err))
            return
        self.records.append(found)
        self.say('%s: %.3f s, %.1f messages, %d bytes, %.3f CPU s, %d rounds'
                 '%s' % (what, found.pass_seconds, found.messages,
                         found.bytes_sent, found.cpu_seconds, found.rounds,
                         '' if found.converged else ', not converged'))
