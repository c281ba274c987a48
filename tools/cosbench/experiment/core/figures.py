# SPDX-License-Identifier: Apache-2.0
"""The figures of runs that are compared and that conditions name.

Response times are counted from when each operation was due: in a closed
loop from its start, which is the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cosbench.measure.drivers import strains
from cosbench.measure.result import OperationResult, Result, WorkResult
from cosbench.measure.summary import Latency, Metrics
from cosbench.workload.model import WorkType


@dataclass(frozen=True)
class Figure:
    """Something that a run says of an operation."""

    name: str
    #: What reports call it, with its unit.
    words: str
    read: Callable[[Metrics], float | None]
    more_is_better: bool = False
    #: Whether the values of several runs are counted together: what
    #: happened once in ten runs has happened.
    counted: bool = False


def _time(attribute: str) -> Callable[[Metrics], float | None]:
    def read(metrics: Metrics) -> float | None:
        found: Latency | None = metrics.intended
        return None if found is None else float(getattr(found, attribute))
    return read


FIGURES: dict[str, Figure] = {each.name: each for each in (
    Figure('throughput', 'operations/s', lambda found: found.throughput,
           True),
    Figure('bandwidth', 'bytes/s', lambda found: found.bandwidth, True),
    *(Figure(name, words + ' ms', _time(attribute))
      for name, words, attribute in (
          ('mean', 'mean', 'average'), ('p50', 'p50', 'p50'),
          ('p60', 'p60', 'p60'), ('p80', 'p80', 'p80'),
          ('p90', 'p90', 'p90'), ('p95', 'p95', 'p95'),
          ('p99', 'p99', 'p99'), ('p999', 'p99.9', 'p999'),
          ('max', 'max', 'p100'))),
    Figure('failures', 'failures', lambda found: float(found.failures),
           counted=True),
    Figure('success', 'success', lambda found: found.success_ratio, True,
           True))}
#: Those that tables compare, and those whose verdict is asked for: the more
#: are, the surer each must be.
SHOWN = ('throughput', 'bandwidth', 'mean', 'p50', 'p95', 'p99', 'max',
         'failures', 'success')
JUDGED = ('throughput', 'mean', 'p50', 'p95', 'p99')
#: Those that must be known well enough before an experiment ends.
STEADY = ('throughput', 'mean')


@dataclass(frozen=True)
class Run:
    """One run of one configuration, as far as it is compared."""

    #: STAGE/WORK/OPERATION -> its figures.
    operations: Mapping[str, Metrics]
    id: str = ''
    state: str = 'finished'
    #: What made the drivers, and not the storage, the limit; none: nothing.
    limits: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    #: Unix seconds; None: not known.
    started: float | None = None

    @classmethod
    def of(cls, result: Result, also_special: bool = False) -> 'Run':
        """Return what is compared of a result.

        :param also_special: whether works that are not normal count, too
        """
        found = {name: (work, operation) for name, (work, operation)
                 in cls.parts(result).items()
                 if also_special or work.is_normal}
        limits = [
            'work %s: %s' % (work.name, each)
            for work in {id(work): work for work, _ in found.values()}.values()
            for each in strains(work.drivers)]
        return cls({name: work.metrics(operation)
                    for name, (work, operation) in found.items()},
                   result.id, result.state, tuple(limits),
                   tuple(result.warnings), result.started)

    @classmethod
    def parts(cls, result: Result
              ) -> dict[str, tuple[WorkResult, OperationResult]]:
        """Return the operations of a result.

        :returns: whole name -> its work, and itself; of those that
            are called the same, all but the first with a number
        """
        found: dict[str, tuple[WorkResult, OperationResult]] = {}
        for stage, work in result.works:
            if work.type == WorkType.DELAY.value:
                continue
            for operation in work.operations:
                name, number = '%s/%s/%s' % (
                    stage.name, work.name, operation.name), 1
                while _numbered(name, number) in found:
                    number += 1
                found[_numbered(name, number)] = work, operation
        return found

    def value(self, figure: str, operation: str) -> float | None:
        """Return a figure.

        :param figure: of ``FIGURES``
        :returns: the value; None where there is none
        """
        metrics = self.operations.get(operation)
        return None if metrics is None else FIGURES[figure].read(metrics)


def counted(figure: str, operation: str, runs: Sequence[Run]
            ) -> float | None:
    """Return a figure that several runs have together.

    :param figure: failures, or success
    :returns: the value; None where there was nothing
    """
    found = [run.operations[operation] for run in runs]
    failed = sum(each.failures for each in found)
    if figure == 'failures':
        return float(failed)
    done = sum(each.op_count for each in found)
    return done / (done + failed) if done + failed else None


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else '%s#%d' % (name, number)


#: name of a configuration -> its runs that count, one a round.
Runs = Mapping[str, Sequence[Run]]


def common_operations(runs: Runs) -> list[str]:
    """Return the operations that all runs have.

    :returns: their whole names, in the order of the first run
    """
    every = [run for each in runs.values() for run in each]
    return [name for name in every[0].operations
            if all(name in run.operations for run in every)] if every else []
