# SPDX-License-Identifier: Apache-2.0
"""
A device that takes primary-role writes, processes that die at it, and what
they have acknowledged.
"""

import os
import time
from dataclasses import dataclass

from swift.common import utils
from swift.common.storage_policy import POLICIES
from swift.common.swob import Request
from swift.common.utils import Timestamp, hash_path
from swift.obj.diskfile import get_data_dir

from swift_lightsync.object_server import ObjectController
from swift_lightsync.proar.core.oplog import State
from swift_lightsync.proar.log.cursor_file import read_cursors, write_cursors
from swift_lightsync.proar.log.oplog_file import Oplog
from swift_lightsync.proar.names import SLOT_HEADER, cursors_path, log_path
from tests.crash.losf_world import Child
from tests.unit.sync.fixtures import CapturingLogger

DEVICE = 'd1'


@dataclass(frozen=True)
class Told:
    """
    What a child says.

    :param what: 'begun', 'acknowledged' or 'dropped'
    :param partition: a number
    :param writes: a list of the writes it is about: (path hash, X-Timestamp
        in units of 10 microseconds)
    """
    what: str
    partition: int
    writes: list


class Server:
    """
    In a child: an object-server, and what a converger does to its logs.

    :param root: the directory of the device
    :param send: takes each Told
    """

    def __init__(self, root, send=lambda told: None):
        self.path = os.path.join(root, DEVICE)
        self._send = send
        self._app = ObjectController(
            {'devices': root, 'mount_check': 'false',
             'fallocate_reserve': '0', 'max_lag_entries': '0',
             'max_lag_seconds': '0'},
            logger=CapturingLogger())

    def oplog(self, partition):
        return Oplog(log_path(self.path, POLICIES[0], partition),
                     cursors_path(self.path, POLICIES[0], partition))

    def write(self, verb, name, partition):
        """:returns: None if it was acknowledged, else the answer"""
        timestamp = Timestamp.now()
        writes = [(path_hash(name), timestamp.raw)]
        request = Request.blank(
            '/%s/%d/a/c/%s' % (DEVICE, partition, name),
            {'REQUEST_METHOD': verb}, body=b'b' * 100, headers={
                'X-Timestamp': timestamp.internal, SLOT_HEADER: '1',
                'Content-Type': 'text/plain'})
        self._send(Told('begun', partition, writes))
        response = request.get_response(self._app)
        if response.status_int // 100 != 2:
            return '%s: %s' % (response.status, response.body)
        self._send(Told('acknowledged', partition, writes))

    def compact(self, partition, after):
        """Have all peers hold what comes first, and drop it."""
        oplog = self.oplog(partition)
        view = oplog.read()
        self._send(Told('dropped', partition, [
            (entry.path_hash, entry.timestamp) for entry in view.entries
            if entry.eversion <= after]))
        write_cursors(oplog.cursors_path, {7: after})
        return oplog.compact(after)

    def look(self, partition):
        """:returns: (LogView, eversions in progress, cursors, writes whose
        files are on the disk)"""
        oplog = self.oplog(partition)
        view = oplog.read()
        locked = [entry.eversion for entry in view.entries
                  if oplog.in_progress(entry.eversion)]
        return (view, locked, read_cursors(oplog.cursors_path),
                set(self._files(partition)))

    def _files(self, partition):
        top = os.path.join(self.path, get_data_dir(POLICIES[0]),
                           str(partition))
        for directory, _, names in os.walk(top):
            for name in names:
                stamp, extension = os.path.splitext(name)
                if extension in ('.data', '.meta', '.ts'):
                    yield (bytes.fromhex(os.path.basename(directory)),
                           Timestamp(stamp.partition('+')[0]).raw)


def path_hash(name):
    return hash_path('a', 'c', name, raw_digest=True)


class LogWorld:
    """
    The device, and what its children told.

    :param root: the directory of the device
    """

    def __init__(self, root):
        utils.HASH_PATH_SUFFIX = b'crash'
        self.root = root
        os.makedirs(os.path.join(root, DEVICE), exist_ok=True)
        #: 'begun', 'acknowledged', 'dropped' -> partition -> writes
        self.told = {'begun': {}, 'acknowledged': {}, 'dropped': {}}

    def begin(self, work):
        """:returns: a Child that runs a function of a Server and send"""
        return Child(lambda send: work(Server(self.root, send), send))

    def follow(self, child):
        """
        Note what a child tells, until it has ended.

        :returns: the other things that it sent
        """
        return [message for message in child.messages()
                if not self.note(message)]

    def note(self, message):
        if not isinstance(message, Told):
            return False
        self.told[message.what].setdefault(
            message.partition, set()).update(message.writes)
        return True

    def ask(self, question):
        """:returns: what a function of a Server returns, in a child"""
        child = self.begin(lambda server, send: send(question(server)))
        answer, = self.follow(child)
        if child.wait():
            raise AssertionError('a child could not tell what is there')
        return answer

    def check(self, partition):
        """
        What was acknowledged is on the disk and in the log, or was dropped
        from it; the log knows of all that is on the disk; no dead writer
        holds up anything; and the next write is the next entry.
        """
        view, locked, cursors, files = self.ask(
            lambda server: server.look(partition))
        acknowledged = self.told['acknowledged'].get(partition, set())
        self._demand(not view.damaged, 'damaged', view.damaged)
        self._demand(not locked, 'locked', locked)
        known = self.told['dropped'].get(partition, set()) | {
            (entry.path_hash, entry.timestamp) for entry in view.entries
            if entry.state is not State.ABORTED}
        for name, writes in (('acknowledged', acknowledged),
                             ('on the disk', files)):
            self._demand(writes <= known, 'not in the log, but ' + name,
                         writes - known)
        newest = dict(sorted(files))
        lost = [(path_hash, stamp) for path_hash, stamp in acknowledged
                if newest.get(path_hash, 0) < stamp]
        self._demand(not lost, 'acknowledged and not on the disk', lost)
        self._check_next(partition, view, cursors)

    def _check_next(self, partition, view, cursors):
        name = 'next %r' % time.time()
        refused = self.ask(lambda server: server.write(
            'PUT', name, partition))
        self._demand(not refused, 'refused', refused)
        after, _, cursors, _ = self.ask(
            lambda server: server.look(partition))
        self._demand(
            (after.base, after.last_update, after.entries[-1].path_hash)
            == (view.base, view.last_update + 1, path_hash(name)),
            'not the next entry', after.entries[-1:])
        self._demand(max(cursors.values(), default=0) < after.last_update,
                     'a cursor that counts as one of the next entry', cursors)

    @staticmethod
    def _demand(holds, what, of):
        if not holds:
            raise AssertionError('%s: %s' % (what, of))
