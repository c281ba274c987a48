# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""The result document of a run, finished or not: measure/RESULT.md."""

from tools.cosbench.config import FLAGS
from tools.cosbench.controller.share import HEALTH
from tools.cosbench.controller.workload import rate_of
from tools.cosbench.engine.mission import operations, steps
from tools.cosbench.measure.result import VERSION
from tools.cosbench.measure.tally import Tally
from tools.cosbench.measure.timeline import Timeline

#: From here on the driver's own figures say that it limits the run.
BUSY_PERCENT, LATE_MS = 90.0, 20.0
#: Of a share that has not reported.
_UNKNOWN = dict.fromkeys(HEALTH)


def empty(run_id, workload, xml, seed, submitted, warnings):
    """
    :returns: the document of a workload that has not begun
    """
    return {
        'version': VERSION, 'id': run_id, 'name': workload.name,
        'description': workload.description, 'state': 'queuing',
        'submitted': submitted, 'started': None, 'stopped': None,
        'xml': xml, 'seed': seed, 'warnings': list(warnings), 'history': [],
        'drivers': [], 'stages': []}


def filled(document, run):
    """
    :param document: from ``empty``
    :param run: the ``WorkloadRun``
    :returns: a document of what is known now
    """
    drivers = [_driver(run, each) for each in run.drivers]
    warnings = document['warnings'] + run.context.warnings
    if run.state.final:
        warnings = warnings + [
            text for each in drivers for text in _strained(each)]
    return {**document, 'state': run.state.value, 'started': run.started,
            'stopped': run.stopped, 'history': run.history,
            'warnings': warnings, 'drivers': drivers,
            'stages': [_stage(each) for each in run.stages]}


def terminated(document, when):
    """
    :param document: the last that is known of a run whose controller died
    :param when: unix seconds at which that was written
    :returns: a document that says so
    """
    return {
        **document, 'state': 'terminated', 'stopped': when,
        'history': document['history'] + [['terminated', when]],
        'warnings': document['warnings'] + [
            'the controller died in this run: what the drivers had reported '
            'until then is all there is'],
        'stages': [_cut_off(stage, when) for stage in document['stages']]}


_ENDED = ('completed', 'failed', 'cancelled', 'skipped')


def _cut_off(stage, when):
    if stage['state'] in _ENDED:
        return stage
    state = 'terminated' if stage['started'] else 'skipped'
    return {**stage, 'state': state,
            'stopped': when if stage['started'] else None,
            'history': stage['history'] + [[state, when]],
            'works': [work if work['state'] in _ENDED else
                      {**work, 'state': state} for work in stage['works']]}


def _shares(run, driver=None):
    return [share for stage in run.stages for work in stage.works
            for share in work.shares
            if driver is None or share.driver is driver]


def _driver(run, driver):
    name, shares = driver.address.name, _shares(run, driver)
    before = run.cpu_before.get(name)
    used = driver.cpu_seconds - before \
        if before is not None and driver.cpu_seconds is not None else 0
    done = sum(share.progress.operations for share in shares)
    return {
        'name': name,
        'state': 'lost' if name in run.context.lost else 'alive',
        'reason': run.context.lost.get(name, ''),
        'cpu_percent_p95': _worst(shares, 'cpu_percent_p95'),
        'loop_lag_ms_p99': _worst(shares, 'loop_lag_ms_p99'),
        'clock_offset_s': driver.offset and driver.offset.seconds,
        # Less than a tick of some clocks measures nothing.
        'operations_per_cpu_second': done / used if used > 0.05 else None}


def _worst(shares, key):
    return max((share.health[key] for share in shares
                if share.health.get(key) is not None), default=None)


def _strained(driver):
    cpu, lag = driver['cpu_percent_p95'], driver['loop_lag_ms_p99']
    if cpu is not None and cpu > BUSY_PERCENT:
        yield 'driver %s used %.0f%% of its core: the results may show ' \
            'its limit, not the storage\'s' % (driver['name'], cpu)
    if lag is not None and lag > LATE_MS:
        yield 'driver %s was late by %.0f ms: its times are too long by ' \
            'as much' % (driver['name'], lag)


def _stage(run):
    return {
        'id': 's%d-%s' % (run.index + 1, run.stage.name),
        'name': run.stage.name, 'state': run.state.value,
        'started': run.started, 'stopped': run.stopped,
        'reason': run.reason, 'history': run.history,
        'works': [_work(each) for each in run.works]}


def _work(run):
    work = run.work
    timeline = Timeline(work.interval)
    for share in run.shares:
        timeline.merge(share.timeline)
    return {
        'id': 'w%d-%s' % (run.place[1] + 1, work.name), 'name': work.name,
        'type': work.type.value, 'workers': work.workers,
        'rampup': work.rampup, 'runtime': work.runtime,
        'rampdown': work.rampdown, 'rate': rate_of(work),
        'afr': work.afr, 'driver': work.driver, 'started': run.started,
        'counted': max((share.counted for share in run.shares),
                       default=None) if work.runtime else None,
        # Files that are in use have other values, too.
        'histogram': FLAGS.get(
            work.config.text('histogram', '').lower(), True),
        'state': run.state.value, 'reason': run.reason,
        'drivers': [{
            'name': share.driver.address.name,
            'workers': share.mission.count, 'first': share.mission.first,
            'state': 'lost' if share.lost else share.state.value,
            'reason': share.reason, **_UNKNOWN, **share.health}
            for share in run.shares],
        'operations': [
            _operation(operation, run.shares)
            for step in steps(work) for operation in operations(work, step)],
        'timeline': timeline.to_json()}


def _operation(operation, shares):
    tally = Tally()
    for share in shares:
        if operation.id in share.tallies:
            tally.merge(share.tallies[operation.id])
    return {'id': operation.id, 'name': operation.name,
            'type': operation.type.value, 'ratio': operation.ratio,
            'config': str(operation.config), 'tally': tally.to_json()}
