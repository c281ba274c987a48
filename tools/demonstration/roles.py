# SPDX-License-Identifier: Apache-2.0
"""
The third act: what PROAR does for who waits for writes, and what it risks.

The same objects are written at a quorum and to their primary roles: all nodes
well, then one that does not answer. Then a primary role dies right after it
has acknowledged what nobody else has yet.
"""

import time
from collections import Counter
from dataclasses import dataclass
from signal import SIGCONT, SIGKILL, SIGSTOP
from statistics import median

from tools.cluster.processes import wait_until
from tools.demonstration import catalogue
from tools.demonstration.act import Act
from tools.demonstration.copies import Copies
from tools.demonstration.epilogue import saio
from tools.demonstration.errors import DemoError
from tools.demonstration.plan import (
    LARGE,
    ROLE_FILES,
    RolePlan,
    make_role_plan,
)
from tools.demonstration.stage import NODE_TIMEOUT
from tools.demonstration.writes import Write, print_copies, print_times

#: bytes
SMALL = 4096
LARGE_FROM, LARGE_TO = 128 * 1024, 4 * 1024 * 1024
STRUCK_NODE = 2
SERVER, CONVERGER = 'object-server', 'object-converger'
#: seconds within which all devices hold what one has
PATIENCE = 60
#: objects of a kind that are written while a server does not answer
FEW = 6


