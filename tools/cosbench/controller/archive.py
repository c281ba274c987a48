# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Runs on disk, so that a controller that is started again shows them.

::

    DIRECTORY/.lock               held by the one controller that writes here
    DIRECTORY/w12-name/run.json   the result document, now and at the end
    DIRECTORY/w12-name/...        the reports, when it has ended
    DIRECTORY/w12-name/.reported  empty: the reports are all there

``run.json`` is replaced as a whole, with a checksum of what is in it: it is
the old or the new one, whatever happens. A run in it that has not ended when
an archive is opened was killed with its controller.
"""

import fcntl
import hashlib
import json
import logging
import os
import re

from tools.cosbench.controller.document import terminated
from tools.cosbench.controller.text import dumps
from tools.cosbench.measure.document import ResultError
from tools.cosbench.measure.result import Result
from tools.cosbench.reports import write_archive

_DIRECTORY = re.compile(r'w([1-9]\d{0,8})-.*', re.ASCII | re.DOTALL)
RUN, REPORTED = 'run.json', '.reported'
_PRIVATE = 0o700
_UNSAFE = re.compile(r'[^\w.-]', re.ASCII)
log = logging.getLogger('cosbench.archive')


class ArchiveError(Exception):
    """An archive that cannot be used."""


def directory_name(run_id, name):
    """
    :param run_id: as ``w12``
    :param name: of the workload; what is no good in a file name becomes _
    """
    return '%s-%s' % (run_id, _UNSAFE.sub('_', name)[:100])


class Archive:
    """
    :param directory: is made if it is absent; only its owner may read it,
        since workloads have passwords in them
    :raises ArchiveError: if another controller has it
    """

    def __init__(self, directory):
        self.directory = os.path.abspath(directory)
        os.makedirs(self.directory, _PRIVATE, exist_ok=True)
        self._lock = os.open(os.path.join(self.directory, '.lock'),
                             os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise ArchiveError('another controller has the archive %s'
                               % self.directory) from None
        self._names = {}
        for entry in os.listdir(self.directory):
            match = _DIRECTORY.fullmatch(entry)
            if match:
                self._names['w' + match.group(1)] = entry

    def close(self):
        os.close(self._lock)

    @property
    def ids(self):
        """
        :returns: the ids of all runs, oldest first
        """
        return sorted(self._names, key=_number)

    def path(self, run_id):
        """
        :raises KeyError: if there is no such run
        """
        return os.path.join(self.directory, self._names[run_id])

    def new(self, name):
        """
        Make the directory of a new run.

        :param name: of the workload
        :returns: its id
        """
        number = max(map(_number, self._names), default=0) + 1
        run_id = 'w%d' % number
        entry = directory_name(run_id, name)
        os.mkdir(os.path.join(self.directory, entry), _PRIVATE)
        self._names[run_id] = entry
        return run_id

    def save(self, document):
        """
        :param document: a result document; its id is from ``new``
        """
        self.write(document['id'], dumps(document))

    def write(self, run_id, text):
        """
        :param text: the JSON of a result document
        """
        body = text.encode()
        line = hashlib.sha256(body).hexdigest().encode() + b'\n'
        _replace(self._run(run_id), line + body)

    def finish(self, document):
        """Save it, and write its reports."""
        self.save(document)
        write_archive(self.path(document['id']), document)
        _replace(self._mark(document['id']), b'')

    def _run(self, run_id):
        return os.path.join(self.path(run_id), RUN)

    def _mark(self, run_id):
        return os.path.join(self.path(run_id), REPORTED)

    def load(self, run_id):
        """
        :returns: the document
        :raises KeyError, ArchiveError: as ``read``
        """
        return self.read(run_id)[0]

    def read(self, run_id):
        """
        :returns: the document, and the ``Result`` of it
        :raises KeyError: if there is no such run
        :raises ArchiveError: if it cannot be read
        """
        path = self._run(run_id)
        try:
            with open(path, 'rb') as stream:
                line, _, body = stream.read().partition(b'\n')
            if hashlib.sha256(body).hexdigest().encode() != line:
                raise ArchiveError('%s is damaged: its checksum is wrong'
                                   % path)
            document = json.loads(body)
            return document, Result.from_json(document)
        except OSError as err:
            raise ArchiveError('%s: %s' % (path, err.strerror)) from None
        except (ResultError, ValueError) as err:
            raise ArchiveError('%s: %s' % (path, err)) from None

    def stamp(self, run_id):
        """
        :returns: what is another when the document is
        :raises KeyError, ArchiveError: as ``read``
        """
        try:
            found = os.stat(self._run(run_id))
        except OSError as err:
            raise ArchiveError('%s: %s' % (self._run(run_id),
                                           err.strerror)) from None
        # It is replaced as a whole, so that it has another inode.
        return found.st_ino, found.st_mtime_ns, found.st_size

    def recover(self):
        """
        Read all runs, and settle those whose controller died.

        :returns: the documents, oldest first; those that had not begun are
            as they were
        """
        found = []
        for run_id in self.ids:
            try:
                document = self.load(run_id)
            except ArchiveError as err:
                log.error('%s', err)
                continue
            if document['state'] == 'processing':
                when = os.path.getmtime(self._run(run_id))
                document = terminated(document, when)
            if document['state'] != 'queuing' and not os.path.exists(
                    self._mark(run_id)):
                self.finish(document)
            found.append(document)
        return found


def _number(run_id):
    return int(run_id[1:])


def _replace(path, data):
    """Put data in the place of a file, so that it survives a crash."""
    temporary = path + '.new'
    with open(os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY,
                      0o600), 'wb') as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)
    directory = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
