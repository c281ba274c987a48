# SPDX-License-Identifier: Apache-2.0
"""What is shown of a run: all but the histograms, as JSON.

Of a run that goes on it is made of what is in memory; one that has ended is
read from its archive once.
"""

from functools import lru_cache

from cosbench.controller.json_parts import array, dumps, extended
from cosbench.controller.measured import Measured
from cosbench.controller.result_document import (
    about,
    operations_of,
    with_stages,
)
from cosbench.measure.timeline import Timeline

_HEADLINE = ('id', 'name', 'description', 'state', 'submitted', 'started',
             'stopped', 'seed', 'warnings')
#: Runs that have ended and are kept, as texts.
MOST_ENDED = 4


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


class Ended:
    """Runs that have ended, those that were asked for last kept.

    :param archive: an ``Archive``
    """

    def __init__(self, archive):
        self._archive = archive
        self._kept = lru_cache(MOST_ENDED)(
            lambda run_id, stamp: ended(*archive.read(run_id)))

    def text(self, run_id):
        """Return what is shown of a run that has ended.

        :returns: JSON
        :raises KeyError, ArchiveError:
        """
        return self._kept(run_id, self._archive.stamp(run_id))
