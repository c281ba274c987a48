# SPDX-License-Identifier: Apache-2.0
"""Whether a document is a workload, and what is in it."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from cosbench import adaptors
from cosbench.document.reader import read, read_file
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


def check(path: str, strict: bool = False) -> dict[str, Any]:
    """Check one file.

    :param strict: whether keys that nothing asks for are errors
    :returns: the finding as a dict for JSON: file, ok, summary, problems,
        each of which has line (0: the file as a whole), kind, reason
    """
    try:
        document = read_file(path, adaptors.installed())
    except OSError as err:
        return _finding(path, [(0, 'error', err.strerror or str(err))])
    except WorkloadError as err:
        return _finding(path, [(each.line, 'error', each.reason)
                               for each in err.problems])
    problems = [(each.line, 'error' if strict and each.is_unknown_key
                 else 'warning', each.reason) for each in document.warnings]
    refused = any(kind == 'error' for _, kind, _ in problems)
    return _finding(path, problems,
                    None if refused else summary(document.workload))


def _finding(path: str, problems: Iterable[tuple[int, str, str]],
             found: dict[str, Any] | None = None) -> dict[str, Any]:
    return {'file': path, 'ok': found is not None, 'summary': found,
            'problems': [dict(zip(('line', 'kind', 'reason'), problem))
                         for problem in problems]}
