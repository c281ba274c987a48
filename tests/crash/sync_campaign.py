# SPDX-License-Identifier: Apache-2.0
"""Campaigns against the journal and what is kept between passes.

    python -m tests.crash.sync_campaign life [--seed N] [--rounds N]

In each round objects are written, by our servers and behind them, while
daemons die at a step by chance, and a disk is emptied or restored as it was in
an earlier round. Then nothing differs longer than PROTOCOL.md says.
"""

import random

from tests.crash.campaigns import main
from tests.crash.sync_world import NODES, SyncWorld

#: Events of a round.
LEAST, MOST = 5, 10
#: Objects that are written at a time.
BATCH = 12
#: The last step at which a daemon is killed.
STEPS = 400
DAEMONS = ('object-lightsync', 'object-server', 'replication-server',
           'rsync')


def served(world, chance):
    """Our object-servers store and delete objects."""
    for name in chance.sample(world.names, BATCH):
        world.serve(name, delete=chance.random() < 0.3)


def behind(world, chance):
    """Somebody who knows of no journal stores and deletes objects."""
    for name in chance.sample(world.names, BATCH):
        world.write_behind(name, delete=chance.random() < 0.3)


def die(world, chance):
    """A daemon dies at one of its next steps."""
    world.kill_at_step(chance.choice(DAEMONS), chance.choice(NODES),
                       chance.randint(1, STEPS))


def fall(world, chance):
    """All of a node dies, and comes back."""
    world.kill_node(chance.choice(NODES))
    world.recover()


def go_on(world, chance):
    """A node makes a pass, or all are seen to and make one."""
    world.recover()
    world.await_passes(1, [chance.choice(NODES)])


EVENTS = (served, served, behind, behind, die, die, die, fall, go_on)


def damage(world, chance):
    """A disk becomes as it was when a copy was made, or an empty one."""
    world.release()
    device = chance.choice(sorted(world.cluster.device_paths()))
    if chance.random() < 0.5:
        world.copies.pop(device, None)
    world.restore(device)


def life(root, args):
    """Play rounds of a seed; return what was played."""
    chance = random.Random(args.seed)
    played = []
    with SyncWorld(chance) as world:
        world.check()
        for _ in range(args.rounds):
            world.keep(chance.choice(sorted(world.cluster.device_paths())))
            events = [chance.choice(EVENTS)
                      for _ in range(chance.randint(LEAST, MOST))]
            if chance.random() < 0.7:
                events.insert(chance.randrange(len(events)), damage)
            played.append([event.__name__ for event in events])
            try:
                for event in events:
                    event(world, chance)
                # Nobody begins anew after this: only the scrub can find it.
                world.recover()
                world.await_passes(2)
                behind(world, chance)
                world.check()
            except AssertionError as err:
                raise AssertionError('seed %d, %s: %s' % (
                    args.seed, played, err)) from err
    return 'seed %d, %d events' % (args.seed, sum(map(len, played)))


if __name__ == '__main__':
    main('tests.crash.sync_campaign', {'life': life}, rounds=3)
