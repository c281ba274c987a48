# SPDX-License-Identifier: Apache-2.0
"""The third act: what PROAR does for who waits for writes, and what it risks.

The same objects are written at a quorum and to their primary roles: all nodes
well, then one that does not answer. Then a primary role dies right after it
has acknowledged what nobody else has yet.
"""

import os
import time
from collections import Counter
from signal import SIGCONT, SIGKILL, SIGSTOP
from statistics import median
from typing import NamedTuple

from tools import ToolError
from tools.cluster.processes import wait_until
from tools.demonstration.act import Act
from tools.demonstration.stage import NODE_TIMEOUT
from tools.demonstration.users import ObjectName, Upload

#: size -> least and most bytes
SIZES = {'up to 4 kB': (1, 4096), '1 MB to 4 MB': (2 ** 20, 2 ** 22)}
STRUCK_NODE = 2
SERVER, CONVERGER = 'object-server', 'object-converger'
#: seconds within which all devices hold what one has
PATIENCE = 120
#: how many objects are for what; FEW are written while a server hangs
WATCHED, HELD_UP, FEW, LAST = 24, 48, 6, 90


class Write(NamedTuple):
    """An upload that was watched.

    :param ms: milliseconds until it was acknowledged
    :param copies: how many there were then
    :param ms_until_all: from then until all devices held it
    """

    ms: float
    copies: int
    ms_until_all: float


