# SPDX-License-Identifier: Apache-2.0
"""Measures the operations of one batch on one site."""

from dataclasses import dataclass
from statistics import median, quantiles

from tools.benchmarks.sync.measure import cpu_seconds

#: bytes of a MiB, KiB
MIB, KIB = 2 ** 20, 2 ** 10


@dataclass(frozen=True)
class Measured:
    """
    The mean of the operations of a measurement.

    :param operations: how many there were
    :param reads: I/Os of the device
    :param writes: I/Os of the device, also those that were put off
    :param flushes: of the device's write cache
    :param sectors: of 512 bytes, read and written
    :param rpcs: calls of the index server
    :param cpu_ms: of all servers
    :param ops_per_second: of all clients together
    :param p50_ms: half of the operations took less
    :param p99_ms: 99 % of the operations took less
    :param rss_mib: of all servers, in the end
    """
    operations: int
    reads: float
    writes: float
    flushes: float
    sectors: float
    rpcs: float
    cpu_ms: float
    ops_per_second: float
    p50_ms: float
    p99_ms: float
    rss_mib: float


def percentile_99(latencies):
    """:returns: of one or more numbers, what 99 % of them are below"""
    if len(latencies) == 1:
        return latencies[0]
    return quantiles(latencies, n=100, method='inclusive')[98]


def rss_mib(pids):
    """:returns: the memory that processes hold, MiB"""
    total = 0
    for pid in pids:
        with open('/proc/%d/status' % pid) as status:
            total += next(int(line.split()[1]) for line in status
                          if line.startswith('VmRSS:'))
    return total * KIB / MIB


def measure(site, play):
    """
    :param site: the Site, settled
    :param play: does the operations, and returns the Outcome
    :returns: Measured
    """
    pids = site.pids()
    rpcs, cpu, stats = site.rpcs(), cpu_seconds(pids), site.device.stats()
    outcome = play()
    done = site.device.stats() - stats
    cpu = cpu_seconds(pids) - cpu + outcome.cpu_seconds
    rpcs = site.rpcs() - rpcs + outcome.rpcs
    rss = rss_mib(pids)
    # As fast as it can: only the I/Os are counted from here on.
    site.limit(0)
    site.settle()
    late = site.device.stats() - stats
    site.throttle()
    count = len(outcome.latencies)
    return Measured(
        operations=count,
        reads=done.reads / count,
        writes=late.writes / count,
        flushes=done.flushes / count,
        sectors=(done.sectors_read + late.sectors_written) / count,
        rpcs=rpcs / count,
        cpu_ms=cpu * 1000 / count,
        ops_per_second=count / outcome.seconds,
        p50_ms=median(outcome.latencies) * 1000,
        p99_ms=percentile_99(outcome.latencies) * 1000,
        rss_mib=rss)
