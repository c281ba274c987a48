# SPDX-License-Identifier: Apache-2.0
"""Scenarios: the events in a cluster before, while and after its rounds are
measured.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

from tools.simulation.network import Reach
from tools.simulation.world import World

#: Seconds that a flapping node is up, and down.
FLAP = 20.0
#: How many times as long as others a slow node takes.
SLOW = 50.0
#: The part of the partitions that a new ring moves a replica of.
MOVED = 0.2
#: Probability of a loss where none is given.
LOSS = 0.05
#: How many of the replicas a write reaches.
COPIES = {'all': lambda replicas: replicas,
          'quorum': lambda replicas: replicas // 2 + 1,
          'one': lambda replicas: 1}


@dataclass(frozen=True)
class Writes:
    """The writes of a scenario.

    :param fraction: of the objects that is created, deleted or modified
    :param copies: a key of COPIES
    """
    fraction: float = 0.1
    copies: str = 'quorum'

    def write(self, world, new=False, delete=False, reached=None):
        """Write to each partition.

        :param new: whether the objects did not exist before
        :param delete: whether they are deleted
        :param reached: a function of a partition's nodes that returns those
            that writes can reach
        """
        objects = world.settings.objects
        version = 1 + int(world.events.now)
        for partition, row in enumerate(world.placement.rows):
            able = [node for node in (reached(row) if reached else row)
                    if node not in world.network.down]
            for suffix in range(objects):
                if world.rng.random() >= self.fraction:
                    continue
                most = COPIES[self.copies](len(row))
                world.disks.write(
                    partition, suffix + objects * new, version,
                    world.rng.sample(able, min(most, len(able))), delete)


def _halves(world):
    nodes = range(world.settings.nodes)
    middle = len(nodes) // 2
    return nodes[:middle], nodes[middle:]


def _split(world, writes):
    disks = world.settings.disks
    halves = [range(half.start * disks, half.stop * disks)
              for half in _halves(world)]
    world.network.cut(*halves)
    world.network.cut(*reversed(halves))

    def on_one_side(row):
        half = world.rng.choice(halves)
        return [node for node in row if node in half] or list(row)

    writes.write(world, reached=on_one_side)


def _flap(world, writes):
    def flapping():
        while world.flapping:
            world.crash(0)
            yield FLAP
            world.restart(0)
            yield FLAP

    world.flapping = True
    world.events.spawn(flapping())
    writes.write(world)


def _still(world):
    world.flapping = False
    world.restart(0)


def _rejoin(world, writes, absent=1):
    for number in range(absent):
        world.crash(number)
    writes.write(world)
    for number in range(absent):
        world.restart(number)


def _rejoin_minority(world, writes):
    _rejoin(world, writes, (world.settings.replicas - 1) // 2)


def _unmount(world, writes):
    writes.write(world)
    world.unmount(0)


def _replace_disk(world, writes):
    _unmount(world, writes)
    world.mount(0, empty=True)


def _slow_down(world, writes):
    world.network.slow[0] = SLOW
    writes.write(world)


def _hang(world, writes):
    world.network.slow[0] = math.inf
    writes.write(world)


def _speed_up(world):
    world.network.slow.clear()


def _change_ring(world, writes):
    writes.write(world)
    world.rebalance(MOVED)
    # Operators push rings node by node.
    world.deliver_ring(_halves(world)[0])


def _deliver_ring(world):
    world.deliver_ring(range(world.settings.nodes))


def _lose(world, writes):
    world.network.loss = world.settings.loss or LOSS
    writes.write(world)


def _lose_none(world):
    world.network.loss = world.settings.loss


def _nothing(world, *_):
    pass


@dataclass(frozen=True)
class Scenario:
    """A change of a cluster, and perhaps trouble that ends later.

    :param begin: a function of the world and the Writes
    :param trouble: rounds until the trouble ends
    :param end: a function of the world that ends it
    """
    begin: Callable
    trouble: int = 0
    end: Callable = _nothing


SCENARIOS = {
    'stable': Scenario(_nothing),
    'create': Scenario(lambda world, writes: writes.write(world, new=True)),
    'delete': Scenario(lambda world, writes: writes.write(
        world, delete=True)),
    'dead': Scenario(lambda world, writes: world.crash(0)),
    'dead-refused': Scenario(
        lambda world, writes: world.crash(0, Reach.REFUSED)),
    'rejoin': Scenario(_rejoin),
    'rejoin-minority': Scenario(_rejoin_minority),
    'flap': Scenario(_flap, 3, _still),
    'unmounted': Scenario(_unmount),
    'new-disk': Scenario(_replace_disk),
    'slow': Scenario(_slow_down, 2, _speed_up),
    'hanging': Scenario(_hang, 2, _speed_up),
    'ring-change': Scenario(_change_ring, 1, _deliver_ring),
    'partition': Scenario(_split, 2, lambda world: world.network.heal()),
    'loss': Scenario(_lose, 2, _lose_none),
}


@dataclass(frozen=True)
class Outcome:
    """The result of a scenario.

    :param rounds: rounds until all live replicas were equal, or None if they
        did not become so
    :param results: a RoundResult for each round, one at least
    """
    scenario: str
    protocol: str
    seed: int
    rounds: int
    results: tuple

    @property
    def first(self):
        """The first round after the change."""
        return self.results[0]

    def as_dict(self):
        return dict(asdict(self), messages_per_node=self.first.messages,
                    bytes_per_node=self.first.bytes)


def play(settings, name, writes=Writes(), most=12):
    """Run a scenario: one round that does not count, the change, then rounds
    until all replicas are equal.

    :param settings: :class:`Settings`
    :param name: a key of SCENARIOS
    :param most: rounds after the trouble, at most
    :returns: an :class:`Outcome`
    """
    scenario = SCENARIOS[name]
    world = World(settings)
    world.run_round()
    scenario.begin(world, writes)
    equal_after = None if world.differing() else 0
    results = []
    for number in range(scenario.trouble + most):
        if number == scenario.trouble:
            scenario.end(world)
        results.append(world.run_round())
        if results[-1].differing:
            equal_after = None
        elif equal_after is None:
            equal_after = number + 1
        if number >= scenario.trouble and equal_after is not None:
            break
    return Outcome(name, settings.protocol, settings.seed, equal_after,
                   tuple(results))
