# SPDX-License-Identifier: Apache-2.0
"""The scenarios of ``bench sync``, and the steps that they consist of.

A step is a method of :class:`Steps`; its name in the table has no underscore.
``python -m tools.benchmarks.sync_steps`` runs where object-servers can be
reached, and has them write; standard input has a JSON list of the arguments of
``put``.
"""

import json
import math
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swift.common.direct_client import direct_put_object

from tools import ToolError
from tools.benchmarks.measure import drop_caches
from tools.benchmarks.sync_data import empty

if TYPE_CHECKING:
    from tools.benchmarks.sync_trial import Trial

#: Partitions of a node that ``touch`` changes.
TOUCHED = 10
#: Seconds that one write may take.
TIMEOUT = 60
#: Processes that ``load`` starts for each processor.
LOAD = 4
#: Passes in five minutes, in which one turn of full comparisons falls.
FIVE_MINUTES, PASS_INTERVAL = 10, 30


@dataclass(frozen=True)
class Scenario:
    """What happens before the passes that are measured; LightSync §3 and §6
    measure such states.

    :param steps: in order: names of steps, of kinds of ``DataSet.changes``
    :param follows: whether passes follow each other, as a daemon's do
    :param passes: (least, most) passes; the last is the one after which all
        replicas are equal
    :param seconds: that pass, for the replicator, between two passes
    """
    steps: tuple[str, ...] = ()
    follows: bool = False
    passes: tuple[int, int] = (1, 10)
    seconds: int = 0


SCENARIOS = {
    'stable': Scenario(),
    'create': Scenario(('create',)),
    'delete': Scenario(('delete',)),
    'dead-refused': Scenario(('kill',)),
    'dead-silent': Scenario(('partition',)),
    'rejoin': Scenario(('kill', 'rewrite', 'replicate', 'return')),
    'changes': Scenario(('replicate', 'replicate', 'touch'), follows=True),
    'day': Scenario(('replicate',) * 2, True,
                    (FIVE_MINUTES, FIVE_MINUTES), PASS_INTERVAL),
    'cold': Scenario(('forget',)),
    'busy': Scenario(('load',)),
    'rsync-silent': Scenario(('mute', 'create'), passes=(2, 2)),
    'one-copy': Scenario(('single',)),
    'refill': Scenario(('empty',)),
    'rebalance': Scenario(('displace',))}
#: Those that take a few minutes.
USUAL = tuple(SCENARIOS)[:7]


class Steps:
    """The steps of a trial.

    :param trial: the trial, whose replicators run
    """

    def __init__(self, trial: 'Trial') -> None:
        self._trial = trial
        self._cluster = trial.contestant.cluster
        #: Ends what a step began.
        self._undo = ExitStack()

    def do(self, step: str) -> None:
        """Do a step."""
        getattr(self, '_' + step, lambda: self._change(step))()

    def end(self) -> None:
        """End what the steps have begun: a node that is lost comes back."""
        self._undo.close()

    def _change(self, kind: str) -> None:
        trial = self._trial
        paths = trial.paths()
        writes = trial.data_set.changes(
            kind, trial.seed, trial.storage.devices_of, paths)
        trial.storage.write(
            writes, lambda device: os.path.dirname(paths[device]))
        trial.expect(each for each, _ in writes)

    def _lose(self, lose: Callable[[int], object],
              bring_back: Callable[[int], object]) -> None:
        # The last node, and its replicator.
        node = self._trial.live.pop()
        self._trial.contestant.probes.stop([node])
        lose(node)
        self._undo.callback(bring_back, node)

    def _kill(self) -> None:
        """The ports of a node refuse connections."""
        self._lose(self._cluster.kill, self._cluster.start)

    def _partition(self) -> None:
        """A node is silent."""
        self._lose(self._cluster.partition, self._cluster.heal)

    def _return(self) -> None:
        self.end()
        missing, = set(self._trial.contestant.nodes) - set(self._trial.live)
        self._trial.contestant.probes.start([missing])
        self._trial.live.append(missing)

    def _replicate(self) -> None:
        self._trial.replicate()

    def _touch(self) -> None:
        """Overwrite objects by the servers of all their replicas."""
        trial = self._trial
        versions = trial.data_set.overwrites(trial.seed, math.ceil(
            TOUCHED * len(trial.live) / trial.storage.replicas))
        write(self._cluster, [each for version in versions
                              for each in trial.storage.puts(version)])
        trial.expect(versions)

    def _forget(self) -> None:
        drop_caches()

    def _load(self) -> None:
        for _ in range(LOAD * (os.cpu_count() or 1)):
            process = subprocess.Popen([sys.executable, '-c',
                                        'while True: pass'])
            self._undo.callback(process.wait)
            self._undo.callback(process.kill)

    def _mute(self) -> None:
        """The rsync server of a node takes connections, and says nothing."""
        for pid in self._cluster.pids(self._trial.live[-1], 'rsync'):
            os.kill(pid, signal.SIGSTOP)
            self._undo.callback(os.kill, pid, signal.SIGCONT)

    def _empty(self) -> None:
        """A node gets new disks."""
        for path in self._cluster.device_paths(self._trial.live[-1]).values():
            empty(path)

    def _displace(self) -> None:
        """What a node holds lies elsewhere: the ring has gained the node."""
        trial = self._trial
        chance = random.Random(trial.seed)
        own = self._cluster.device_paths(trial.live[-1])
        others = {device: path for device, path in trial.paths().items()
                  if device not in own}
        for path in own.values():
            for partition in filter(str.isdecimal, sorted(os.listdir(
                    os.path.join(path, 'objects')))):
                free = sorted(set(others) - trial.storage.holders(
                    int(partition)))
                if not free:
                    raise ToolError('no device is free for a hand-off of '
                                    'partition %s; more --nodes than '
                                    '--replicas are needed' % partition)
                os.rename(os.path.join(path, 'objects', partition),
                          os.path.join(others[chance.choice(free)],
                                       'objects', partition))


def put(node: dict[str, Any], path: list[Any], timestamp: str,
        size: int) -> None:
    """Write an object to one device.

    :param node: the device, as the ring names it
    :param path: partition, account, container, object
    :param timestamp: of the object, as Swift writes it
    :param size: bytes
    :raises ClientException: if the server does not take it
    """
    direct_put_object(node, *path, [bytes(size)], size,
                      content_type='application/octet-stream',
                      headers={'X-Timestamp': timestamp},
                      response_timeout=TIMEOUT)


def write(cluster: Any, writes: Iterable[tuple[Any, ...]]) -> None:
    """Have ``put`` called with each of the arguments, among the nodes."""
    subprocess.run(cluster.network.command(
        None, [sys.executable, '-m', __name__]), check=True,
        input=json.dumps(list(writes)).encode('ascii'),
        env=cluster.environment())


if __name__ == '__main__':
    for arguments in json.load(sys.stdin):
        put(*arguments)
