# SPDX-License-Identifier: Apache-2.0
"""What the files of an archive are called, as in COSBench."""

import re

RESULT, PAGE = 'result.json', 'report.html'
XML, LOG = 'workload-config.xml', 'workload.log'
#: Beside the directories of the workloads.
RUN_HISTORY, MATRIX = 'run-history.csv', 'workloads.csv'
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\]')
#: Bytes; with an ending it is below the 255 of file systems.
_LONGEST = 200


def safe(name):
    """Return the name, if it can be that of a file; else one near to it."""
    name = _UNSAFE.sub('_', name).lstrip('.') or '_'
    return name.encode('utf8', 'replace')[:_LONGEST].decode('utf8', 'ignore')


def directory(result):
    return safe('%s-%s' % (result.id, result.name))


def workload(result):
    return directory(result) + '.csv'


def histogram(result):
    return directory(result) + '-rt-histogram.csv'


def stage(stage):
    return safe(stage.id) + '.csv'
