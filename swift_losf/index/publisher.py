# SPDX-License-Identifier: Apache-2.0
"""Publishes where files are, so that readers need not call the index server.

FORMAT.md, "Reads without a call". The table is memory that belongs to no
filesystem and goes with the last process that has it open. Only the server
writes to it, in the order of the changes, and before it answers.
"""

import fcntl
import logging
import os
import threading
import time

from swift_losf.format import keys
from swift_losf.format.published import BUCKET, Bucket, bucket_of, grouped

#: bytes of a table at most, if it is not told otherwise
MOST_BYTES = 64 * 2 ** 20
#: entries that are entered at a time while changes wait
_STRIDE = 256
#: seconds between two strides
_PAUSE = 0.001
#: bytes behind the table that tell it from any other file
KEY = 16

def identity(path):
    """Tell the socket at a path from any that is there before or after it.

    :raises OSError: if there is none
    """
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_ctime_ns


logger = logging.getLogger(__name__)


class Publisher:
    """Keeps a table of the places of files.

    :param db: the Database, which tells it each change from now on
    :param socket: what identifies the server's socket: identity()
    :param most_bytes: of memory that the table may take
    """

    def __init__(self, db, socket, most_bytes=MOST_BYTES):
        self._db = db
        self.buckets = max(most_bytes // BUCKET, 1)
        self.key = os.urandom(KEY)
        self.socket = socket
        self.descriptor = os.memfd_create(
            'losf-places', os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        #: whether it has all that is in the index, or says what it lacks
        self.complete = False
        self._stopped = False
        self._thread = threading.Thread(target=self._fill, name='publisher',
                                        daemon=True)
        try:
            os.pwrite(self.descriptor, self.key, self.buckets * BUCKET)
            # What was withdrawn, and is empty, never has a bucket again.
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS,
                        fcntl.F_SEAL_GROW)
        except OSError:
            os.close(self.descriptor)
            raise
        db.publisher = self

    def start(self):
        """Begin to enter, in the background, what the index has."""
        self._thread.start()

    def _fill(self):
        after, last = keys.prefix_range(keys.FILE)
        while after:
            with self._db.paused():
                if self._stopped:
                    return
                try:
                    after = self._enter(after, last)
                except Exception as err:
                    self._withdraw(err)
            # Locks are not fair: let those in who wait.
            time.sleep(_PAUSE)
        self.complete = not self._stopped

    def _enter(self, start, last):
        """Enter the files of some hashes; return the key to go on at."""
        entries: list[tuple[bytes, bytes]] = []
        for key, value in self._db.scan(start, last):
            if len(entries) >= _STRIDE and keys.hash_prefix(
                    key) != keys.hash_prefix(entries[-1][0]):
                break
            entries.append((key, value))
        else:
            key = b''
        for place, files in grouped(entries):
            self._change(place, lambda _, files=files: files)
        return key

    def _change(self, place, changed):
        prefix = keys.turned(place)
        number = bucket_of(prefix, self.buckets)
        bucket = self._bucket(number)
        bucket.put(prefix, changed(bucket.files(prefix)))
        os.pwrite(self.descriptor, bucket.pack(), number * BUCKET)

    def _bucket(self, number):
        return Bucket(os.pread(self.descriptor, BUCKET, number * BUCKET),
                      number)

    def apply(self, touched):
        """Publish a change, before anybody is told of it.

        REQUIRES: no other change is made meanwhile.

        :param touched: places of hashes to dicts, of the codes of names to
            values, or to None where a file is gone
        """
        if self._stopped:
            return
        try:
            for place, difference in touched.items():
                self._change(place, lambda files, place=place,
                             difference=difference: self._merged(
                                 place, files, difference))
        except Exception as err:
            # Whoever looks into it finds nothing, and asks.
            self._withdraw(err)

    def _merged(self, place, files, difference):
        if files is None:
            # Given way to others, or too many: the index has been changed
            # already.
            found = grouped(self._db.scan(
                *keys.prefix_range(keys.FILE + place)))
            return found[0][1] if found else {}
        files.update(difference)
        return {name: value for name, value in files.items()
                if value is not None}

    def _withdraw(self, reason):
        logger.warning('readers have to call the index server: %s', reason)
        self._end()

    def _end(self):
        self._stopped = True
        self.complete = False
        # Needs no memory. Nobody reads past it, and whoever reads less than
        # a bucket asks the server.
        os.ftruncate(self.descriptor, 0)

    def close(self):
        """Let nobody find anything in the table any more."""
        with self._db.paused():
            self._db.publisher = None
            self._end()
        if self._thread.is_alive():
            self._thread.join()
        os.close(self.descriptor)