@dataclass
class PrimaryRole(Act):
    """The third act."""

    plan: RolePlan = None
    copies: Copies = None

    @property
    def cluster(self):
        return self.stage.roles

    @property
    def policies(self):
        """Of writes at a quorum, and at the primary role."""
        return self.cluster.spec.policies

    @property
    def proar(self):
        return self.policies[-1]

    def run(self):
        self.start_cluster('A cluster with writes at a quorum and at primary '
                           'roles')
        self.copies = Copies(self.cluster, self.client.account)
        self.plan = make_role_plan(
            catalogue.choose(ROLE_FILES, max_size=SMALL),
            catalogue.choose(LARGE, max_size=LARGE_TO,
                             min_size=LARGE_FROM),
            [policy.name for policy in self.policies])
        self.watch_writes()
        self.stop_a_server()
        alone = self.die_after_acknowledgements()
        self.go_on(alone)
        self.converge()
        self.repair_stock()
        self.check_served()
        self.ask_for_lag()

    # How long a write takes, and how many copies there are then

    def watch_writes(self):
        self.show.scene('A write, and its copies')
        self.show.say('The same files to each policy, one at a time: the next '
                      'when all disks have the one before. All nodes share '
                      'the processors and the disk of this machine.')
        writes = {}
        for title, uploads in (
                ('up to %d bytes' % SMALL, self.plan.small),
                ('%d kB to %d MB' % (LARGE_FROM // 1024, LARGE_TO // 2 ** 20),
                 self.plan.large)):
            # Who comes second finds the file in memory.
            items = [item for number, pair in enumerate(zip(
                *uploads.values())) for item in pair[::(-1) ** number]]
            watched = self.each(self._watch, items, 'objects uploaded: '
                                + title, threads=1)
            for policy in self.policies:
                writes[title, policy.name] = [
                    write for (where, _), write in zip(items, watched)
                    if where.container == policy.name]
        print_times(self.show, writes)
        print_copies(self.show, writes, self.proar.replicas)

    def _watch(self, item):
        def all_there():
            number = len(self.copies.holders(where))
            seen.setdefault(number, time.monotonic() - end)
            return number == replicas

        begin = time.monotonic()
        where, self.expected[item[0]] = self.client.put(item)
        end, seen = time.monotonic(), {}
        replicas = self.cluster.spec.policy(where.container).replicas
        wait_until(all_there, PATIENCE, 'all devices hold %s' % where)
        return Write(end - begin, seen)

    # Who waits for whom

    def timed(self, items, what):
        """:returns: a list of the seconds that each of FEW uploads took"""
        def put(item):
            begin = time.monotonic()
            _, self.expected[item[0]] = self.client.put(item)
            return time.monotonic() - begin

        return self.each(put, items[:FEW], 'uploads: ' + what, threads=FEW)

    def stop_a_server(self):
        self.show.scene('The object-server of node %d does not answer'
                        % STRUCK_NODE)
        self.show.say('SIGSTOP: it takes connections, and nothing else. The '
                      'proxy waits for it for node_timeout, %g s here, before '
                      'it goes on.' % NODE_TIMEOUT)
        here, elsewhere = [], []
        for item in self.plan.held_up[self.proar.name]:
            device = self.copies.primary_role(item[0])
            (here if self.cluster.node_of(device) == STRUCK_NODE
             else elsewhere).append(item)
        self.signal(STRUCK_NODE, SERVER, SIGSTOP)
        try:
            times = {what: self.timed(items, what) for what, items in (
                ('stock', self.plan.held_up[self.policies[0].name]),
                ('proar, primary role elsewhere', elsewhere),
                ('proar, primary role there: fail-over', here))}
        finally:
            self.signal(STRUCK_NODE, SERVER, SIGCONT)
        self._judge_waiting(times)

    def _judge_waiting(self, times):
        stock, elsewhere, _ = times.values()
        self.show.lines('')
        self.show.table(['seconds', 'median', 'slowest'], [
            [what, '%.3f' % median(each), '%.3f' % max(each)]
            for what, each in times.items()])
        if not median(elsewhere) < NODE_TIMEOUT <= median(stock):
            raise DemoError(
                'a server did not answer: writes at a quorum took %.3f s, '
                'those of primary roles elsewhere %.3f, and only the first '
                'should take %g or more' % (
                    median(stock), median(elsewhere), NODE_TIMEOUT))

    # Who dies with what

    def die_after_acknowledgements(self):
        """:returns: ObjectNames that the node that died has alone"""
        self.show.scene('kill -9 right after the acknowledgements')
        self._kill(CONVERGER)
        self.show.say('First of the converger of node %d, so that nobody else '
                      'gets what its device takes.' % STRUCK_NODE)
        self.put(self.plan.last, 'objects uploaded to proar')
        self._kill(SERVER)
        mine = set(self.cluster.devices(STRUCK_NODE))
        last = [where for where, _ in self.plan.last]
        alone = [where for where in last
                 if self.copies.holders(where) <= mine]
        answers = dict(zip(last, self.each(
            self.client.status, last, 'objects asked for')))
        self._judge_answers(
            Counter(answers[where] for where in alone),
            Counter(answers[where] for where in set(last) - set(alone)))
        return alone

    def _kill(self, daemon):
        self.signal(STRUCK_NODE, daemon, SIGKILL)
        wait_until(lambda: not self.cluster.pids(STRUCK_NODE, daemon),
                   PATIENCE, 'the %s of node %d is dead' % (
                       daemon, STRUCK_NODE))

    def _judge_answers(self, alone, others):
        self.show.say(
            'The object-server was killed after the last acknowledgement. %d '
            'objects are on its disk only: GET answers 503, and never 404. '
            'The other %d are read from their own primary roles.'
            % (alone.total(), others.total()))
        if set(alone) != {503} or set(others) != {200}:
            raise DemoError(
                'node %d is dead: GET of objects that it has alone should be '
                'answered with 503, and is with %s; of others with 200, and '
                'is with %s' % (STRUCK_NODE, dict(alone), dict(others)))

    def go_on(self, alone):
        """
        :param alone: ObjectNames that the node that died has alone
        """
        self.show.scene('Users go on')
        some = len(alone) // 3
        overwrites = [(where, local) for where, (_, local) in zip(
            alone[:some], self.plan.later)]
        self.put(overwrites, 'of them overwritten')
        self.delete(alone[some:2 * some], 'of them deleted')
        self.put(self.plan.later, 'objects added')

    def converge(self):
        self.show.scene('Node %d is back' % STRUCK_NODE)
        begin = time.monotonic()
        self.cluster.swift_init('%s.%d' % (SERVER, STRUCK_NODE),
                                '%s.%d' % (CONVERGER, STRUCK_NODE), 'start')
        wait_until(self._has_converged, PATIENCE,
                   'all devices hold the newest of each object')
        self.show.say('%.1f s after its servers were started, all devices '
                      'hold the newest of each object. No object-replicator '
                      'has run.' % (time.monotonic() - begin))
        self.require_equal(self.cluster, self.look(self.cluster, self.proar),
                           'when all had converged')

    def _has_converged(self):
        return all(len(self.copies.holders(where)) == self.proar.replicas
                   for where in self.expected
                   if where.container == self.proar.name)

    def repair_stock(self):
        self.show.scene('What it has missed of the policy stock')
        self.replicate_until_equal(self.cluster)

    def ask_for_lag(self):
        self.show.scene('swift-proar-lag')
        self.show.lines(
            '', *self.cluster.run(['swift-proar-lag']).stdout.splitlines())

    def to_look_at(self):
        cluster = self.cluster
        device = cluster.device_path(1, cluster.devices(1)[0])
        return (
            '# what primary roles hold that other devices lack',
            '%s run swift-proar-lag' % saio(cluster),
            '', '# their logs, which go when all devices hold all',
            'ls -l %s/proar*' % device)
