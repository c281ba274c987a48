# SPDX-License-Identifier: Apache-2.0
"""What is in a workload, and whether all of its keys are known."""

from collections import Counter
from typing import Any

from cosbench import adaptors
from cosbench.document.reader import read
from cosbench.errors import WorkloadError
from cosbench.workload.model import Workload


def summary(workload: Workload) -> dict[str, Any]:
    """Return what a workload has, as a dict for JSON."""
    works = workload.works
    return {
        'name': workload.name,
        'stages': len(workload.stages),
        'works': len(works),
        'most_workers': max(
            stage.workers for stage in workload.stages),
        'operations': dict(Counter(
            operation.type.value for work in works
            for operation in work.operations)),
        'auth': sorted({work.auth.type for work in works}),
        'storage': sorted({work.storage.type for work in works}),
    }


def refuse_unknown_keys(data: bytes) -> None:
    """Refuse what is only warned of else: keys that nothing asks for.

    :raises WorkloadError: if there are any
    """
    unknown = [each for each in read(data, adaptors.installed()).warnings
               if each.is_unknown_key]
    if unknown:
        raise WorkloadError(unknown)


def in_words(found: dict[str, Any]) -> str:
    """Return a ``summary`` as one line of text."""
    return '%s: %d stages, %d works, at most %d workers, operations %s; ' \
        'auth %s, storage %s' % (
            found['name'], found['stages'], found['works'],
            found['most_workers'],
            ', '.join('%d %s' % (number, kind) for kind, number
                      in found['operations'].items()),
            ', '.join(found['auth']), ', '.join(found['storage']))