class PrimaryRole(Act):
    """The third act."""

    title = 'Writes at a quorum and at the primary role (PROAR)'
    cluster_name = 'roles'

    def run(self) -> str:
        self.stock, self.proar = self.policies
        self.start_cluster()
        self.watch_writes()
        waited = self.stop_a_server(self.to_each('held up', HELD_UP))
        alone = self.die_after_acknowledgements(
            self.uploads(self.proar.name, 'last', LAST))
        self.go_on(alone)
        seconds = self.converge()
        self.show.scene('What it has missed of the policy stock')
        self.replicate_until_equal(self.cluster)
        self.check_served()
        self.show.say(self.cluster.run(['swift-proar-lag']).stdout)
        self.show.say('%d objects that only a killed server had were on all '
                      'disks %.1f s after its return.' % (
                          len(alone), seconds))
        return ('a hung server held up stock writes %.1f s, others %.2f s; '
                'none lost' % waited)

    # How long a write takes, and how many copies there are then

    def watch_writes(self) -> None:
        self.show.scene('A write, and its copies')
        rows, gains = [], []
        for size, sizes in SIZES.items():
            # Policies take turns: none is always the first.
            items = [item for pair in zip(*self.to_each(
                size, WATCHED, *sizes).values()) for item in pair]
            watched = self.each(self._watch, items, 'objects uploaded, one '
                                'at a time, ' + size, threads=1)
            medians = []
            for number, policy in enumerate(self.policies):
                writes = [list(each) for each in zip(*watched[number::2])]
                medians.append(median(writes[0]))
                rows.append(['%s, %s' % (policy.name, size),
                             '%.0f' % medians[-1], '%.0f' % max(writes[0]),
                             '%d' % median(writes[1]),
                             '%.0f' % median(writes[2])])
            gains.append(medians[1] < 0.9 * medians[0])
        self.show.table(['', 'ms to acknowledge', 'slowest', 'copies then',
                         'all after, ms'], rows)
        if not all(gains):
            self.show.say(
                'No gain to speak of: all servers share the %d cores and the '
                'disk of this machine, so the copies that nobody waits for '
                'slow down the one that counts.' % (os.cpu_count() or 1))

    def _put(self, item: Upload) -> float:
        """Upload; return the seconds until it was acknowledged."""
        begin = time.monotonic()
        where, self.expected[item.where] = self.user.put(item)
        return time.monotonic() - begin

    def _watch(self, item: Upload) -> Write:
        seconds = self._put(item)
        begin = time.monotonic()
        copies = len(self.copies.holders(item.where))
        replicas = self.copies.policy(item.where).replicas
        wait_until(lambda: len(self.copies.holders(item.where)) == replicas,
                   PATIENCE, 'all devices hold %s' % item.where)
        return Write(1000 * seconds, copies,
                     1000 * (time.monotonic() - begin))

    # Who waits for whom

    def stop_a_server(self, uploads: dict[str, list[Upload]]
                      ) -> tuple[float, float]:
        """Return the seconds that writes took: at a quorum, and elsewhere."""
        self.show.scene('The object-server of node %d does not answer'
                        % STRUCK_NODE)
        self.show.say('SIGSTOP: it takes connections, and nothing else. The '
                      'proxy waits for it for node_timeout, %g s here, before '
                      'it goes on.' % NODE_TIMEOUT)
        here: list[Upload] = []
        elsewhere: list[Upload] = []
        for item in uploads[self.proar.name]:
            device = self.copies.primary_role(item.where)
            (here if self.cluster.node_of(device) == STRUCK_NODE
             else elsewhere).append(item)
        self.signal(STRUCK_NODE, SERVER, SIGSTOP)
        try:
            times = {what: self.each(self._put, items[:FEW], 'uploads: '
                                     + what, threads=FEW)
                     for what, items in (
                         ('stock', uploads[self.stock.name]),
                         ('proar, primary role elsewhere', elsewhere),
                         ('proar, primary role there: fail-over', here))}
        finally:
            self.signal(STRUCK_NODE, SERVER, SIGCONT)
        return self.judge_waiting(times)

    def judge_waiting(self, times: dict[str, list[float]]
                      ) -> tuple[float, float]:
        self.show.table(['seconds', 'median', 'slowest'], [
            [what, '%.3f' % median(each), '%.3f' % max(each)]
            for what, each in times.items()])
        stock, elsewhere, _ = map(median, times.values())
        if not elsewhere < NODE_TIMEOUT <= stock:
            raise ToolError(
                'a server did not answer: writes at a quorum took %.3f s, '
                'those of primary roles elsewhere %.3f, and only the first '
                'should take %g or more' % (stock, elsewhere, NODE_TIMEOUT))
        return stock, elsewhere

    # Who dies with what

    def _kill(self, daemon: str) -> None:
        self.signal(STRUCK_NODE, daemon, SIGKILL)
        wait_until(lambda: not self.cluster.pids(STRUCK_NODE, daemon),
                   PATIENCE, 'the %s of node %d is dead' % (
                       daemon, STRUCK_NODE))

    def die_after_acknowledgements(self, items: list[Upload]
                                   ) -> list[ObjectName]:
        """Return what the node that died has alone."""
        self.show.scene('kill -9 right after the acknowledgements')
        self._kill(CONVERGER)
        self.show.say('First of the converger of node %d, so that nobody else '
                      'gets what its device takes.' % STRUCK_NODE)
        self.put(items, 'objects uploaded to proar')
        self._kill(SERVER)
        mine = set(self.cluster.devices(STRUCK_NODE))
        alone = [item.where for item in items
                 if self.copies.holders(item.where) <= mine]
        others = [item.where for item in items if item.where not in alone]
        answers = [Counter(self.each(
            lambda where: self.user.read(where)[0], names,
            'objects asked for')) for names in (alone, others)]
        self.show.say(
            'The object-server was killed after the last acknowledgement. %d '
            'objects are on its disk only: GET answers 503, and never 404. '
            'The other %d are read from their own primary roles.'
            % (len(alone), len(others)))
        if [set(each) for each in answers] != [{503}, {200}]:
            raise ToolError(
                'node %d is dead: GET of objects that it has alone should be '
                'answered with 503, and is with %s; of others with 200, and '
                'is with %s' % (STRUCK_NODE, dict(answers[0]),
                                dict(answers[1])))
        return alone

    def go_on(self, alone: list[ObjectName]) -> None:
        self.show.scene('Users go on')
        some = len(alone) // 3
        self.put([Upload(where, 'other ' + where.name)
                  for where in alone[:some]], 'of them overwritten')
        self.delete(alone[some:2 * some])
        self.put(self.uploads(self.proar.name, 'later', LAST // 2),
                 'objects added')

    def converge(self) -> float:
        """Return the seconds until all devices held the newest of all."""
        self.show.scene('Node %d is back' % STRUCK_NODE)
        begin = time.monotonic()
        with self.show.doing('until all devices hold the newest'):
            self.cluster.swift_init('%s.%d' % (SERVER, STRUCK_NODE),
                                    '%s.%d' % (CONVERGER, STRUCK_NODE),
                                    'start')
            wait_until(self._has_converged, PATIENCE,
                       'all devices hold the newest of each object')
        seconds = time.monotonic() - begin
        self.show.say('No object-replicator has run.')
        self.require_equal(self.look(self.cluster, self.proar),
                           'when all had converged')
        return seconds

    def _has_converged(self) -> bool:
        return all(len(self.copies.holders(where)) == self.proar.replicas
                   for where in self.expected
                   if where.container == self.proar.name)

    def to_look_at(self) -> tuple[str, ...]:
        return self.shell('swift-proar-lag')
