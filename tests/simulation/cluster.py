# SPDX-License-Identifier: Apache-2.0
"""Small worlds, and the failures that happen to them."""

import math

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from tools.simulation.network import Reach
from tools.simulation.world import Settings, World

LIGHTSYNC = ('lightsync', 'lightsync-unbatched')
#: Derandomised: the same examples each time. A printed example names its
#: world's seed, which is all that it depends on.
QUICK = settings(
    max_examples=12,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.too_slow])
#: Rounds in which nothing fails: more than the failure tables (60 s, two
#: rounds) and a single copy (r - 1 rounds) can need.
CALM_ROUNDS = 14


def world(protocol='lightsync', **kwargs):
    """A small world; with no full exchange, that would hide what fails."""
    wanted = dict(nodes=6, replicas=3, partitions=24, objects=4,
                  full_exchange=None)
    return World(Settings(protocol=protocol, **dict(wanted, **kwargs)))


def write(where, partition, suffix, copies=None, version=None):
    """A write that reaches the first of a partition's nodes that are up."""
    row = [node for node in where.placement.rows[partition]
           if where.network.is_live(node)]
    where.disks.write(partition, suffix,
                      version or 1 + int(where.events.now), row[:copies])


def newest(where):
    return {partition: where.disks.newest(partition)
            for partition in range(len(where.placement.rows))}


def rounds_until_equal(where, most):
    """:returns: how many rounds it took; None if it takes more than most"""
    for number in range(most + 1):
        if not where.differing():
            return number
        if number < most:
            where.run_round()
    return None


def rounds_until_quiet(where, most):
    """:returns: how many rounds it took until only roots were sent"""
    for number in range(most):
        if set(where.run_round().kinds) == {'LIGHTSYNC'}:
            return number
    return None


def calm(where):
    """All failures stop."""
    where.network.heal()
    where.network.loss = 0.0
    where.network.slow.clear()
    for number in range(len(where.nodes)):
        where.restart(number)
        where.mount(number)
    where.deliver_ring(range(len(where.nodes)))


@st.composite
def failures(draw, nodes=6):
    """A trace of failures: a list of lists, one for each round, of (seconds
    into it, what, arguments).
    """
    node = st.integers(0, nodes - 1)
    some = st.sets(node, min_size=1, max_size=nodes - 1)
    event = st.one_of(
        st.tuples(st.just('crash'), node,
                  st.sampled_from([Reach.SILENT, Reach.REFUSED])),
        st.tuples(st.just('restart'), node),
        st.tuples(st.just('unmount'), node),
        st.tuples(st.just('mount'), node),
        st.tuples(st.just('slow'), node,
                  st.sampled_from([1, 20, 1000, math.inf])),
        st.tuples(st.just('rebalance'), some),
        st.tuples(st.just('cut'), some, some),
        st.tuples(st.just('heal')),
        st.tuples(st.just('loss'), st.sampled_from([0.0, 0.1, 0.5])))
    writes = st.tuples(st.just('write'), st.integers(0, 23),
                       st.integers(0, 5), st.integers(1, 3))
    return draw(st.lists(st.lists(
        st.tuples(st.floats(0, 40), event | writes), max_size=6),
        min_size=1, max_size=4))


def _happen(where, what, *args):
    network = where.network
    if what == 'crash' and len(network.down) < len(where.nodes) - 1:
        where.crash(*args)
    elif what in ('restart', 'mount', 'unmount'):
        getattr(where, what)(*args)
    elif what == 'slow':
        network.slow[args[0]] = args[1]
    elif what == 'rebalance':
        where.rebalance(0.3)
        where.deliver_ring(*args)
    elif what == 'cut':
        network.cut(*args)
    elif what == 'heal':
        network.heal()
    elif what == 'loss':
        network.loss, = args
    elif what == 'write':
        write(where, *args)


def suffer(where, trace):
    """Run the rounds of a trace, with the pauses between them."""
    for events in trace:
        for seconds, (what, *args) in events:
            where.events.at(where.events.now + seconds, _happen, where, what,
                            *args)
        where.run_round()
    # What was still to come, comes.
    where.events.wait(40)
