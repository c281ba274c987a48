# SPDX-License-Identifier: Apache-2.0
"""The archive of a workload: a directory, and its rows beside it.

::

    ARCHIVE/run-history.csv   a row each workload
    ARCHIVE/workloads.csv     a row each operation of each workload
    ARCHIVE/w12-name/         w12-name.csv  w12-name-rt-histogram.csv
                              s1-init.csv ...  workload-config.xml
                              result.json  report.html

A file is written aside and put in its place whole. Writing a workload again
replaces its files and its rows.
"""

import csv
import io
import json
import os
import re

from cosbench.measure.result import Result
from cosbench.reports import tables
from cosbench.reports.run_page import run_page
from swift_lightsync.common.files import replace_file
from swift_lightsync.common.records import RecordError

#: What the files of an archive are called, as in COSBench.
RESULT, PAGE = 'result.json', 'report.html'
XML = 'workload-config.xml'
#: Beside the directories of the workloads.
RUN_HISTORY, MATRIX = 'run-history.csv', 'workloads.csv'
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\]')
#: Bytes; with an ending it is below the 255 of file systems.
_LONGEST = 200
#: What a cell begins with that spreadsheets compute; no number of ours is
#: negative.
_FORMULA = ('=', '+', '-', '@', '\t', '\r')
#: Bytes of a result.json.
MAX_RESULT = 256 << 20
#: The mode of the files that have the workload, and its passwords, in them.
PRIVATE = 0o600


def write_archive(directory, document, zone=None):
    """Write all reports of a result.

    :param directory: of the workload, in that of all archives; made if it
        is not there
    :param document: the result document
    :param zone: a ``tzinfo`` of the times; None: the local one
    :raises RecordError: if the document is not as RESULT.md says
    :raises OSError: if it cannot be written
    """
    result = Result.from_json(document, 'result')
    directory = os.path.abspath(directory)
    os.makedirs(directory, exist_ok=True)

    def put(name, text, mode=0o666):
        _replace(os.path.join(directory, name), text, mode)

    name = safe('%s-%s' % (result.id, result.name))
    put(name + '.csv', _csv(tables.workload(result, zone)))
    put(name + '-rt-histogram.csv', _csv(tables.histogram(result)))
    for stage in result.stages:
        put(safe(stage.id) + '.csv', _csv(tables.stage_series(stage, zone)))
    if result.xml:
        put(XML, result.xml, PRIVATE)
    put(RESULT, json.dumps(document, allow_nan=False), PRIVATE)
    put(PAGE, run_page(result, zone))
    above = os.path.dirname(directory)
    _rows_of(os.path.join(above, MATRIX), tables.MATRIX,
             lambda key: key.startswith(result.id + '-'),
             tables.matrix(result))
    _rows_of(os.path.join(above, RUN_HISTORY), tables.RUN_HISTORY,
             lambda key: key == result.id,
             [tables.run_history(result, zone)])


def read_result(path):
    """Read a result.

    :param path: of a result document, or of a workload's archive
    :returns: a ``Result``
    :raises RecordError: if it is none
    :raises OSError: if it cannot be read
    """
    if os.path.isdir(path):
        path = os.path.join(path, RESULT)
    with open(path, 'rb') as source:
        data = source.read(MAX_RESULT + 1)
    return Result.parse(data, MAX_RESULT, path)


def _csv(rows):
    out = io.StringIO()
    csv.writer(out, lineterminator='\n').writerows(
        [_harmless(cell) for cell in row] for row in rows)
    return out.getvalue()


def _harmless(cell):
    """A spreadsheet must read a text as a text, and not compute it."""
    return "'" + cell if isinstance(cell, str) and \
        cell.startswith(_FORMULA) else cell


def _rows_of(path, heading, ours, rows):
    """Put our rows in the place of those that are ours already."""
    try:
        with open(path, encoding='utf8', newline='') as source:
            kept = [row for row in list(csv.reader(source))[1:]
                    if row and not ours(row[0])]
    except FileNotFoundError:
        kept = []
    except (csv.Error, UnicodeDecodeError) as err:
        raise RecordError('must be CSV in UTF-8: %s' % err, path) from None
    _replace(path, _csv([heading, *kept, *rows]))


def _replace(path, text, mode=0o666):
    replace_file(path, text.encode('utf8', 'replace'), mode=mode,
                 is_durable=True)


def safe(name):
    """Return the name, if it can be that of a file; else one near to it."""
    name = _UNSAFE.sub('_', name).lstrip('.') or '_'
    return name.encode('utf8', 'replace')[:_LONGEST].decode('utf8', 'ignore')
