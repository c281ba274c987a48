# SPDX-License-Identifier: Apache-2.0
"""``cosbench validate``: is this a workload, and what is in it?"""

import json
from collections import Counter

from cosbench import adaptors
from cosbench.document.reader import read, read_file
from cosbench.errors import WorkloadError


def summary(workload):
    """Return what a workload has, as a dict for JSON."""
    works = workload.works
    return {
        'name': workload.name,
        'stages': len(workload.workflow.stages),
        'works': len(works),
        'most_workers': max(
            stage.workers for stage in workload.workflow.stages),
        'operations': dict(Counter(
            operation.type.value for work in works
            for operation in work.operations)),
        'auth': sorted({work.auth.type for work in works}),
        'storage': sorted({work.storage.type for work in works}),
    }


def refuse_unknown_keys(data):
    """
    Refuse what is only warned of else: keys that nothing asks for.

    :param data: the bytes of a document
    :raises WorkloadError: if there are any
    """
    unknown = [each for each in read(data, adaptors.installed()).warnings
               if each.is_unknown_key]
    if unknown:
        raise WorkloadError(unknown)


def check(path, strict=False):
    """
    Check one file.

    :param path: of a document
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


def _finding(path, problems, found=None):
    return {'file': path, 'ok': found is not None, 'summary': found,
            'problems': [dict(zip(('line', 'kind', 'reason'), problem))
                         for problem in problems]}


def _lines(finding):
    for problem in finding['problems']:
        place = '%s:%d' % (finding['file'], problem['line']) \
            if problem['line'] else finding['file']
        warning = 'warning: ' if problem['kind'] == 'warning' else ''
        yield '%s: %s%s' % (place, warning, problem['reason'])
    if finding['ok']:
        found = finding['summary']
        yield '%s: ok: %s: %d stages, %d works, at most %d workers, ' \
            'operations %s; auth %s, storage %s' % (
                finding['file'], found['name'], found['stages'],
                found['works'], found['most_workers'],
                ', '.join('%d %s' % (number, kind) for kind, number
                          in found['operations'].items()),
                ', '.join(found['auth']), ', '.join(found['storage']))


def validate(paths, as_json, out, strict=False):
    """
    Check files, and print what was found.

    :param paths: of documents
    :param as_json: print one JSON list instead of lines
    :param out: a text stream
    :param strict: see ``check``
    :returns: exit status: 0 if each is a workload, else 1
    """
    findings = [check(path, strict) for path in paths]
    if as_json:
        print(json.dumps(findings, indent=2), file=out)
    else:
        for finding in findings:
            for line in _lines(finding):
                print(line, file=out)
    return 0 if all(finding['ok'] for finding in findings) else 1
