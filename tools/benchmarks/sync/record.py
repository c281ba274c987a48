# SPDX-License-Identifier: Apache-2.0
"""One row of the results of ``bench sync``."""

from dataclasses import dataclass

from tools.benchmarks.report import Metric


@dataclass(frozen=True)
class Shape:
    """
    What all records of an invocation have in common.

    :param nodes: storage nodes
    :param replicas: of each object
    :param objects_per_node: replicas that a node holds, in the mean
    :param partitions_per_node: partition replicas that hold objects, mean
    :param suffixes_per_partition: of the partitions that hold objects, mean
    """
    nodes: int
    replicas: int
    objects_per_node: float
    partitions_per_node: float
    suffixes_per_partition: float


@dataclass(frozen=True)
class Record:
    """
    One scenario, played once with one replicator.

    ``pass_seconds`` and what follows it are of the first pass after the
    change, as measure.Pass has them; ``total_…`` are the sums of all
    ``rounds`` passes. ``stale_replicas`` were left after the last one.
    ``requests`` has the messages by verb.
    """
    replicator: str
    scenario: str
    run: int
    nodes: int
    replicas: int
    objects_per_node: float
    partitions_per_node: float
    suffixes_per_partition: float
    pass_seconds: float
    messages: float
    bytes_sent: float
    cpu_seconds: float
    max_rss_mib: float
    rounds: int
    converged: bool
    live_nodes: int
    requests: dict
    messages_per_partition: float
    stale_replicas: int
    total_pass_seconds: float
    total_messages: float
    total_bytes_sent: float
    total_cpu_seconds: float


#: The rows of the table; all but the first are means of the live nodes.
METRICS = (
    Metric('pass_seconds', 'pass, s (slowest node)', 3),
    Metric('messages', 'messages/node', 1),
    Metric('messages_per_partition', 'messages/partition', 2),
    Metric('bytes_sent', 'bytes sent/node'),
    Metric('cpu_seconds', 'CPU s/node', 3),
    Metric('max_rss_mib', 'max RSS, MiB', 1),
    Metric('rounds', 'rounds'),
    Metric('total_pass_seconds', 'all rounds: passes, s', 3),
    Metric('total_bytes_sent', 'all rounds: bytes/node'),
    Metric('converged', 'converged'),
)


def make(shape, replicator, scenario, run, passes, live_nodes, stale):
    """
    :param shape: the Shape
    :param replicator: its name
    :param scenario: its name
    :param run: the number of the run, from 1
    :param passes: the Pass of each round, a list
    :param live_nodes: how many nodes took part in the last one
    :param stale: replicas that are not as they should be after it
    :returns: the Record
    """
    def total(field):
        return sum(getattr(each, field) for each in passes)

    first = passes[0]
    partitions = shape.partitions_per_node * shape.nodes / shape.replicas
    return Record(
        replicator=replicator, scenario=scenario, run=run, **vars(shape),
        pass_seconds=first.seconds, messages=first.messages,
        bytes_sent=first.bytes_sent, cpu_seconds=first.cpu_seconds,
        max_rss_mib=first.max_rss_mib, rounds=len(passes),
        converged=stale == 0, live_nodes=live_nodes,
        requests=first.requests,
        messages_per_partition=first.messages * live_nodes / partitions,
        stale_replicas=stale, total_pass_seconds=total('seconds'),
        total_messages=total('messages'),
        total_bytes_sent=total('bytes_sent'),
        total_cpu_seconds=total('cpu_seconds'))
