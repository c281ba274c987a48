# SPDX-License-Identifier: Apache-2.0
"""
The third act: what PROAR does for who waits for writes, and what it risks.

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

from tools.cluster.processes import wait_until
from tools.demonstration.act import Act
from tools.demonstration.errors import DemoError
from tools.demonstration.stage import NODE_TIMEOUT
from tools.demonstration.users import ObjectName, Upload, choose

#: bytes
SMALL = 4096
LARGE_FROM, LARGE_TO = 128 * 1024, 4 * 1024 * 1024
STRUCK_NODE = 2
SERVER, CONVERGER = 'object-server', 'object-converger'
#: seconds within which all devices hold what one has
PATIENCE = 120
#: how many files are for what; FEW are written while a server hangs
WATCHED, LARGE, HELD_UP, LAST, LATER, FEW = 40, 12, 48, 90, 45, 6


class Write(NamedTuple):
    """
    An upload that was watched.

    :param seconds: until it was acknowledged
    :param copies: how many there were then
    :param until_all: seconds from then until all devices held it
    """

    seconds: float
    copies: int
    until_all: float


def _percentile(values: list[float], percent: int) -> float:
    """Return what so many of the values do not exceed."""
    return sorted(values)[(len(values) * percent - 1) // 100]


class PrimaryRole(Act):
    """The third act."""

    title = 'Writes at a quorum and at the primary role (PROAR)'
    cluster_name = 'roles'

    def run(self) -> str:
        self.stock, self.proar = self.policies
        self.start_cluster()
        small = choose(WATCHED + HELD_UP + LAST + LATER, high=SMALL)
        large = choose(LARGE, LARGE_FROM, LARGE_TO)
        self.watch_writes('up to %d bytes' % SMALL,
                          self.to_each(small[:WATCHED]))
        self.watch_writes('%d kB to %d MB' % (
            LARGE_FROM // 1024, LARGE_TO // 2 ** 20), self.to_each(large))
        rest = small[WATCHED:]
        waited = self.stop_a_server(self.to_each(rest[:HELD_UP]))
        last = self.to_each(rest[HELD_UP:])[self.proar.name]
        alone = self.die_after_acknowledgements(last[:LAST])
        self.go_on(alone, last[LAST:])
        seconds = self.converge()
        self.show.scene('What it has missed of the policy stock')
        self.replicate_until_equal(self.cluster)
        self.check_served()
        self.show.scene('swift-proar-lag')
        self.show.lines(
            *self.cluster.run(['swift-proar-lag']).stdout.splitlines())
        return ('A hung server held up writes at a quorum for %.1f s, others '
                'for %.2f s. %d objects that only a killed server had were '
                'never answered with 404 and were on all disks %.1f s after '
                'its return.' % (*waited, len(alone), seconds))

    # How long a write takes, and how many copies there are then

    def watch_writes(self, title: str, uploads: dict[str, list[Upload]]
                     ) -> None:
        self.show.scene('Writes of %s, one at a time' % title)
        # Who comes second finds the file in memory: they take turns.
        items = [item for number, pair in enumerate(zip(*uploads.values()))
                 for item in pair[::(-1) ** number]]
        watched = self.each(self._watch, items, 'objects uploaded', threads=1)
        found: dict[str, list[Write]] = {name: [] for name in uploads}
        for (where, _), write in zip(items, watched):
            found[where.container].append(write)
        rows = []
        for name, form, measure in (
                ('acknowledged after, ms, median', '%.1f',
                 lambda all_: 1000 * median(each.seconds for each in all_)),
                ('  95 %', '%.1f', lambda all_: 1000 * _percentile(
                    [each.seconds for each in all_], 95)),
                ('copies on the disks then, median', '%d',
                 lambda all_: median(each.copies for each in all_)),
                ('all copies there after, ms more, median', '%.1f',
                 lambda all_: 1000 * median(
                     each.until_all for each in all_))):
            rows.append([name, *(form % measure(found[policy.name])
                                 for policy in self.policies)])
        self.show.table(['', *found], rows)
        if float(rows[0][2]) > 0.9 * float(rows[0][1]):
            self.show.say(
                'No gain to speak of: all servers share the %d cores and the '
                'disk of this machine, so the copies that nobody waits for '
                'slow down the one that counts.' % (os.cpu_count() or 1))

    def _put(self, item: Upload) -> float:
        """Upload; return the seconds until it was acknowledged."""
        begin = time.monotonic()
        where, self.expected[item[0]] = self.user.put(item)
        return time.monotonic() - begin

    def _watch(self, item: Upload) -> Write:
        seconds = self._put(item)
        begin = time.monotonic()
        copies = len(self.copies.holders(item[0]))
        replicas = self.cluster.spec.policy(item[0].container).replicas
        wait_until(lambda: len(self.copies.holders(item[0])) == replicas,
                   PATIENCE, 'all devices hold %s' % item[0])
        return Write(seconds, copies, time.monotonic() - begin)

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
            device = self.copies.primary_role(item[0])
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
            raise DemoError(
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
        names = [where for where, _ in items]
        alone = [where for where in names
                 if self.copies.holders(where) <= mine]
        answers = dict(zip(names, self.each(
            lambda where: self.user.read(where)[0], names,
            'objects asked for')))
        of_alone = Counter(answers.pop(where) for where in alone)
        others = Counter(answers.values())
        self.show.say(
            'The object-server was killed after the last acknowledgement. %d '
            'objects are on its disk only: GET answers 503, and never 404. '
            'The other %d are read from their own primary roles.'
            % (len(alone), len(answers)))
        if set(of_alone) != {503} or set(others) != {200}:
            raise DemoError(
                'node %d is dead: GET of objects that it has alone should be '
                'answered with 503, and is with %s; of others with 200, and '
                'is with %s' % (STRUCK_NODE, dict(of_alone), dict(others)))
        return alone

    def go_on(self, alone: list[ObjectName], later: list[Upload]) -> None:
        self.show.scene('Users go on')
        some = len(alone) // 3
        self.put([(where, local) for where, (_, local) in zip(
            alone[:some], later)], 'of them overwritten')
        self.delete(alone[some:2 * some], 'of them deleted')
        self.put(later, 'objects added')

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
        return ('# what primary roles hold that other devices lack',
                self.saio('run swift-proar-lag'))
