# SPDX-License-Identifier: Apache-2.0
"""How throughput and response time grow with workers; where is the peak?

As in the experiments of COSBench (§6): the same work with ever more workers.
The peak is the most throughput at an acceptable response time; the knee is
the least workers with nearly that throughput: beyond it they wait for each
other.
"""

from dataclasses import dataclass

from cosbench.measure.drivers import BUSY_PERCENT
from cosbench.measure.summary import Metrics
from cosbench.reports.tables import label

#: 5, then 10, doubled up to 2560.
WORKERS = (5,) + tuple(10 * 2 ** power for power in range(9))
#: What share of the peak's throughput the knee has at least.
KNEE = 0.95
#: Steps with fewer successes do not count.
LEAST_SUCCESS = 0.99
#: How many steps in a row that bring too little are enough, and what share
#: more than the most before is not too little.
PATIENCE, GAIN = 2, 0.05


@dataclass(frozen=True)
class Step:

    metrics: Metrics
    #: Percent of the busiest driver; None where it is not known.
    driver_cpu: float | None = None

    @property
    def workers(self):
        return self.metrics.workers

    @property
    def driver_bound(self):
        return self.driver_cpu is not None and self.driver_cpu > BUSY_PERCENT


@dataclass(frozen=True)
class Ramp:
    """One operation; steps by ascending workers."""

    name: str
    steps: tuple[Step, ...]
    #: None if no step is acceptable, as the knee.
    peak: Step | None
    knee: Step | None


def find(name, steps, most_ms=None):
    """Find peak and knee of an operation.

    :param name: of the operation
    :param steps: each a ``Step``
    :param most_ms: the 95% response time that is accepted, of a rate from
        when operations were due; None: any
    :returns: a ``Ramp``; of equal throughput the fewer workers win
    """
    steps = tuple(sorted(steps, key=lambda step: step.workers))
    accepted = [step for step in steps
                if _acceptable(step.metrics, most_ms)]
    if not accepted:
        return Ramp(name, steps, None, None)
    peak = max(accepted, key=lambda step: step.metrics.throughput)
    knee = next(step for step in accepted if step.metrics.throughput
                >= KNEE * peak.metrics.throughput)
    return Ramp(name, steps, peak, knee)


def _acceptable(metrics, most_ms):
    return metrics.op_count > 0 \
        and metrics.success_ratio >= LEAST_SUCCESS \
        and (most_ms is None or metrics.intended.p95 <= most_ms)


def ramps(results, most_ms=None):
    """Find peak and knee of each operation of results.

    :param results: each a ``Result``; the steps are its normal works, in
        one result or in many
    :returns: a list of ``Ramp``, one for each name of an operation; without
        steps that never began
    """
    found: dict[str, list[Step]] = {}
    for result in results:
        works = [work for stage, work in result.works
                 if work.is_normal and stage.started is not None]
        # A figure of the run is one of the work only if it is the only one.
        whole = max((driver.cpu_percent_p95 for driver in result.drivers
                     if driver.cpu_percent_p95 is not None),
                    default=None) if len(works) == 1 else None
        for work in works:
            cpu = whole if work.driver_cpu is None else work.driver_cpu
            for operation in work.operations:
                found.setdefault(label(operation), []).append(
                    Step(work.metrics(operation), cpu))
    return [find(name, steps, most_ms) for name, steps in found.items()]


def past_peak(throughputs):
    """For who runs the steps: is more of no use?

    :param throughputs: of the steps so far, in their order
    :returns: whether the last ``PATIENCE`` of them all gained less
    """
    if len(throughputs) <= PATIENCE:
        return False
    best = max(throughputs[:-PATIENCE])
    return all(each < best * (1 + GAIN) for each in throughputs[-PATIENCE:])
