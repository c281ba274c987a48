# SPDX-License-Identifier: Apache-2.0
"""The file of a run in the archive: a checksum, and the result document.

It is replaced as a whole: it is the old or the new one, whatever happens.
"""

import hashlib
import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cosbench.controller.core.workload_states import WorkloadState
from cosbench.errors import ArchiveError
from cosbench.measure.result import Result
from swift_lightsync.common.files import replace_file
from swift_lightsync.common.records import Record, RecordError
from swift_lightsync.common.text import shown


@dataclass(frozen=True)
class _Written(Record):
    """What each document of an archive has; ``Result`` checks the values."""

    id: Any
    name: Any
    description: Any
    state: WorkloadState
    submitted: Any
    started: Any
    stopped: Any
    xml: Any
    seed: Any
    warnings: Any
    drivers: Any
    stages: Any


class Unwritten(OSError):
    """What cannot be written to an archive, and why not."""


def sealed(text):
    """Put a checksum before a document.

    :param text: the JSON of a result document
    :returns: the bytes of its file
    """
    body = text.encode()
    return hashlib.sha256(body).hexdigest().encode() + b'\n' + body


def read_run(path, run_id):
    """Read the file of a run.

    :param path: of the file
    :param run_id: whose it must be
    :returns: the document, and the ``Result`` of it
    :raises ArchiveError: if it cannot be read, or is not of that run
    """
    try:
        with open(path, 'rb') as stream:
            line, _, body = stream.read().partition(b'\n')
        if hashlib.sha256(body).hexdigest().encode() != line:
            raise ArchiveError('%s is damaged: its checksum is wrong' % path)
        document = json.loads(body)
        result = Result.from_json(document, 'result')
        _check(document, run_id)
        return document, result
    except OSError as err:
        raise ArchiveError('%s: %s' % (path, err.strerror)) from None
    except (RecursionError, ValueError) as err:
        raise ArchiveError('%s: %s' % (path, err)) from None


def _check(document, run_id):
    """Check that a controller has written a document as that of a run.

    :raises RecordError: if it is not so
    """
    if _Written.from_json(document, 'result').id != run_id:
        raise RecordError('%s must be %s, as its directory is called' % (
            shown(document['id']), run_id), 'result.id')


@contextmanager
def writing(path):
    """Tell what could not be written, and why.

    :param path: what errors of the block name, where they name none
    :raises Unwritten: in the place of what cannot be written
    """
    try:
        yield
    except OSError as err:
        raise Unwritten('%s cannot be written: %s' % (
            err.filename or path, err.strerror or err)) from err
    except RecordError as err:
        raise Unwritten('%s cannot be written: %s' % (path, err)) from err


def replace(path, data):
    """Replace a file of the archive, so that it survives a crash.

    :param path: of the file
    :param data: its new bytes
    :raises OSError: nothing is left of it then
    """
    replace_file(path, data, mode=0o600, is_durable=True)
