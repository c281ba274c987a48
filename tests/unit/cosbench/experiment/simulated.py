# SPDX-License-Identifier: Apache-2.0
"""Runs whose noise is known, without running anything."""

import math

from cosbench.experiment.core.figures import Run
from cosbench.measure.summary import Latency, Metrics

READ = 'main/main/read'
#: Percentiles to the mean, in the order of ``Latency``.
_SHAPE = (.9, 1, 1.1, 1.2, 1.5, 2, 3, 5)


def metrics(mean_ms=5.0, throughput=1000.0, count=1000, failures=0,
            times=None):
    """:param times: of ``Latency``, from p50 on; None: in the usual shape"""
    times = Latency(mean_ms, *(times or [mean_ms * each
                                         for each in _SHAPE]))
    return Metrics(
        count, count * 4096, failures, 8, 10.0, throughput,
        throughput * 4096, count / (count + failures), mean_ms, mean_ms * .6,
        times.p50, times.p60, times.p80, times.p90, times.p95, times.p99,
        times.p999, times.p100, times)


def run(mean_ms=5.0, operation=READ, limits=(), **more):
    return Run({operation: metrics(mean_ms, **more)}, limits=tuple(limits))


def noisy(rng, slower, noise, drift=0.0):
    """:param rng: a ``random.Random``
    :param slower: how many times as long all takes
    :param noise: of each figure of a run, as a share
    :param drift: of all runs of this time, as a logarithm
    """
    def off(share=noise):
        return math.exp(rng.gauss(0, share))
    mean = 5 * math.exp(drift) * slower * off()
    return run(mean, throughput=8000 / mean * off(noise / 3),
               times=[mean * each * off() for each in _SHAPE])


def rounds(*pairs):
    """Of mean times: one run of base and one of other each round."""
    return {'base': [run(one) for one, _ in pairs],
            'other': [run(other) for _, other in pairs]}
