# SPDX-License-Identifier: Apache-2.0
"""The file of a run in the archive: a checksum, and the result document.

It is replaced as a whole: it is the old or the new one, whatever happens.
"""

import hashlib
import json
import os
from contextlib import contextmanager, suppress

from cosbench.controller.core.workload_states import WorkloadState
from cosbench.errors import ArchiveError
from cosbench.measure.document import Node, ResultError
from cosbench.measure.result import Result

#: Each document of an archive has them.
_KEYS = ('id', 'name', 'description', 'state', 'submitted', 'started',
         'stopped', 'xml', 'seed', 'warnings', 'drivers', 'stages')


class Unwritten(OSError):
    """What cannot be written to an archive, and why not."""


def sealed(text):
    """
    :param text: the JSON of a result document
    :returns: the bytes of its file
    """
    body = text.encode()
    return hashlib.sha256(body).hexdigest().encode() + b'\n' + body


def read_run(path, run_id):
    """
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
        result = Result.from_json(document)
        _check(document, run_id)
        return document, result
    except OSError as err:
        raise ArchiveError('%s: %s' % (path, err.strerror)) from None
    except (RecursionError, ValueError) as err:
        raise ArchiveError('%s: %s' % (path, err)) from None


def _check(document, run_id):
    """
    :raises ResultError: if it is not as a controller writes that run's
    """
    node = Node(document, 'result')
    for key in _KEYS:
        node.member(key)
    if document['id'] != run_id:
        raise node.member('id').refuse('%s, as its directory is called'
                                       % run_id)
    states = [each.value for each in WorkloadState]
    if document['state'] not in states:
        raise node.member('state').refuse('one of ' + ', '.join(states))


@contextmanager
def writing(path):
    """
    :param path: what errors of the block name, where they name none
    :raises Unwritten: in the place of what cannot be written
    """
    try:
        yield
    except OSError as err:
        raise Unwritten('%s cannot be written: %s' % (
            err.filename or path, err.strerror or err)) from err
    except ResultError as err:
        raise Unwritten('%s cannot be written: %s' % (path, err)) from err


def replace(path, data):
    """
    Put data in the place of a file, so that it survives a crash.

    :param data: bytes
    :raises OSError: nothing is left of it then
    """
    temporary = path + '.new'
    try:
        with open(os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY,
                          0o600), 'wb') as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        # On a full disk it has room that others need.
        with suppress(OSError):
            os.unlink(temporary)
        raise
    directory = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
