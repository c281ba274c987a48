# SPDX-License-Identifier: Apache-2.0
"""A workload as the controller knows it, and what is shown of it as JSON.

That is all but the histograms. Of a run that goes on it is made of what is in
memory, of one that has ended of its archive.
"""

from dataclasses import dataclass

from cosbench.controller.core.workload_states import WorkloadState
from cosbench.controller.json_parts import array, dumps, extended
from cosbench.controller.measured import Measured
from cosbench.controller.result_document import (
    about,
    begun,
    operations_of,
    text,
    with_stages,
)
from cosbench.controller.workload_run import WorkloadRun
from cosbench.measure.timeline import Timeline

_HEADLINE = ('id', 'name', 'description', 'state', 'submitted', 'started',
             'stopped', 'seed', 'warnings')


def headline(document):
    """Return what a list shows of a run."""
    return {key: document[key] for key in _HEADLINE}


def _head(document):
    return {**headline(document), 'drivers': document['drivers']}


def waiting(document):
    """Return what is shown of a workload that waits.

    :param document: of a workload that has not begun
    :returns: JSON
    """
    return dumps({**_head(document), 'stages': []})


def running(document, run):
    """Return what is shown of a run that goes on.

    :param document: from ``document.begun``
    :param run: the ``WorkloadRun``
    :returns: JSON
    """
    return ''.join(with_stages(_head(document), run, lambda work: _work(
        about(work), operations_of(work.work), work.measured)))


def ended(document, result):
    """Return what is shown of a run that has ended.

    :param document: of a run that has ended
    :param result: the ``Result`` of it
    :returns: JSON
    """
    return ''.join(extended(_head(document), stages=array(
        extended(_without(stage, 'works'), works=array(
            _ended_work(*each) for each in zip(stage['works'], known.works)))
        for stage, known in zip(document['stages'], result.stages))))


def _ended_work(work, result):
    timeline = result.timeline or Timeline(1)
    measured = Measured(timeline.seconds)
    measured.take(work['id'], {each.id: each.tally
                               for each in result.operations}, timeline)
    return _work(_without(work, 'operations', 'timeline'),
                 [_without(each, 'tally') for each in work['operations']],
                 measured)


def _work(fields, operations, measured):
    return extended(fields, **measured.shown(
        operations, fields['workers'],
        fields['counted'] or fields['runtime']))


def _without(fields, *keys):
    return {key: value for key, value in fields.items() if key not in keys}


@dataclass
class Entry:
    """A workload that waits, runs, or has ended."""

    #: Of a run that goes on: as it began.
    document: dict
    workload: object | None = None
    run: WorkloadRun | None = None

    def begun(self):
        """Return the document as of now, without its stages.

        This takes no time, whatever was measured.
        """
        if self.run is None:
            return self.document
        found = begun(self.document, self.run)
        if self.run.state.final:
            # It has not ended before its reports are there.
            found.update(state=WorkloadState.PROCESSING.value, stopped=None)
        return found

    def text(self):
        """Return the document as of now, as JSON."""
        if self.run is None:
            return dumps(self.document)
        return text(self.begun(), self.run)

    def live(self):
        """Return what is shown of it now, as JSON."""
        if self.run is None:
            return waiting(self.document)
        return running(self.begun(), self.run)

    @property
    def state(self):
        return WorkloadState(self.begun()['state'])


def brief(document):
    """What is kept in memory of a run that has ended."""
    return {**document, 'xml': '', 'stages': []}
