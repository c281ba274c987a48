# SPDX-License-Identifier: Apache-2.0
"""Kills, cuts and damage, one after the other, by the hundred.

    python -m tests.crash.losf_campaign CAMPAIGN [--seed N] [--rounds N]

Prints how many it was. A process of its own, since it forks all the time.
"""

import itertools
import os
import random
import shutil
import signal

from swift_losf.errors import IndexUnavailable
from swift_losf.index.db import Change
from swift_losf.index.index_client import IndexClient
from swift_losf.index.mover import Mover
from swift_losf.upkeep import sweeper
from tests.crash.campaigns import main
from tests.crash.losf_conversions import conversions
from tests.crash.losf_damage import bit_flips, older_indexes, torn_tails
from tests.crash.losf_power import power_cuts
from tests.crash.losf_steps import Steps, kill_other
from tests.crash.losf_traffic import BEFORE, histories, make, many_changes
from tests.crash.losf_world import World

COMPLETE = 3


def arm(steps, objects):
    """Count all that an object-server does with disk and index."""
    steps.around_disk()
    steps.around(IndexClient, '_call')
    steps.around(objects.manager, 'invalidate_hash')


def change_once(name, before, change, fatal, fate):
    """:returns: what a child does: a history, and death in its last part"""
    def work(objects):
        make(objects, name, BEFORE[before])
        steps = Steps(fatal, *fate)
        arm(steps, objects)
        try:
            make(objects, name, [change])
        except IndexUnavailable:
            return
        if steps.count < fatal:
            os._exit(COMPLETE)
    return work


def steps_of(before, change):
    """:returns: a question: how many steps the last part of a history has"""
    def count(objects):
        name = '%s on %s, undisturbed' % (change, before)
        make(objects, name, BEFORE[before])
        steps = Steps(0)
        arm(steps, objects)
        make(objects, name, [change])
        return steps.count
    return count


def killed_at_steps(world, steps, run, fate, status):
    """One of the servers is killed at each step of the object-server.

    :param steps: a function of (what was there before, change) that returns
        at which, in vain once there are no more
    :param run: a method of World that runs it
    :param fate: a function that returns the arguments of Steps that say so
    :param status: how the object-server ends
    :returns: how many steps there are
    """
    points = 0
    world.start_server()
    for before, change in histories():
        names = []
        for fatal in steps(before, change):
            name = '%s on %s, %d' % (change, before, fatal)
            names.append(name)
            found = run(change_once(name, before, change, fatal, fate()))
            if found == COMPLETE:
                break
            assert found == status, found
            points += 1
        world.check(names)
    after_all(world)
    return points


def killed_writers(world, args):
    """The object-server is killed at each of its steps."""
    return killed_at_steps(
        world, lambda before, change: itertools.count(1, args.stride),
        world.run, tuple, -signal.SIGKILL)


def killed_servers(world, args):
    """The index server is killed at each step of the object-server, which
    waits for the next one, but for what it was being asked.
    """
    def steps(before, change):
        # Its changes succeed, and fill volumes, each of which adds some.
        return range(1, 2 * world.ask(steps_of(before, change)), args.stride)
    return killed_at_steps(world, steps, world.run_through, lambda: (
        kill_other(world.server.pid),), 0)


def all_changes(objects):
    """Each history, on objects of its own; refusals do not count."""
    for before, change in histories():
        name = '%s on %s by %d' % (change, before, os.getpid())
        try:
            make(objects, name, [*BEFORE[before], change])
        except IndexUnavailable:
            pass


def killed_server_steps(world, args):
    """The index server is killed at each of its own steps, and each tenth time
    while it makes its index anew.
    """
    for number in range(1, args.rounds + 1):
        anew = number % 10 == 0
        if anew:
            shutil.rmtree(world.layout.index, ignore_errors=True)

        def prepare():
            steps = Steps(1 + (number - 1) * args.stride)
            steps.around_disk()
            steps.around(Change, 'write')
            steps.around(sweeper, 'punch_hole')
            steps.around(Mover, 'move')
        if world.try_server(prepare):
            world.run_through(all_changes)
        world.restart_server()
        if anew:
            world.check()
        world.stop_server()
    world.start_server()
    after_all(world)
    return args.rounds


def killed_in_traffic(world, args):
    """Object-server or index server are killed amid concurrent changes."""
    chance = random.Random(args.seed)
    for number in range(args.rounds):
        world.start_server()
        seed = args.seed + number
        if number % 2:
            fatal = chance.randrange(1, 3000)

            def work(objects):
                arm(Steps(fatal), objects)
                many_changes(seed, 50)(objects)
            world.run(work)
        else:
            kill_servers_amid(world, many_changes(seed, 8), chance)
        world.stop_server(signal.SIGKILL)
        if number % 4 == 3:
            world.serve_and_check()
    world.start_server()
    after_all(world)
    return args.rounds


def two_writers(world, args):
    """Of two object-servers that change objects of a device one is killed."""
    chance = random.Random(args.seed)
    for number in range(args.rounds):
        world.start_server()
        killed, other = (
            world.begin(many_changes(args.seed + 2 * number + each, 8))
            for each in range(2))
        left = chance.randrange(1, 100)
        for message in killed.messages():
            world.note(*message)
            left -= 1
            if not left:
                killed.kill()
        assert killed.wait() in (0, -signal.SIGKILL)
        assert not world.follow(other)
        world.check()
        world.stop_server(chance.choice((signal.SIGTERM, signal.SIGKILL)))
    world.start_server()
    after_all(world)
    return args.rounds


def kill_servers_amid(world, work, chance):
    """Kill the index server now and then, until the work is done."""
    child = world.begin(work)
    left = chance.randrange(1, 40)
    for message in child.messages():
        world.note(*message)
        left -= 1
        if not left:
            left = chance.randrange(10, 60)
            world.restart_server()
    status = child.wait()
    assert not status, status


def after_all(world):
    """All is there, also after the index was lost."""
    world.check()
    world.stop_server()
    shutil.rmtree(world.layout.index)
    world.serve_and_check()


def in_world(campaign):
    """Return a campaign as campaigns.main wants it."""
    def run(root, args):
        world = World(root)
        try:
            points = campaign(world, args)
            return '%d points, %d changes acknowledged' % (
                points, world.acknowledged)
        finally:
            world.stop_server(signal.SIGKILL)
    return run


if __name__ == '__main__':
    main('tests.crash.losf_campaign', {
        each.__name__.replace('_', '-'): in_world(each) for each in (
            killed_writers, killed_servers, killed_server_steps,
            killed_in_traffic, two_writers, power_cuts, older_indexes,
            torn_tails, bit_flips, conversions)}, rounds=20)
