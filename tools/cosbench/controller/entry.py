# SPDX-License-Identifier: Apache-2.0
"""A workload as the controller knows it: it waits, runs, or has ended."""

from dataclasses import dataclass

from cosbench.controller import live
from cosbench.controller import result_document as documents
from cosbench.controller.core.workload_states import WorkloadState
from cosbench.controller.json_parts import dumps
from cosbench.controller.workload_run import WorkloadRun


@dataclass
class Entry:
    """A workload of the queue, or one that has ended."""

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
        found = documents.begun(self.document, self.run)
        if self.run.state.final:
            # It has not ended before its reports are there.
            found.update(state=WorkloadState.PROCESSING.value, stopped=None)
        return found

    def text(self):
        """Return the document as of now, as JSON."""
        if self.run is None:
            return dumps(self.document)
        return documents.text(self.begun(), self.run)

    def live(self):
        """Return what is shown of it now, as JSON."""
        if self.run is None:
            return live.waiting(self.document)
        return live.running(self.begun(), self.run)

    @property
    def state(self):
        return WorkloadState(self.begun()['state'])


def brief(document):
    """What is kept in memory of a run that has ended."""
    return {**document, 'xml': '', 'stages': []}
