# SPDX-License-Identifier: Apache-2.0
"""What the controller tells a monitor: its queue, its run, its drivers."""

from collections import Counter

from cosbench.controller.core.workload_states import WorkloadState
from swift_lightsync.common.openmetrics import Family

_COUNTERS = (
    ('operations', 'Operations of the workload that runs.', 'count'),
    ('failures', 'Operations of it that failed.', 'failed'),
    ('bytes', 'Bytes that it has moved.', 'bytes'),
    ('response_seconds', 'Seconds that its operations took, in all.', None))


def families(controller):
    """Return the metrics of a controller.

    :param controller: a ``Controller``
    """
    entries = [controller.entry(each) for each in controller.ids]
    running = [each.run for each in entries if each.run is not None]
    return [_states(entries), *_operations(running), *_drivers(running)]


def _states(entries):
    known = Counter(each.state for each in entries)
    found = Family('cosbench_workloads', 'gauge', 'Workloads by their state.')
    for state in WorkloadState:
        found.add(known[state], state=state.value)
    return found


def _operations(running):
    found = [Family('cosbench_' + name, 'counter', words)
             for name, words, _ in _COUNTERS]
    for run in running:
        for stage in run.stages:
            for work in stage.works:
                for key, tallies in work.measured.by_operation().items():
                    labels = {'workload': run.context.id, 'stage': stage.id,
                              'work': work.work.name, 'operation': key}
                    for family, (_, _, name) in zip(found, _COUNTERS):
                        family.add(sum(
                            getattr(each, name) if name
                            else each.response.total / 10 ** 6
                            for each in tallies), **labels)
    return found


def _drivers(running):
    found = [Family('cosbench_driver_up', 'gauge',
                    'Whether a driver of the run answers.'),
             Family('cosbench_driver_cpu_percent_p95', 'gauge',
                    'Percent of its core; over 90 it limits the work.'),
             Family('cosbench_driver_loop_lag_ms_p99', 'gauge',
                    'How late it is; over 20 its times are too long.')]
    for run in running:
        for driver in run.drivers:
            name = driver.address.name
            found[0].add(name not in run.context.lost, driver=name)
        for stage in [run.current] if run.current else []:
            for work in stage.works:
                for share in work.shares:
                    labels = {'driver': share.driver.address.name,
                              'work': work.work.name}
                    for family, value in zip(found[1:], (
                            share.health.cpu_percent_p95,
                            share.health.loop_lag_ms_p99)):
                        if value is not None:
                            family.add(value, **labels)
    return found
