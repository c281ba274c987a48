# SPDX-License-Identifier: Apache-2.0
"""The result document of a run, finished or not: measure/RESULT.md."""

import json

from cosbench.controller.json_parts import array, extended
from cosbench.controller.workload_run import rate_of
from cosbench.engine.core.mission import rows, steps
from cosbench.measure.result import VERSION
from cosbench.workload.config import FLAGS


def empty(run_id, workload, xml, seed, submitted, warnings):
    """Return the document of a workload that has not begun."""
    return {
        'version': VERSION, 'id': run_id, 'name': workload.name,
        'description': workload.description, 'state': 'queuing',
        'submitted': submitted, 'started': None, 'stopped': None,
        'xml': xml, 'seed': seed, 'warnings': list(warnings), 'history': [],
        'drivers': [], 'stages': []}


def begun(document, run):
    """Return what is known of a run but its stages.

    :param document: from ``empty``
    :param run: the ``WorkloadRun``
    :returns: a document of what is known now, without its stages: this is
        cheap, whatever was measured
    """
    return {**document, 'state': run.state.value, 'started': run.started,
            'stopped': run.stopped, 'history': run.history,
            'warnings': document['warnings'] + run.context.warnings,
            'drivers': [_driver(run, each) for each in run.drivers],
            'nodes': [each.to_json() for each in run.nodes]}


def filled(document, run):
    """Return the document with all that is known now."""
    return json.loads(text(begun(document, run), run))


def text(document, run):
    """Return a result document as JSON.

    :param document: from ``begun``
    """
    return ''.join(with_stages(document, run, lambda work: extended(
        about(work), **work.measured.packed(operations_of(work.work)))))


def with_stages(fields, run, write):
    """Yield the JSON of a workload with its stages.

    :param fields: of the workload
    :param write: a function of a ``WorkRun`` that returns texts, its JSON
    """
    fields = {key: value for key, value in fields.items() if key != 'stages'}
    return extended(fields, stages=array(
        extended(_stage(each), works=array(map(write, each.works)))
        for each in run.stages))


def terminated(document, when):
    """Return the document of a run whose controller died.

    :param document: the last that is known of a run whose controller died
    :param when: unix seconds at which that was written
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
    known = (getattr(share.health, key) for share in shares)
    return max((each for each in known if each is not None), default=None)


def _stage(run):
    return {
        'id': run.id, 'name': run.stage.name, 'state': run.state.value,
        'started': run.started, 'stopped': run.stopped,
        'reason': run.reason, 'history': run.history}


def about(run):
    """Return what is said of a work but what was measured.

    :param run: a ``WorkRun``
    """
    work = run.work
    return {
        'id': 'w%d-%s' % (run.place[1] + 1, work.name), 'name': work.name,
        'type': work.type.value, 'workers': work.workers,
        'rampup': work.rampup, 'runtime': work.runtime,
        'rampdown': work.rampdown, 'rate': rate_of(work),
        'afr': work.afr, 'driver': work.driver, 'started': run.started,
        'counted': run.counted,
        # Files that are in use have other values, too.
        'histogram': FLAGS.get(
            work.config.text('histogram', '').lower(), True),
        'state': run.state.value, 'reason': run.reason,
        'drivers': [{
            **vars(share.summary), 'first': share.mission.first,
            'state': 'lost' if share.lost else share.state.value,
            'reason': share.reason} for share in run.shares]}


def operations_of(work):
    """Return what is said of each operation but what was measured."""
    return [{'id': each.id, 'name': each.name, 'type': each.type.value,
             'ratio': each.ratio, 'config': str(each.config)}
            for step in steps(work) for each in rows(work, step)]
