# SPDX-License-Identifier: Apache-2.0
"""Runs on disk, so that a controller that is started again shows them.

PROTOCOL.md, part 3, has the files. A run that has not ended when an archive is
opened was killed with its controller. What has ended and cannot be written,
since the disk is full, is kept in memory until it can.
"""

import logging
import os
import re
import shutil
import threading

from cosbench.controller.json_parts import dumps
from cosbench.controller.result_document import terminated
from cosbench.controller.runfile import (
    Unwritten,
    read_run,
    replace,
    sealed,
    writing,
)
from cosbench.errors import ArchiveError
from cosbench.measure.result import Result
from cosbench.reports import write_archive
from swift_lightsync.common.files import open_locked

_DIRECTORY = re.compile(r'w([1-9]\d{0,8})-.*', re.ASCII | re.DOTALL)
RUN, REPORTED = 'run.json', '.reported'
_PRIVATE = 0o700
_UNSAFE = re.compile(r'[^\w.-]', re.ASCII)
log = logging.getLogger('cosbench.archive')


def directory_name(run_id, name):
    """Return the name of a run's directory.

    :param run_id: as ``w12``
    :param name: of the workload; what is no good in a file name becomes _
    """
    return '%s-%s' % (run_id, _UNSAFE.sub('_', name)[:100])


def run_directories(directory):
    """Return the runs of an archive, without locking it.

    :param directory: of the archive; there may be none
    :returns: id -> path of the run's directory
    """
    found = {}
    for entry in os.listdir(directory) if os.path.isdir(directory) else ():
        match = _DIRECTORY.fullmatch(entry)
        if match:
            found['w' + match.group(1)] = os.path.join(directory, entry)
    return found


class Archive:
    """The runs of a directory, which one controller has alone.

    :param directory: is made if it is absent; only its owner may read it,
        since workloads have passwords in them
    :raises ArchiveError: if another controller has it
    """

    def __init__(self, directory):
        self.directory = os.path.abspath(directory)
        os.makedirs(self.directory, _PRIVATE, exist_ok=True)
        lock = open_locked(os.path.join(self.directory, '.lock'))
        if lock is None:
            raise ArchiveError('another controller has the archive %s'
                               % self.directory)
        self._lock = lock
        #: Reports of all runs share files: one run at a time writes them.
        self._finishing = threading.Lock()
        #: id -> (document, reason or None) of what is not written yet.
        self._unwritten = {}
        self._names = {run_id: os.path.basename(path) for run_id, path
                       in run_directories(self.directory).items()}

    def close(self):
        os.close(self._lock)

    @property
    def ids(self):
        """The ids of all runs, oldest first."""
        return sorted(self._names, key=_number)

    def path(self, run_id):
        """Return the directory of a run.

        :raises KeyError: if there is no such run
        """
        return os.path.join(self.directory, self._names[run_id])

    def new(self, name):
        """Make the directory of a new run.

        :param name: of the workload
        :returns: its id
        :raises Unwritten:
        """
        number = max(map(_number, self._names), default=0) + 1
        run_id = 'w%d' % number
        entry = directory_name(run_id, name)
        with writing(self.directory):
            os.mkdir(os.path.join(self.directory, entry), _PRIVATE)
        self._names[run_id] = entry
        return run_id

    def remove(self, run_id):
        """Undo ``new``, whatever is there by now."""
        shutil.rmtree(self.path(run_id), ignore_errors=True)
        del self._names[run_id]

    def save(self, document):
        """Write the document of a run.

        :param document: a result document; its id is from ``new``
        :raises Unwritten:
        """
        self.write(document['id'], dumps(document))

    def write(self, run_id, text):
        """Write the document of a run that is JSON already.

        :param text: the JSON of a result document
        :raises Unwritten:
        """
        with writing(self.path(run_id)):
            replace(self._run(run_id), sealed(text))

    def finish(self, document):
        """Save one that has ended, and write its reports. Until all is there
        it is kept and read from memory; ``unwritten`` says why.
        """
        run_id = document['id']
        before = self.unwritten(run_id)
        self._unwritten[run_id] = document, before
        with self._finishing:
            try:
                self.save(document)
                with writing(self.path(run_id)):
                    write_archive(self.path(run_id), document)
                    replace(self._mark(run_id), b'')
            except Exception as err:
                # Whatever it is, what was measured must not be lost.
                known = isinstance(err, Unwritten)
                reason = str(err) if known else '%s: %s' % (
                    type(err).__name__, err)
                self._unwritten[run_id] = document, reason
                if reason != before:
                    log.error('%s: %s', run_id, reason, exc_info=not known)
            else:
                self._unwritten.pop(run_id, None)
                if before is not None:
                    log.info('%s is written at last', run_id)

    def finish_again(self):
        """Finish those that could not be written."""
        for document, reason in list(self._unwritten.values()):
            if reason is not None:
                self.finish(document)

    def unwritten(self, run_id):
        """Return why a run that has ended is not all written, or None."""
        return self._unwritten.get(run_id, (None, None))[1]

    def _run(self, run_id):
        return os.path.join(self.path(run_id), RUN)

    def _mark(self, run_id):
        return os.path.join(self.path(run_id), REPORTED)

    def load(self, run_id):
        """Return the document of a run.

        :raises KeyError, ArchiveError: as ``read``
        """
        return self.read(run_id)[0]

    def read(self, run_id):
        """Read the document of a run.

        :returns: the document, and the ``Result`` of it
        :raises KeyError: if there is no such run
        :raises ArchiveError: if it cannot be read
        """
        document, _ = self._unwritten.get(run_id, (None, None))
        if document is not None:
            return document, Result.from_json(document, 'result')
        return read_run(self._run(run_id), run_id)

    def recover(self):
        """Read all runs, and settle those whose controller died.

        :returns: the documents, oldest first; those that had not begun are
            as they were
        """
        found = []
        for run_id in self.ids:
            try:
                found.append(self._recovered(run_id))
            except ArchiveError as err:
                log.error('%s', err)
            except Exception:
                # It must not hide the others.
                log.exception('%s is left out', self._run(run_id))
        return found

    def _recovered(self, run_id):
        document = self.load(run_id)
        if document['state'] == 'processing':
            when = os.path.getmtime(self._run(run_id))
            document = terminated(document, when)
        if document['state'] != 'queuing' and not os.path.exists(
                self._mark(run_id)):
            self.finish(document)
        return document


def _number(run_id):
    return int(run_id[1:])
