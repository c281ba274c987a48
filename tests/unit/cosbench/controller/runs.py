# SPDX-License-Identifier: Apache-2.0
"""Runs of the tests that go on, and what drivers report of them."""

from types import SimpleNamespace

from cosbench.controller.core.plan import Address
from cosbench.controller.core.workload_states import WorkloadState
from cosbench.controller.driver_share import DriverShare
from cosbench.controller.result_document import empty
from cosbench.controller.workload_run import Context, WorkloadRun
from cosbench.document.reader import read
from cosbench.engine.core.mission import Mission
from cosbench.measure.sample import Sample
from cosbench.measure.tally import Tally
from cosbench.measure.timeline import Timeline
from tests.unit.cosbench.documents import READ, work, wrapped


def driver(name, cpu_seconds=None):
    return SimpleNamespace(address=Address(name, name, 'http://h:1'),
                           cpu_seconds=cpu_seconds, offset=None)


def started(drivers, config=''):
    """:returns: a ``WorkloadRun`` with a normal work and one of init"""
    text = wrapped(work(READ, 'workers="2" runtime="3" config="%s"'
                        % config),
                   '<work type="init" workers="1" config="%s;containers'
                   '=c(1)"/>' % config)
    found = WorkloadRun(read(text.encode()).workload, Context(
        'w1', text, 1, list(drivers)))
    found.cpu_before = {'a': 1.0}
    found.state = WorkloadState.PROCESSING
    found.started = 10.0
    return found


def submitted(run):
    """:returns: the document of a run, from before it began"""
    return empty('w1', run.workload, run.context.xml, 1, 9.0, ['first'])


def report(count, sequence=1, cpu=10.0, lag=1.0, **more):
    """:param count: operations that were done, one every 10 ms
    :returns: a report that has all of them
    """
    tally, timeline = Tally(), Timeline(5)
    for number in range(count):
        begin = number / 100
        sample = Sample('op1', begin, begin, begin, begin + 0.01, 7, None)
        tally.add(sample)
        timeline.add(sample)
    return {
        'sequence': sequence, 'elapsed': 3.0, 'counted': 3.0, 'aborted': 0,
        'late': {'operations': 0, 'failed': 0, 'seconds': 0.0},
        'operations': {'op1': tally.to_json()},
        'timeline': timeline.to_json(),
        'used': {'operations': count, 'volume': 7 * count},
        'health': {'cpu_percent_p95': cpu, 'loop_lag_ms_p99': lag}, **more}


def share(run, of, *reported, **more):
    """Have a driver report of a work.

    :param run: the ``WorkRun``
    :param reported: what ``report`` takes, as ``more``
    :returns: the ``Share``
    """
    mission = Mission('m%d' % len(run.shares), '', 0, 0, 0, 1, 1)
    found = DriverShare(of, mission, run.measured)
    news(found, report(*reported, **more))
    run.shares.append(found)
    return found


def news(share, found):
    share._take({'state': 'running', 'reason': '', 'report': found})
