# SPDX-License-Identifier: Apache-2.0
"""Campaigns against the log of primary-role writes: kills and power cuts at
each step that a writer or a compaction takes, and amid traffic.

    python -m tests.crash.proar_campaign killed-at-steps [--stride N] …
"""

import fcntl
import os
import random
import signal
import time
from contextlib import contextmanager, suppress

from swift.common.concurrency import GreenPool
from swift.obj import diskfile

from tests.crash.campaigns import main
from tests.crash.losf_power import Disk, shut_down
from tests.crash.losf_steps import Steps, kill_self
from tests.crash.losf_world import PATIENCE
from tests.crash.proar_world import DEVICE, LogWorld
from tests.waiting import wait_for

PARTITION = 1
WRITERS = 8


def script(server, partition):
    """All that is done to a log in its life, one after the other."""
    def write(verb, name):
        refused = server.write(verb, name + str(partition), partition)
        assert not refused, refused

    for verb, name in (('PUT', 'a'), ('POST', 'a'), ('PUT', 'b'),
                       ('DELETE', 'a')):
        write(verb, name)
    server.compact(partition, 2)
    for name in 'cdefgh':
        write('PUT', name)
    server.carry()
    server.compact(partition, 5)
    write('PUT', 'd')
    server.carry()
    server.close()


def in_steps(world, partition, fatal, fate):
    """:param fate: a function of send, called at a step
    :returns: a Child that runs the script
    """
    def work(server, send):
        steps = Steps(fatal, lambda: fate(send))
        steps.around_disk()
        steps.around(fcntl, 'fcntl')
        steps.around(os, 'posix_fallocate')
        steps.around(diskfile, 'link_fd_to_path')
        script(server, partition)
        send(steps.count)
    return world.begin(work)


def count_steps(root):
    world = LogWorld(root)
    child = in_steps(world, PARTITION, 0, None)
    count, = world.follow(child)
    assert child.wait() == 0
    world.check(PARTITION)
    return count


def killed_at_steps(root, args):
    """A writer is killed at each step.

    Its threads share flushes, so that it may end in fewer steps than counted.
    """
    killed = 0
    fatal = range(1, 1 + count_steps(os.path.join(root, '0')), args.stride)
    for number in fatal:
        world = LogWorld(os.path.join(root, str(number)))
        child = in_steps(world, PARTITION, number, lambda send: kill_self())
        world.follow(child)
        ended = child.wait()
        assert ended in (0, -signal.SIGKILL), ended
        killed += bool(ended)
        world.check(PARTITION)
    assert killed > len(fatal) // 2
    return killed


def power_cut_at_steps(root, args):
    """The power is cut at each step."""
    fatal = range(1, 1 + count_steps(os.path.join(root, '0')), args.stride)
    with powered(root) as (world, disk):
        for number in fatal:
            child = in_steps(world, number, number, stop_all)
            wait_for(lambda: not runs(child.pid), 'it stands at its step',
                     PATIENCE)
            cut(world, disk, [child])
            world.check(number)
    return len(fatal)


def power_cut_in_traffic(root, args):
    """The power is cut amid concurrent writes and compactions."""
    chance = random.Random(args.seed)
    with powered(root) as (world, disk):
        for number in range(args.rounds):
            partitions = 2 * number, 2 * number + 1
            children = [world.begin(traffic(partitions, seed)) for seed in
                        (args.seed + 2 * number, args.seed + 2 * number + 1)]
            children.append(world.begin(compactions(partitions)))
            end = time.monotonic() + chance.uniform(0.5, 2)
            for message in children[0].messages():
                world.note(message)
                if time.monotonic() > end:
                    break
            cut(world, disk, children)
            for partition in partitions:
                world.check(partition)
                # A segment has five records here: they would be many.
                world.ask(lambda server: server.compact(partition, 10 ** 6))
    return sum(map(len, world.told['acknowledged'].values()))


def traffic(partitions, seed):
    """:returns: a function that writes, at random, until it is killed"""
    def work(server, send):
        def one(chance):
            while True:
                server.write(
                    chance.choice(('PUT', 'PUT', 'POST', 'DELETE')),
                    'o%d' % chance.randrange(40), chance.choice(partitions))
        pool = GreenPool(WRITERS)
        for number in range(WRITERS):
            pool.spawn(one, random.Random(seed * WRITERS + number))
        pool.waitall()
    return work


def compactions(partitions):
    """:returns: a function that compacts logs until it is killed"""
    def work(server, send):
        while True:
            for partition in partitions:
                with suppress(OSError):
                    server.compact(partition, 20)
                with suppress(OSError):
                    server.carry()
    return work


def stop_all(send):
    """Stop all threads: none may go on while the power is cut."""
    os.kill(os.getpid(), signal.SIGSTOP)


def runs(pid):
    """:returns: whether a process has neither stopped nor ended"""
    with open('/proc/%d/stat' % pid) as stat:
        return stat.read().rpartition(')')[2].split()[0] not in 'TZ'


@contextmanager
def powered(root):
    """Yield a LogWorld, and the disk that it is on."""
    path = os.path.join(root, 'powered', DEVICE)
    os.makedirs(path)
    with Disk.at(path, root) as disk:
        yield LogWorld(os.path.dirname(path)), disk


def cut(world, disk, children):
    """Cut the power; what was told before was durable.

    Nobody may live on: Swift acknowledges what it could not sync the
    directory of.
    """
    for child in children:
        os.kill(child.pid, signal.SIGSTOP)
    for child in children:
        wait_for(lambda: not runs(child.pid), 'it has stopped', PATIENCE)
    shut_down(disk.path)
    for child in children:
        child.kill()
        world.follow(child)
        child.wait()
    disk.come_back()


if __name__ == '__main__':
    main('tests.crash.proar_campaign', {
        each.__name__.replace('_', '-'): each for each in (
            killed_at_steps, power_cut_at_steps, power_cut_in_traffic)},
         rounds=3)
