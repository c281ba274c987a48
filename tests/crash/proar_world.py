# SPDX-License-Identifier: Apache-2.0
"""A device that takes primary-role writes, processes that die at it, and what
they have acknowledged.
"""

import os
import time
from contextlib import closing
from dataclasses import dataclass

from swift.common import utils
from swift.common.storage_policy import POLICIES
from swift.common.swob import Request
from swift.common.utils import Timestamp, hash_path
from swift.obj.diskfile import get_data_dir

from swift_lightsync.object_server import ObjectController
from swift_lightsync.proar.converger.followed_log import FollowedLog
from swift_lightsync.proar.core.follower import Mark
from swift_lightsync.proar.core.oplog import OVER, State
from swift_lightsync.proar.log import segment, segment_source, segment_writer
from swift_lightsync.proar.log.segment import logs_path
from swift_lightsync.proar.names import SLOT_HEADER
from tests.crash.losf_world import Child
from tests.unit.sync.fixtures import CapturingLogger

DEVICE = 'd1'
#: records of a segment, so that a few writes need several, and its bytes, so
#: that a campaign does not fill its disk
FEW, SMALL = 5, 4096


@dataclass(frozen=True)
class Told:
    """What a child says.

    :param what: 'begun', 'acknowledged' or 'dropped'
    :param partition: a number
    :param writes: a list of the writes it is about: (path hash, X-Timestamp
        in units of 10 microseconds)
    """
    what: str
    partition: int
    writes: list


class Server:
    """In a child: an object-server, and what a converger does to its logs.

    :param root: the directory of the device
    :param send: takes each Told
    """

    def __init__(self, root, send=lambda told: None):
        for module in segment_source, segment_writer:
            module.CAPACITY, module.HEADROOM = FEW, 2
        segment.SEGMENT = SMALL
        self.path = os.path.join(root, DEVICE)
        self._send = send
        self._app = ObjectController(
            {'devices': root, 'mount_check': 'false',
             'fallocate_reserve': '0', 'max_lag_entries': '0',
             'max_lag_seconds': '0'},
            logger=CapturingLogger())

    def close(self):
        """Have all that was told noted."""
        self._app._log(os.getpid(), self.path).close()

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

    def compact(self, partition, most):
        """Have all peers hold the oldest entries of a partition, and drop what
        is not needed any more.

        :param most: how many entries
        """
        with self._followed() as log:
            read = {number: log.new_entries(number)
                    for number in log.numbers()}
            held = [entry for entries in read.values() for entry in entries
                    if entry.partition == partition
                    and entry.state is State.COMMITTED][:most]
            self._send(Told('dropped', partition, [
                (entry.path_hash, entry.timestamp) for entry in held]))
            log.note(Mark(entry.eversion, State.CONVERGED, frozenset({7}))
                     for entry in held)
            for number in log.read_numbers()[:-1]:
                if all(entry.state in OVER or entry in held
                       for entry in read[number]):
                    log.remove(number)

    def carry(self):
        """Carry what is open in the oldest segment along."""
        with self._followed() as log:
            read = {number: log.new_entries(number)
                    for number in log.numbers()}
            number = min(log.read_numbers(), default=0)
            if len(read) > 1 and number in read and \
                    number not in log.written():
                log.carry(number, [each for each in read[number]
                                   if each.state not in OVER])

    def look(self, partition):
        """
        :returns: the entries of a partition, the damaged segments, those that
            have a writer, and the writes whose files are on the disk
        """
        with self._followed() as log:
            entries = [entry for number in log.numbers()
                       for entry in log.new_entries(number)
                       if entry.partition == partition]
            return (entries, log.damaged, log.written(),
                    set(self._files(partition)))

    def _followed(self):
        return closing(FollowedLog(logs_path(self.path), CapturingLogger()))

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
    """The device, and what its children told.

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
        """Note what a child tells, until it has ended.

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
        """What was acknowledged is on the disk and in the log, or was dropped
        from it; the log knows of all that is on the disk; no dead writer holds
        up anything; and the next write is logged.
        """
        entries, damaged, written, files = self.ask(
            lambda server: server.look(partition))
        acknowledged = self.told['acknowledged'].get(partition, set())
        self._demand(not damaged, 'damaged', damaged)
        self._demand(not written, 'with a writer', written)
        known = self.told['dropped'].get(partition, set()) | {
            (entry.path_hash, entry.timestamp) for entry in entries
            if entry.state is not State.ABORTED}
        for name, writes in (('acknowledged', acknowledged),
                             ('on the disk', files)):
            self._demand(writes <= known, 'not in the log, but ' + name,
                         writes - known)
        newest = dict(sorted(files))
        lost = [(path_hash, stamp) for path_hash, stamp in acknowledged
                if newest.get(path_hash, 0) < stamp]
        self._demand(not lost, 'acknowledged and not on the disk', lost)
        self._check_next(partition, entries)

    def _check_next(self, partition, before):
        name = 'next %r' % time.time()
        refused = self.ask(lambda server: server.write(
            'PUT', name, partition))
        self._demand(not refused, 'refused', refused)
        entries, _, _, _ = self.ask(lambda server: server.look(partition))
        self._demand(
            {each.eversion for each in before} < {
                each.eversion for each in entries}
            and [each.path_hash for each in entries].count(
                path_hash(name)) == 1, 'not logged', entries)

    @staticmethod
    def _demand(holds, what, of):
        if not holds:
            raise AssertionError('%s: %s' % (what, of))
